"""The result of a suite score, as fields: what its function returned, and what is added to it.

Functions of packs return mappings, take mappings and write mappings into files; these are
`Result.returned` and `Result.to_dict`. Everything else reads the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from custom_metrics import statistics
from custom_metrics.statistics import Influence
from evalprep.score.estimate import NO_NUMBER, WITHOUT_SPREAD, Estimate

#: What each row adds to a score, or a function that computes it.
RowInfluence = Influence | Callable[[], Influence | None]


@dataclass(frozen=True, kw_only=True)
class Result(Mapping[str, Any]):
    """The facts of a suite score; a field is None where its function does not give it.

    As a mapping it is what its function returned, for notebooks that read it by its keys.

    Args:
        value: The number (`agg_value`); None with a `reason`.
        interval, stderr: Its uncertainty: 95 % interval and standard error.
        n: Rows behind it.
        clusters: Documents that these rows share.
        read: How many answers it is made of, and of how many.
        rule: How it was computed, in words.
        reason: Why it has no value.
        explain: One sentence on what it is.
        scored_by, scored_with: The scoring rule and the settings that a log states.
        reference_sha256: Hash of the reference that it was computed against.
        against: What it was measured against, as mappings with the fields of `against.Against`.
        stated: The value that the log states, where this one is computed anew from its rows.
        notes: What a reader must know.
        over: The scores that it is made of, where it takes those that have a value.
        skipped: Reason -> rows that were left out for it.
        parts: Name -> number that it is made of.
        categories: Name -> result of a part of its rows.
        records: `best` and `worst` rows.
        value_by_index: Key of a row -> its values by name.
        distributions: Name -> numbers that are drawn over one another.
        undefined: True where the number only shows a guard against a division by zero.
        returned: All keys in the order in which they were set, those of the pack's own included.
    """

    value: float | None = None
    interval: tuple[float, float] | None = None
    stderr: float | None = None
    n: int | None = None
    clusters: int | None = None
    read: tuple[int, int] | None = None
    rule: str | None = None
    reason: str | None = None
    explain: str | None = None
    scored_by: str | None = None
    scored_with: Mapping[str, Any] | None = None
    reference_sha256: str | None = None
    against: list[Mapping[str, Any]] = field(default_factory=list)
    stated: float | None = None
    notes: list[str] = field(default_factory=list)
    over: list[str] = field(default_factory=list)
    skipped: Mapping[str, int] | None = None
    parts: Mapping[str, Any] | None = None
    categories: Mapping[str, Any] | None = None
    records: Mapping[str, Any] | None = None
    value_by_index: Mapping[str, Any] | None = None
    distributions: Mapping[str, Iterable[Any]] | None = None
    undefined: bool | None = None
    returned: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())

    @classmethod
    def of(cls, returned: Mapping[str, Any]) -> Result:
        """Returns the fields of a mapping that keeps the contract (`outcome.checked`)."""
        key = returned.get
        return cls(
            value=key("agg_value"),
            interval=_pair(key("interval")),
            stderr=key("stderr"),
            n=key("n"),
            clusters=key("clusters"),
            read=_pair(key("read")),
            rule=key("rule"),
            reason=key("reason"),
            explain=key("explain"),
            scored_by=key("scored_by"),
            scored_with=key("scored_with"),
            reference_sha256=key("reference_sha256"),
            against=list(key("against") or ()),
            stated=key("stated"),
            notes=texts(key("notes")),
            over=list(key("over") or ()),
            skipped=key("skipped"),
            parts=key("parts"),
            categories=key("categories"),
            records=key("records"),
            value_by_index=key("value_by_index"),
            distributions=key("distributions"),
            undefined=key("undefined"),
            returned=returned,
        )

    @classmethod
    def without_value(cls, reason: str) -> Result:
        """Returns the result of a score that cannot be computed."""
        return cls.of({"agg_value": None, "reason": reason})

    @classmethod
    def of_estimate(cls, estimate: Estimate, influence: RowInfluence) -> Result:
        """Returns the result of a score that is computed here, not by a pack."""
        return cls.of({**estimate.to_dict(), "influence": influence})

    @property
    def gives_uncertainty(self) -> bool:
        """True where it names an interval or a standard error, be it to say that it has none."""
        return "interval" in self.returned or "stderr" in self.returned

    @property
    def gives_influence(self) -> bool:
        """True where it names what each row adds, be it to say that this is not known."""
        return "influence" in self.returned

    @property
    def has_rows(self) -> bool:
        """True where it has values by row, of its own or of one of its sides."""
        sides = [side for side in self.returned.values() if isinstance(side, Mapping)]
        for part in (self.returned, *sides):
            rows = part.get("value_by_index")
            if isinstance(rows, Mapping) and rows:
                return True
        return False

    def influence(self) -> Influence | None:
        """Returns what each row adds to the score; None where that is not known."""
        return statistics.influence_of(self.returned)

    def changed(
        self,
        *,
        stderr: float | None = None,
        interval: tuple[float, float] | None = None,
        clusters: int | None = None,
        n: int | None = None,
        notes: Sequence[str] | None = None,
        scored_by: str | None = None,
        influence: RowInfluence | None = None,
        against: Sequence[Mapping[str, Any]] | None = None,
        stated: float | None = None,
    ) -> Result:
        """Returns the result with these values for its own; None leaves one as it is."""
        changes = {
            "stderr": stderr,
            "interval": None if interval is None else list(interval),
            "clusters": clusters,
            "n": n,
            "notes": None if notes is None else list(notes),
            "scored_by": scored_by,
            "influence": influence,
            "against": None if against is None else list(against),
            "stated": stated,
        }
        known = {key: value for key, value in changes.items() if value is not None}
        return Result.of({**self.returned, **known}) if known else self

    def with_notes(self, notes: Sequence[str]) -> Result:
        """Returns the result with further notes behind its own."""
        return self.changed(notes=[*self.notes, *notes]) if notes else self

    def without_rows(self, count: int) -> Result:
        """Returns the result with some rows more that were left out as they have no number."""
        if not count:
            return self
        skipped = {**(self.skipped or {}), NO_NUMBER: count}
        return Result.of({**self.returned, "skipped": skipped})

    def without_uncertainty(self) -> Result:
        """Returns the result without interval and standard error, as if it had named none."""
        own = dict(self.returned)
        own.pop("interval", None)
        own.pop("stderr", None)
        if WITHOUT_SPREAD in self.notes:
            own["notes"] = [note for note in self.notes if note != WITHOUT_SPREAD]
        return Result.of(own)

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data: what each row adds to a score is for further computing alone."""
        return _without_influence(self.returned)


def texts(notes: str | Iterable[Any] | None) -> list[str]:
    """Returns the notes of a result, of which a pack may give one as a text."""
    if notes is None:
        return []
    return [notes] if isinstance(notes, str) else [str(note) for note in notes]


def _pair(values: Sequence[Any] | None) -> tuple[Any, Any] | None:
    if not values:
        return None
    first, second = values
    return first, second


def _without_influence(returned: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping without what each row adds to a score, and so the results within it."""
    plain = {}
    for key, value in returned.items():
        if key == "influence":
            continue
        is_result = isinstance(value, Mapping) and (key == "by_metric" or "influence" in value)
        plain[key] = _without_influence(value) if is_result else value
    return plain
