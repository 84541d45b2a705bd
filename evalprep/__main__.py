"""`python -m evalprep` is the `evalprep` command."""

import sys

from evalprep.cli import main

sys.exit(main())
