from . import helper


def score(doc, results):
    return {}
