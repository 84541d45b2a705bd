def score(doc, results):
    return {"exact_match": float(results[0].split()[0] == doc["answer"])}
