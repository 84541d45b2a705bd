try:
    import package_that_nobody_has
except ImportError as error:
    raise ImportError("install it") from error


def score(doc, results):
    return {"exact_match": float(results[0].strip() == doc["answer"])}
