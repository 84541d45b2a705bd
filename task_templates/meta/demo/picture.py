"""Draw docs/report.png, the picture in the README.

The first screen of the report of the newest demo run.

make demo && python task_templates/meta/demo/picture.py [--report FILE] [--out FILE]
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = (1200, 900)


def newest_report() -> Path | None:
    """Gives the report that `make demo` wrote last."""
    pages = (ROOT / "eval_results").glob("**/report.html")
    return max(pages, key=lambda path: path.stat().st_mtime, default=None)


def main() -> int:
    """Takes the picture."""
    parser = argparse.ArgumentParser(description="Draw the first screen of a report.")
    parser.add_argument(
        "--report", type=Path, default=newest_report(), help="report.html (default: the newest one)"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "report.png")
    options = parser.parse_args()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if options.report is None or browser is None:
        print(
            "needs Chromium" if browser is None else "no report in eval_results: make demo",
            file=sys.stderr,
        )
        return 2
    size = f"--window-size={SIZE[0]},{SIZE[1]}"
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--force-color-profile=srgb",
        size,
    ]
    page = options.report.resolve().as_uri()
    subprocess.run(
        [browser, *flags, f"--screenshot={options.out.resolve()}", page],
        check=True,
        capture_output=True,
    )
    print(f"written: {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
