TABLE = {}["absent"]


def score(doc, results):
    return {}
