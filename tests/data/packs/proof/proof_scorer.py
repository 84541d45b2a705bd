from proof_words import has_word


def score(doc, results):
    return {"own_score": float(has_word(results[0])), "unparsed": 0.0}


def second_largest(values):
    return sorted(values)[-2]
