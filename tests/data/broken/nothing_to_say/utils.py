def score(doc, results):
    return {"exact_match": 0.0}
