from lm_eval.api.registry import register_filter
from lm_eval.api.filter import Filter


@register_filter("broken_twice")
class Mine(Filter):
    def apply(self, resps, docs):
        return resps


def score(doc, results):
    return {"exact_match": 1.0}
