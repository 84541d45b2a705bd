from lm_eval.api.filter import Filter
from lm_eval.api.registry import register_filter


@register_filter("broken_tests_strip")
class Strip(Filter):
    def apply(self, resps, docs):
        return [[text.strip() for text in row] for row in resps]


def score(doc, results):
    return {"exact_match": float(results[0].strip() == doc["answer"])}
