def first(values):
    return values["first"]


def score(doc, results):
    return {"exact_match": float(results[0] == doc["answer"]), "detail": 1.0}
