def score(doc, results):
    return {"mine": float(results[0] == doc["answer"])}
