"""The commit of an installation, read from git's own files."""

import pytest

from evalprep.packs.commits import commit_of

OWN, OTHER = "a" * 40, "b" * 40


def checkout(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_git", ".git")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(
    "files",
    [
        {"_git__HEAD": f"{OWN}\n"},
        {"_git__HEAD": "ref: refs/heads/main\n", "_git__refs__heads__main": f"{OWN}\n"},
        {
            "_git__HEAD": "ref: refs/heads/main\n",
            "_git__packed-refs": f"# pack-refs\n{OTHER} refs/heads/xmain\n{OWN} refs/heads/main\n",
        },
        {
            "_git": "gitdir: main/.git/worktrees/w\n",
            "main__.git__worktrees__w__HEAD": "ref: refs/heads/w\n",
            "main__.git__worktrees__w__commondir": "../..\n",
            "main__.git__refs__heads__w": f"{OWN}\n",
        },
    ],
    ids=["detached", "branch", "packed", "worktree"],
)
def test_a_checkout(tmp_path, files):
    assert commit_of(checkout(tmp_path, **files)) == OWN


@pytest.mark.parametrize(
    "files", [{}, {"_git__HEAD": "ref: refs/heads/new\n"}, {"_git__HEAD": "what?"}], ids=str
)
def test_no_commit(tmp_path, files):
    assert commit_of(checkout(tmp_path, **files)) == ""
