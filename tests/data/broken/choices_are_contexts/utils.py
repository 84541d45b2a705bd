def place(doc):
    return doc["right"]
