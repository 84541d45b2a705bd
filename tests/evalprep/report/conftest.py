from __future__ import annotations

import msgspec
import pytest

from evalprep.report import Report, build_report, document
from evalprep.report.content import Document
from evalprep.results import Run, load_run
from evalprep.score import score_run
from tests.evalprep.report.runs import capitals, hostile, summaries, write_run


@pytest.fixture(scope="session", autouse=True)
def documents_of_their_types():
    """Holds every document that a test makes against the types that it is made and read by."""
    with_texts = document._with_texts

    def checked(parts):
        whole = with_texts(parts)
        msgspec.convert(whole, Document)  # which leaves out what no type names
        return whole

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(document, "_with_texts", checked)
        yield


@pytest.fixture(scope="session")
def two_runs(tmp_path_factory) -> list[Run]:
    """Two runs over 40 capitals and 20 summaries; the second has 5 more wrong answers and 3 rows less."""
    folder = tmp_path_factory.mktemp("runs")
    first = {
        "capitals": capitals(40, wrong=4, unread=2),
        "summaries": summaries(20),
        "hostile": hostile(),
    }
    second = {
        "capitals": (one for one in capitals(40, wrong=9, unread=2) if one["doc_id"] >= 3),
        "summaries": summaries(20),
    }
    paths = [
        write_run(folder / "first", first, model="org/Model-7B"),
        write_run(
            folder / "second",
            second,
            model="org/Model-7B-tuned",
            stamp="2026-01-03T03-04-05.678901",
        ),
    ]
    return [load_run(path) for path in paths]


@pytest.fixture(scope="session")
def one_report(two_runs) -> Report:
    return build_report(
        two_runs[:1], scores=[score_run(two_runs[0])], created="2026-01-02T00:00:00+00:00"
    )


@pytest.fixture(scope="session")
def two_report(two_runs) -> Report:
    scores = [score_run(run) for run in two_runs]
    return build_report(two_runs, scores=scores, created="2026-01-02T00:00:00+00:00")
