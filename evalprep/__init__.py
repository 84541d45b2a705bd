"""Prepare, check, run and compare language-model evaluations on lm-evaluation-harness."""

__version__ = "0.1.0"
