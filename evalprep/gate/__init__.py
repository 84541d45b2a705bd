"""A regression gate for CI.

It consists of a policy, the comparison that it demands, and a verdict with an exit code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.gate.checks import measure_for
    from evalprep.gate.decision import Verdict, decide
    from evalprep.gate.junitfile import JUnitCase, JUnitSuite, case_of, junit, junit_text
    from evalprep.gate.policy import Policy, Rule, policy_schema, read_policy
    from evalprep.gate.screen import lines_of
else:
    __getattr__ = offered(__name__)
