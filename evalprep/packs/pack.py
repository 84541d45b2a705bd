"""One task pack: what its pack.yaml declares, and its modules."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import sys
import traceback
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from evalprep.errors import BadInput, Problem
from evalprep.files import unchanged_sha256
from evalprep.packs.entries import BoardEntry, ConfigKey, GroupSpec, ScoreEntry, TaskSpec
from evalprep.yamlfile import load_yaml


@dataclass
class Pack:
    """Everything that a pack folder declares.

    Attributes:
        name: Folder name, also the name of its section in eval_config.yaml.
        folder: The folder.
        suite_scores: Score name -> declaration (docs/appendix/contracts.md says what the keys
            mean).
        published: Published scores (content of the file that `published:` names), or an empty
            mapping.
        replaces: Names of template folders of the original that the pack stands for.
        extends: The pack that this one adds to; empty for a pack of its own.
        extensions: The packs that add to this one; their entries are among its own.
        base_folder: Of an extension, the folder of the extended pack, whose modules it may import.
        better: Task or group of lm-eval's own -> `up` or `down`: which way is better where it
            stands beside the pack's.
        rules: Scoring rule -> the metric of a row that follows it; the first is that of scores
            without a rule.
    """

    name: str
    folder: Path
    title: str = ""
    description: str = ""
    config: dict[str, ConfigKey] = field(default_factory=dict)
    tasks: dict[str, TaskSpec] = field(default_factory=dict)
    groups: dict[str, GroupSpec] = field(default_factory=dict)
    suite_scores: dict[str, ScoreEntry] = field(default_factory=dict)
    published_file: str = ""
    default_tasks: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    extends: str = ""
    extensions: tuple[Pack, ...] = ()
    base_folder: Path | None = None
    better: dict[str, str] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    conclusion: tuple[str, ...] | None = None
    leaderboard: BoardEntry = field(default_factory=BoardEntry)

    @property
    def published(self) -> dict[str, Any]:
        """Published scores with their sources; read on demand."""
        return load_yaml(self.folder / self.published_file).data if self.published_file else {}

    @property
    def content_digest(self) -> str:
        """A digest of its files, and of those of the packs that add to it."""
        digest = hashlib.sha256()
        for folder in (self.folder, *(extension.folder for extension in self.extensions)):
            for path in sorted(folder.rglob("*")):
                if "__pycache__" not in path.parts and path.is_file():
                    name = path.relative_to(folder).as_posix()
                    digest.update(f"{name}\0{unchanged_sha256(path)}\n".encode())
        return digest.hexdigest()

    def canonical(self, name: str) -> str | None:
        """The task or group that a name or alias means, None when the pack has no such name."""
        if name in self.tasks or name in self.groups:
            return name
        specs: list[TaskSpec | GroupSpec] = [*self.tasks.values(), *self.groups.values()]
        return next((spec.name for spec in specs if name in spec.aliases), None)

    def follows(self, rule: str, own: str) -> bool:
        """Returns whether a score with the rule `own` belongs into a table by one rule.

        Scores of a pack with one rule do.
        """
        return rule not in self.rules or own == ("" if rule == next(iter(self.rules)) else rule)

    def names(self) -> list[str]:
        """Tasks and groups, without aliases."""
        return [*self.groups, *self.tasks]

    def file_of(self, stem: str) -> Path | None:
        """Returns `<stem>.py` of the pack or of one that extends it; None without one."""
        files = (pack.folder / f"{stem}.py" for pack in (self, *self.extensions))
        return next((file for file in files if file.is_file()), None)

    def maker_of(self, task: str) -> Pack:
        """Returns the pack whose code makes the rows of a task: an extension, else this one."""
        makers = (extension for extension in self.extensions if task in extension.tasks)
        return next(makers, self)

    @contextlib.contextmanager
    def explained_failures(self, doing: str) -> Iterator[None]:
        """Turns an error of the pack's own code into a message that names its line.

        The code met data that it did not expect.

        Args:
            doing: What the code is at work on, e.g. a task's name.

        Raises:
            BadInput: the code failed.
        """
        try:
            yield
        except (BadInput, OSError, MemoryError, KeyboardInterrupt):
            raise
        except BaseException as error:
            frames = traceback.extract_tb(error.__traceback__)
            own = [
                frame for frame in frames if Path(frame.filename).is_relative_to(self.folder)
            ] or frames
            raise BadInput(
                Problem(
                    what=f"{doing}: {_error_text(error)}",
                    where=f"{own[-1].filename}:{own[-1].lineno}",
                    fix="the code at this line does not accept the data: correct the data or the "
                    "pack (EVALPREP_TRACEBACK=1 prints the traceback)",
                )
            ) from error

    def module(self, stem: str) -> ModuleType | None:
        """Loads `<stem>.py` of the pack or of one that extends it, None when none has such a file.

        Raises:
            BadInput: the file cannot be imported.
        """
        if not (self.folder / f"{stem}.py").is_file():
            modules = (extension.module(stem) for extension in self.extensions)
            return next((module for module in modules if module is not None), None)
        # The folder becomes a package under a name of its own, so that a pack's modules may import
        # each other (`from .rows import ...`) and two packs of one name in two template folders
        # stay apart.
        package = f"_evalprep_pack_{self.name}_{zlib.crc32(str(self.folder).encode()):08x}"
        if package not in sys.modules:
            parent = ModuleType(package)
            # Modules of an extended pack can be imported as if they lay beside those of its
            # extension.
            folders = [self.folder] if self.base_folder is None else [self.folder, self.base_folder]
            parent.__path__ = [str(folder) for folder in folders]
            sys.modules[package] = parent
        try:
            return importlib.import_module(f"{package}.{stem}")
        except BadInput:
            raise
        except (Exception, SystemExit) as error:
            raise BadInput(
                Problem(
                    what=f"cannot be imported: {_error_text(error)}",
                    where=str(self.folder / f"{stem}.py"),
                    fix="correct the pack's module",
                )
            ) from error


def _error_text(error: BaseException) -> str:
    """Returns the error that code of a pack ended with.

    Its own end of the program would pass for ours.
    """
    if isinstance(error, SystemExit):
        return f"calls sys.exit({error.code!r})"
    return f"{type(error).__name__}: {error}"
