from proof_words import has_word


def score(doc, results):
    """A yes, or the answer itself."""
    return {"own_score": float(has_word(results[0], "yes") or has_word(results[0], doc["target"])), "unparsed": 0.0}


def second_largest(values):
    return sorted(values)[-2]
