"""`python -m evalprep` is the `evalprep` command."""

import os
import sys

# Python looks for modules in the current folder first, which may be a received one with a
# `random.py`. The folder of a clone stays, where that is where evalprep is.
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()] != [_HOME]:  # noqa: PTH109
    del sys.path[0]

from evalprep.cli import main  # noqa: E402

sys.exit(main())
