def score(doc, results):
    values = {"exact_match": float(results[0] == doc["answer"])}
    if values["exact_match"]:
        values["length"] = 1.0
    return values
