from .membership import SIDES, compare_sides
from .results import column
from .samples import answer, position


def attack(*, rows, inputs, **_):
    """AUC of minus the ratio of the two log-likelihoods: high for a text that looks unseen."""
    scores = []
    for side, samples in zip(SIDES, rows.values(), strict=True):
        alone = column(inputs["mia_loss"].get(side), "score")
        scores.append(
            {
                position(row): ratio(answer(row).avg_loss, alone.get(position(row)))
                for row in samples
            }
        )
    return compare_sides(*scores)


def ratio(behind_prefix, alone):
    """Minus LL(text | prefix) / LL(text); None where one of them is not known."""
    return None if behind_prefix is None or not alone else -behind_prefix / alone
