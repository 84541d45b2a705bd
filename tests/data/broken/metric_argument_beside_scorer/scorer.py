def score(doc, results):
    return {"exact_match": float(results[0].strip() == doc["answer"])}
