def prompt(doc):
    while doc["answer"] == "Oslo":
        pass
    return doc["question"]
