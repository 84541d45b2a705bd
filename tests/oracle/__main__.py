"""Ask the verbs about many run folders and compare their answers with kept files.

    python -m tests.oracle                       compare all folders; exit code 1 on a difference
    python -m tests.oracle --only two-runs groups
    python -m tests.oracle --update              rewrite the kept files
    python -m tests.oracle --list

A folder is built by seeded code (`folders/`), then command lines about it are typed: score, compare, gate,
leaderboard, report, samples, export. What each wrote (`--json`, exit code, lines of standard error, files) is
held against `kept/NAME.json`. Paths, times of today and the last digits of numbers are taken out, and so is
what is null or empty. The outputs are a function of behaviour: nothing here knows how evalprep is built.

**The rule.** Kept files change only in a commit of their own that lists each difference with its reason. Such
a commit holds no code; the commit before it holds the code that moved the outputs. An output that is plainly
wrong is kept as it is, until the commit that mends it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping

from tests.oracle.asking import ask
from tests.oracle.differences import differences
from tests.oracle.folder import Folder
from tests.oracle.folders import all_folders
from tests.oracle.keeping import KEPT, path_of, read, text_of


def main(arguments: list[str] | None = None) -> int:
    """Compares or rewrites; returns 1 where an answer differs."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.oracle", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="folders to ask about")
    parser.add_argument("--update", action="store_true", help="rewrite the kept files")
    parser.add_argument("--list", action="store_true", help="list the folders")
    parser.add_argument("--times", action="store_true", help="print the seconds of each folder")
    given = parser.parse_args(arguments)
    folders = all_folders()
    if unknown := sorted(set(given.only or ()) - folders.keys()):
        parser.error(f"no folder {', '.join(unknown)}; there are {', '.join(folders)}")
    chosen = {name: folders[name] for name in given.only or folders}
    if given.list:
        print("\n".join(f"{name}: {folder.about}" for name, folder in chosen.items()))
        return 0
    return _asked(chosen, update=given.update, times=given.times, whole=not given.only)


def _asked(folders: Mapping[str, Folder], *, update: bool, times: bool, whole: bool) -> int:
    changed = 0
    for name, folder in folders.items():
        started = time.perf_counter()
        said = ask(folder)
        found = list(differences(read(name), said))
        changed += bool(found)
        if times:
            print(f"{time.perf_counter() - started:6.1f} s  {len(folder.calls):3} calls  {name}")
        if update and (found or not path_of(name).is_file()):
            KEPT.mkdir(exist_ok=True)
            path_of(name).write_text(text_of(said), encoding="utf-8")
            print(f"{name}: written")
        elif found:
            print(f"{name}: {len(found)} differences", *found, sep="\n  ")
    stray = [path for path in sorted(KEPT.glob("*.json")) if whole and path.stem not in folders]
    for path in stray:
        print(f"{path.stem}: kept, and no folder of this name is built")
        if update:
            path.unlink()
    print(f"{len(folders)} folders, {changed} {'written' if update else 'with differences'}")
    return 0 if update else int(changed > 0 or bool(stray))


if __name__ == "__main__":
    sys.exit(main())
