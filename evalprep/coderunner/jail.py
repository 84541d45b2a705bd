"""A room without doors, made of Linux name spaces.

This file is executed by its path as a process of its own, and imports nothing of ours.

`jail.py JSON` with `root` (an empty folder), `read_only` (path -> its place in the room), `hidden`
(places in the room that are covered), `links` (path -> target), `devices`, `folder_mb`,
`environment` and `argv`. Its exit code is the command's, 128 + n for one ended by signal n, 71
where a name space cannot be made (the reason stands on its error stream).
"""

import ctypes
import json
import os
import signal
import struct
import sys
from typing import Any

# Flags of unshare(2).
NEW_MOUNTS, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USER, NEW_PROCESSES, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
ALL_SPACES = NEW_USER | NEW_MOUNTS | NEW_PROCESSES | NEW_NETWORK | NEW_IPC | NEW_UTS
# Flags of mount(2), umount2(2) and mount_setattr(2).
READ_ONLY, NO_SETUID, NO_DEVICES, REMOUNT, BIND = 1, 2, 4, 32, 4096
RECURSIVE, PRIVATE = 16384, 1 << 18
DETACH, HERE, ALL_BELOW = 2, -100, 0x8000
# Of prctl(2).
DIE_WITH_PARENT, DROP_BOUND, NO_NEW_PRIVILEGES = 1, 24, 38
SYS_MOUNT_SETATTR, SYS_PIVOT_ROOT = 442, {"x86_64": 155, "aarch64": 41}
NOBODY, CANNOT = 65534, 71

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Gives up where a call has failed."""
    if result != 0:
        os.write(2, f"{what}: {os.strerror(ctypes.get_errno())}\n".encode())
        os._exit(CANNOT)


def mount(
    source: str | None, target: str, kind: str | None, flags: int, data: str | None = None
) -> None:
    """Mounts, with texts as bytes."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    options = None if data is None else data.encode()
    check(libc.mount(*texts, ctypes.c_ulong(flags), options), f"mount {target}")


def show(path: str, target: str) -> None:
    """Shows a path of the machine at a target, read-only with all that is mounted below it."""
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    mount(path, target, None, BIND | RECURSIVE)
    attributes = struct.pack("QQQQ", READ_ONLY | NO_SETUID, 0, 0, 0)
    place = os.fsencode(target)
    failed = libc.syscall(SYS_MOUNT_SETATTR, HERE, place, ALL_BELOW, attributes, len(attributes))
    if failed:  # before Linux 5.12; flags that the machine's mount has must stay
        present = os.statvfs(path).f_flag & ~READ_ONLY
        mount(None, target, None, BIND | REMOUNT | READ_ONLY | NO_SETUID | present)


def build(plan: dict[str, Any]) -> None:
    """Makes the new root out of memory and moves into it; the old one is gone afterwards."""
    root = plan["root"]
    mount(None, "/", None, RECURSIVE | PRIVATE)
    size = f"size={plan['folder_mb']}m,nr_inodes=8192,mode=755"
    mount("tmpfs", root, "tmpfs", NO_SETUID | NO_DEVICES, size)
    shown = plan["read_only"] | {path: path for path in plan["devices"]}
    for path, target in shown.items():
        show(path, root + target)
    for path in plan["hidden"]:
        mount("tmpfs", root + path, "tmpfs", READ_ONLY | NO_SETUID | NO_DEVICES, "size=4k")
    for path, target in plan["links"].items():
        os.symlink(target, root + path)
    os.makedirs(root + "/tmp", exist_ok=True)
    os.chmod(root + "/tmp", 0o1777)
    os.chdir(root)
    check(libc.syscall(SYS_PIVOT_ROOT[os.uname().machine], b".", b"."), "pivot_root")
    check(libc.umount2(b".", DETACH), "umount")
    os.chdir("/tmp")


def drop(user: int) -> None:
    """Gives up every privilege for good."""
    for capability in range(64):
        libc.prctl(DROP_BOUND, capability, 0, 0, 0)
    if user:
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    check(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")


def first_process(plan: dict[str, Any], user: int) -> None:
    """Is process 1 of the room: starts the command and ends with it, which ends all others."""
    libc.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    drop(user)
    command = os.fork()
    if command == 0:
        os.execve(plan["argv"][0], plan["argv"], plan["environment"])
    # The result pipe belongs to the command alone, so that its end is seen.
    os.close(1)
    while True:
        pid, status = os.wait()
        if pid == command:
            os._exit(exit_code(status))


def exit_code(status: int) -> int:
    """The exit code of a wait status: 128 + n for signal n."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def inside(plan: dict[str, Any], unshared: int, mapped: int, is_root: bool) -> None:
    """Makes the name spaces and, once its users are mapped, the room and its first process.

    Args:
        plan: What the room holds.
        unshared: End of a pipe that tells of the name spaces.
        mapped: End of a pipe on which the mapping of the users is awaited.
        is_root: Whether the user of the machine is root.
    """
    libc.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    check(libc.unshare(ALL_SPACES), "unshare")
    os.write(unshared, b"x")
    if os.read(mapped, 1) != b"x":
        os._exit(CANNOT)
    build(plan)
    os.close(unshared)
    os.close(mapped)
    first = os.fork()
    if first == 0:
        first_process(plan, NOBODY if is_root else 0)
    os.close(1)
    os._exit(exit_code(os.waitpid(first, 0)[1]))


def map_users(process: int, group: int, user: int) -> bool:
    """Maps the room's users to users of the machine; False, with a line of reason, where it cannot.

    Root's rooms run as nobody, for whom the kernel counts processes; other users' rooms hold that
    user alone.
    """
    maps = {
        "setgroups": "deny",
        "uid_map": f"0 {user} 1" if user else f"0 0 1\n{NOBODY} {NOBODY} 1",
        "gid_map": f"0 {group} 1" if user else f"0 0 1\n{NOBODY} {NOBODY} 1",
    }
    try:
        for name, text in maps.items():
            with open(f"/proc/{process}/{name}", "w", encoding="ascii") as file:
                file.write(text)
    except OSError as error:
        os.write(2, f"{error}\n".encode())
        return False
    return True


def main() -> None:
    """Starts the process that makes the name spaces, maps its users, and ends with it."""
    plan = json.loads(sys.argv[1])
    libc.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    group, user = os.getegid(), os.geteuid()
    (read_unshared, write_unshared), (read_mapped, write_mapped) = os.pipe(), os.pipe()
    process = os.fork()
    if process == 0:
        os.close(read_unshared)
        os.close(write_mapped)
        inside(plan, write_unshared, read_mapped, is_root=user == 0)
    os.close(write_unshared)
    os.close(read_mapped)
    if os.read(read_unshared, 1) == b"x" and map_users(process, group, user):
        os.write(write_mapped, b"x")
    os.close(write_mapped)
    os.close(1)
    os._exit(exit_code(os.waitpid(process, 0)[1]))


if __name__ == "__main__":
    main()
