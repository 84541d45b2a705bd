"""Prepare, check, run and compare language-model evaluations on lm-evaluation-harness."""

__version__ = "0.1.0"

# For notebooks; imported on first use, so that `import evalprep` costs nothing.
_API = (
    *("compare_runs", "evaluate", "evaluate_sample", "load_run", "paired_df", "samples_df"),
    "score_run",
)


def __getattr__(name: str) -> object:
    if name in _API:
        from evalprep import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_API])
