import time


def score(doc, results):
    end = time.process_time() + 0.25
    while time.process_time() < end:
        pass
    return {"exact_match": float(results[0].strip() == doc["answer"])}
