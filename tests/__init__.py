import os
from pathlib import Path

PROJECT_ROOT = Path(__file__).resolve().parents[1]


def import_path(folder: Path = PROJECT_ROOT) -> dict[str, str]:
    """The environment of a process that imports from a folder, and starts as quickly as the tests let it."""
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
