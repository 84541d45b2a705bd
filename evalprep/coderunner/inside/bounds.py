"""The limits that a process sets on itself before it runs a programme.

They are on resources and on system calls.
"""

from __future__ import annotations

import ctypes
import platform
import resource
import struct

# Refused system calls, which no solution of a puzzle needs: processes and programmes, networks,
# other processes' memory, mounts and name spaces, memory that no limit counts, kernel interfaces
# with a history of holes. Name -> number on x86_64 (arch/x86/entry/syscalls/syscall_64.tbl) and on
# aarch64 (include/uapi/asm-generic/unistd.h); None where the machine has no such call.
REFUSED: dict[str, tuple[int, int | None]] = {
    "shmget": (29, 194),
    "socket": (41, 198),
    "connect": (42, 203),
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "semget": (64, 190),
    "msgget": (68, 186),
    "ptrace": (101, 117),
    "personality": (135, 92),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "mount": (165, 40),
    "umount2": (166, 39),
    "swapon": (167, 224),
    "reboot": (169, 142),
    "init_module": (175, 105),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "perf_event_open": (298, 241),
    "open_by_handle_at": (304, 265),
    "setns": (308, 268),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "finit_module": (313, 273),
    "memfd_create": (319, 279),
    "kexec_file_load": (320, 294),
    "bpf": (321, 280),
    "execveat": (322, 281),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "mount_setattr": (442, 442),
    "memfd_secret": (447, 447),
}
# Allowed with some arguments only: threads but no processes, pairs of local stream sockets but no
# others. `clone3` hides its flags in memory, where a filter cannot look; as "not implemented" it
# lets the C library fall back to `clone`.
CLONE, SOCKETPAIR, CLONE3 = (56, 220), (53, 199), (435, 435)
#: Machine -> its place in the pairs above, and the number by which the kernel names it.
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
OTHER_TABLE = 0x40000000  # numbers of x86_64's second table of calls

# The flags with which the C library starts a thread (pthread_create of glibc and musl).
CLONE_THREAD, THREAD_FLAGS = 0x10000, 0x7D0F00
AF_UNIX, SOCK_STREAM, SOCKET_KIND = 1, 1, 0xF

NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER = 38, 22, 2
# Instructions of the filter, and places of what it looks at (struct seccomp_data).
LOAD, AND, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
NUMBER, ARCHITECTURE, FIRST_ARGUMENT, SECOND_ARGUMENT = 0, 4, 16, 24
ALLOW, KILL, ERROR, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x00050000, 1, 38
REFUSE = (RETURN, 0, 0, ERROR | EPERM)

Step = tuple[int, int, int, int]  # instruction, steps to skip if true, if false, its number


def calls_filter(machine: str) -> list[Step]:
    """The filter's programme for a machine of `MACHINES`."""
    place, architecture = MACHINES[machine]
    steps = [
        (LOAD, 0, 0, ARCHITECTURE),
        (EQUAL, 1, 0, architecture),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER),
        (AT_LEAST, 0, 1, OTHER_TABLE),
        REFUSE,
    ]
    for numbers in REFUSED.values():
        number = numbers[place]
        if number is not None:
            steps += [(EQUAL, 0, 1, number), REFUSE]
    steps += [(EQUAL, 0, 1, CLONE3[place]), (RETURN, 0, 0, ERROR | ENOSYS)]
    # `clone` is allowed with the flags of a thread and no others.
    steps += [
        (EQUAL, 0, 5, CLONE[place]),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (ANY_BIT, 2, 0, 0xFFFFFFFF ^ THREAD_FLAGS),
        (ANY_BIT, 0, 1, CLONE_THREAD),
        (RETURN, 0, 0, ALLOW),
        REFUSE,
    ]
    # `socketpair` is allowed for connected local streams, as event loops use them.
    steps += [
        (EQUAL, 0, 7, SOCKETPAIR[place]),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (EQUAL, 0, 4, AF_UNIX),
        (LOAD, 0, 0, SECOND_ARGUMENT),
        (AND, 0, 0, SOCKET_KIND),
        (EQUAL, 0, 1, SOCK_STREAM),
        (RETURN, 0, 0, ALLOW),
        REFUSE,
    ]
    return [*steps, (RETURN, 0, 0, ALLOW)]


def filter_calls() -> bool:
    """Installs the filter for good; False where this machine's numbers are not known here."""
    if platform.machine() not in MACHINES:
        return False
    steps = calls_filter(platform.machine())
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    whole = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.prctl(SET_SECCOMP, FILTER, whole, 0, 0) == 0)


def limit_resources(cpu_seconds: int, memory_mb: int, folder_mb: int) -> None:
    """Sets the limits that the kernel keeps; they can only be lowered afterwards."""
    megabyte = 1024 * 1024
    limits = {
        resource.RLIMIT_CPU: cpu_seconds,
        resource.RLIMIT_AS: memory_mb * megabyte,
        resource.RLIMIT_FSIZE: folder_mb * megabyte,
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_NPROC: 64,  # threads; processes are refused by the filter
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    for name, soft in limits.items():
        # A second more tells the end of the CPU time, which has a signal of its own, from other
        # violent ends.
        hard = soft + 1 if name == resource.RLIMIT_CPU else soft
        present = resource.getrlimit(name)[1]
        if present != resource.RLIM_INFINITY:
            hard = min(hard, present)
        resource.setrlimit(name, (min(soft, hard), hard))
