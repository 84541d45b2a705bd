"""The two JSON schemas of Every Eval Ever 0.3.0: a record of a run, and one line of its samples.

`record.schema.json` and `sample.schema.json` state the keys of `eval.schema.json` and
`instance_level_eval.schema.json` of the package every-eval-ever 0.3.0, with the rules that its
models and its validator add to them. Types are as lenient as those of the models: most numbers may
be written as text, and keys that an inner object does not know are passed over.
"""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

VERSION = "0.3.0"
INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf}
RECORD, SAMPLE = "record", "sample"


@cache
def validator(name: str) -> Any:
    """Returns the validator of a record, or of a line of samples."""
    from jsonschema import Draft202012Validator

    file = Path(__file__).with_name(f"{name}.schema.json")
    return Draft202012Validator(json.loads(file.read_text(encoding="utf-8")))
