def scores(doc, results):
    return {}
