def score(doc, results):
    return {"exact_match": float(results[0] == doc["answer"]), "target": 1.0}
