def score(doc, results):
    return {"exact_match": float(results[0] in doc["answer"])}
