import sys


def score(doc, results):
    sys.exit(1)
