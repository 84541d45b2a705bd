"""A room without doors, made of Linux name spaces. Executed by path as a process of its own, imports nothing of ours.

`jail.py JSON` with `root` (an empty folder), `read_only` (paths to show), `links` (path -> target), `devices`,
`folder_mb` and `argv`. Its exit code is the command's, 128 + n for one ended by signal n, 71 where a name space cannot
be made (the reason stands on its error stream).
"""

import ctypes
import json
import os
import signal
import struct
import sys
from typing import Any

NEW_MOUNTS, NEW_UTS, NEW_IPC, NEW_USER, NEW_PROCESSES, NEW_NETWORK = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
NO_SETUID, NO_DEVICES, READ_ONLY, REMOUNT, BIND, RECURSIVE, PRIVATE = 2, 4, 1, 32, 4096, 16384, 1 << 18
DETACH, HERE, ALL_BELOW = 2, -100, 0x8000
DIE_WITH_PARENT, DROP_BOUND, NO_NEW_PRIVILEGES = 1, 24, 38
SYS_MOUNT_SETATTR, SYS_PIVOT_ROOT = 442, {"x86_64": 155, "aarch64": 41}
NOBODY, CANNOT = 65534, 71

libc = ctypes.CDLL(None, use_errno=True)


def check(done: int, what: str) -> None:
    """Give up where a call has failed."""
    if done != 0:
        os.write(2, f"{what}: {os.strerror(ctypes.get_errno())}\n".encode())
        os._exit(CANNOT)


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Mount, with texts as bytes."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    check(libc.mount(*texts, ctypes.c_ulong(flags), None if data is None else data.encode()), f"mount {target}")


def show(path: str, root: str) -> None:
    """Show a path of the machine under the new root, read-only with all that is mounted below it."""
    target = root + path
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    mount(path, target, None, BIND | RECURSIVE)
    attributes = struct.pack("QQQQ", READ_ONLY | NO_SETUID, 0, 0, 0)
    if libc.syscall(SYS_MOUNT_SETATTR, HERE, os.fsencode(target), ALL_BELOW, attributes, len(attributes)) != 0:
        mount(None, target, None, BIND | REMOUNT | READ_ONLY | NO_SETUID | os.statvfs(path).f_flag & ~1)


def build(given: dict[str, Any]) -> None:
    """Make the new root out of memory and move into it; the old one is gone afterwards."""
    root = given["root"]
    mount(None, "/", None, RECURSIVE | PRIVATE)
    mount("tmpfs", root, "tmpfs", NO_SETUID | NO_DEVICES, f"size={given['folder_mb']}m,nr_inodes=8192,mode=755")
    for path in given["read_only"] + given["devices"]:
        show(path, root)
    for path, target in given["links"].items():
        os.symlink(target, root + path)
    os.makedirs(root + "/tmp", exist_ok=True)
    os.chmod(root + "/tmp", 0o1777)
    os.chdir(root)
    check(libc.syscall(SYS_PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    check(libc.umount2(b".", DETACH), "umount")
    os.chdir("/tmp")


def drop(user: int) -> None:
    """Give up every privilege for good."""
    for capability in range(64):
        libc.prctl(DROP_BOUND, capability, 0, 0, 0)
    if user:
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    check(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")


def first_process(given: dict[str, Any], user: int) -> None:
    """Be process 1 of the room: start the command, wait for it, end with it, which ends whatever is left."""
    libc.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    drop(user)
    command = os.fork()
    if command == 0:
        os.execve(given["argv"][0], given["argv"], {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/tmp"})
    # The result pipe belongs to the command alone, so that its end is seen.
    os.close(1)
    while True:
        pid, status = os.wait()
        if pid == command:
            os._exit(ended(status))


def ended(status: int) -> int:
    """Exit code out of a wait status: 128 + n for signal n."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def main() -> None:
    """Make the name spaces, have them mapped to users of the machine, and wait."""
    given = json.loads(sys.argv[1])
    libc.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    group, user = os.getegid(), os.geteuid()
    made, mapped = os.pipe(), os.pipe()
    inside = os.fork()
    if inside == 0:
        libc.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        spaces = NEW_USER | NEW_MOUNTS | NEW_PROCESSES | NEW_NETWORK | NEW_IPC | NEW_UTS
        check(libc.unshare(spaces), "unshare")
        os.write(made[1], b"x")
        if os.read(mapped[0], 1) != b"x":
            os._exit(CANNOT)
        build(given)
        for end in (*made, *mapped):
            os.close(end)
        first = os.fork()
        if first == 0:
            first_process(given, 0 if user else NOBODY)
        os.close(1)
        os._exit(ended(os.waitpid(first, 0)[1]))
    os.close(made[1])
    if os.read(made[0], 1) == b"x":
        # Root's rooms run as nobody, for whom the kernel counts processes; other users' rooms hold that user alone.
        maps = {
            "setgroups": "deny",
            "uid_map": f"0 {user} 1" if user else f"0 0 1\n{NOBODY} {NOBODY} 1",
            "gid_map": f"0 {group} 1" if user else f"0 0 1\n{NOBODY} {NOBODY} 1",
        }
        try:
            for name, text in maps.items():
                with open(f"/proc/{inside}/{name}", "w", encoding="ascii") as file:
                    file.write(text)
            os.write(mapped[1], b"x")
        except OSError as error:
            os.write(2, f"{error}\n".encode())
    for end in mapped:
        os.close(end)
    os.close(1)
    os._exit(ended(os.waitpid(inside, 0)[1]))


if __name__ == "__main__":
    main()
