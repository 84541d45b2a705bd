#!/usr/bin/env python3
"""Read eval_config.yaml, write work_dir, print the lm_eval command."""

import sys

try:
    from evalprep.cli import main
except ModuleNotFoundError as error:  # a Python without the project's requirements
    sys.exit(f"{error}\nfix: run `make setup` once, then `. .venv/bin/activate`")

if __name__ == "__main__":
    try:
        sys.exit(main(prog="prepare_eval.py", verb="prepare"))
    except ModuleNotFoundError as error:
        sys.exit(f"{error}\nfix: run `make setup` once, then `. .venv/bin/activate`")
