from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import package_for_type_checkers

try:
    import package_that_nobody_has
except ImportError:
    package_that_nobody_has = None


def score(doc, results):
    return {"exact_match": float(results[0].strip() == doc["answer"])}
