def score(doc, results):
    return {"exact_match": float(bool(results[0]))}
