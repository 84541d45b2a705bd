"""The programme's process: bounds itself, then runs the programme. Executed by source, imports nothing of ours.

Reads one JSON object from its input: `code`, `token`, `cpu_seconds`, `memory_mb`, `folder_mb`. Says one line at
the start and one at the end, each with the token, which tells its words from any that the programme may write.
"""

import ctypes
import json
import os
import platform
import resource
import struct
import sys

# Calls that no solution of a puzzle needs, by their numbers: processes and programmes, networks, other processes'
# memory, mounts and name spaces, memory that no limit counts, kernel interfaces with a history of holes.
REFUSED = {
    "x86_64": (
        0xC000003E,
        (29, 41, 42, 53, 56, 57, 58, 59, 64, 68, 101, 135, 155, 161, 165, 166, 167, 169, 175, 176, 246, 248,
         249, 250, 272, 298, 304, 308, 310, 311, 312, 313, 319, 320, 321, 322, 323, 425, 426, 427, 428, 429,
         430, 431, 432, 433, 434, 435, 438, 442, 447),
    ),
    "aarch64": (
        0xC00000B7,
        (39, 40, 41, 51, 92, 97, 104, 105, 106, 117, 142, 186, 190, 194, 198, 199, 203, 217, 218, 219, 220,
         221, 224, 241, 265, 268, 270, 271, 272, 273, 279, 280, 281, 282, 294, 425, 426, 427, 428, 429, 430,
         431, 432, 433, 434, 435, 438, 442, 447),
    ),
}  # fmt: skip
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000  # 1 is EPERM
OTHER_TABLE = 0x40000000  # numbers of x86_64's second table of calls


def filter_calls() -> bool:
    """Refuse the calls above for good; False where this machine's numbers are not known here."""
    if platform.machine() not in REFUSED:
        return False
    architecture, numbers = REFUSED[platform.machine()]
    steps = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, architecture), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    steps.append((AT_LEAST, len(numbers) + 1, 0, OTHER_TABLE))
    steps += [(EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    whole = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    return not libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) and not libc.prctl(SET_SECCOMP, FILTER, whole, 0, 0)


def bound(given: dict[str, int]) -> None:
    """Set the limits that the kernel keeps; they can only be lowered afterwards."""
    mb = 1024 * 1024
    wanted = {
        resource.RLIMIT_CPU: given["cpu_seconds"],
        resource.RLIMIT_AS: given["memory_mb"] * mb,
        resource.RLIMIT_FSIZE: given["folder_mb"] * mb,
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_NPROC: 1,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    for name, value in wanted.items():
        highest = resource.getrlimit(name)[1]
        # A second more tells the end of the CPU time, which has a signal of its own, from other violent ends.
        most = value + 1 if name == resource.RLIMIT_CPU else value
        most = most if highest == resource.RLIM_INFINITY else min(most, highest)
        resource.setrlimit(name, (min(value, most), most))


def main() -> None:
    """Run the programme and say how it ended."""
    given = json.loads(sys.stdin.buffer.readline())
    say = os.dup(1)
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    sys.setrecursionlimit(3000)
    bound(given)
    filtered = filter_calls()
    token = given["token"]
    os.write(say, f"{token} started {'filtered' if filtered else 'unfiltered'}\n".encode())
    try:
        exec(compile(given["code"], "programme", "exec"), {"__name__": "__main__"})  # noqa: S102 - this is its purpose
        end = "passed"
    except BaseException as error:  # noqa: BLE001 - whatever a programme raises is its end
        try:
            end = f"failed {type(error).__name__}: {error}"
        except BaseException:  # noqa: BLE001 - its text may be the programme's own code
            end = "failed"
    os.write(say, f"{token} {' '.join(end.split())[:200]}\n".encode("utf-8", "replace"))
    os._exit(0)  # nothing that the programme registered for the end runs


if __name__ == "__main__":
    main()
