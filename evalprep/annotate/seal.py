"""The digest that shows that a row of a ledger was written by this user.

It is an HMAC by a key of the user's own.

The key lies in `$EVALPREP_STATE` (else `$XDG_STATE_HOME/evalprep`, else `~/.local/state/evalprep`)
as `ledger.key`, mode 600. A team or the shards of one run may share it.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evalprep.files import read_text
from evalprep.packs import state_folder

KEY = "ledger.key"
_BYTES = 32
_FORM = re.compile(rf"[0-9a-f]{{{2 * _BYTES}}}")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Seal:
    """A key, or the reason why there is none.

    Attributes:
        key: The key; None without one, and then nothing is signed and nothing counts as signed.
        problem: Why a key could not be made.
    """

    key: bytes | None
    problem: str = ""

    def digest(self, values: Sequence[object]) -> str:
        """The digest of a row; empty without a key."""
        if self.key is None:
            return ""
        text = _ENCODER.encode(list(values))
        return hmac.digest(self.key, text.encode("utf-8", "surrogatepass"), "sha256").hex()

    def holds(self, values: Sequence[object], digest: object) -> bool:
        """Returns whether a digest is that of a row."""
        if self.key is None or not isinstance(digest, str):
            return False
        if any(isinstance(value, bytes) for value in values):  # no row that was signed has some
            return False
        return hmac.compare_digest(self.digest(values).encode(), digest.encode("utf-8", "replace"))


def known_seal() -> Seal:
    """The user's key as it is; none is made."""
    return Seal(_read(state_folder() / KEY))


def own_seal() -> Seal:
    """The user's key; made where there is none."""
    path = state_folder() / KEY
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _make(path)
    except OSError as error:
        problem = f"answers are not signed, as {path} cannot be written: {error.strerror}"
        return Seal(None, f"{problem}; EVALPREP_STATE names another folder")
    key = _read(path)
    if key is None:
        return Seal(None, f"answers are not signed, as {path} holds no key; delete that file")
    return Seal(key)


def _read(path: Path) -> bytes | None:
    try:
        text = read_text(path, own=True, encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return bytes.fromhex(text) if re.fullmatch(_FORM, text) else None


def _make(path: Path) -> None:
    """Writes a new key; where two processes do so at once, both use the first one's."""
    draft = path.with_name(f".{KEY}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
