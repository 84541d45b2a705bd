"""What a programme may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds of one programme; those that end in a verdict do not depend on how busy the machine is.

    Args:
        cpu_seconds: CPU time, of all its threads; beyond it the programme has failed.
        memory_mb: Address space; beyond it Python raises MemoryError.
        folder_mb: Size of its temporary folder, which lies in memory.
        idle_seconds: Time during which it neither computes nor waits for a processor, such as in `sleep` or on a lock;
            beyond it the programme has failed, as nothing can wake it but itself.
        clock_seconds: Time by the clock; beyond it the run is given up without a verdict.
    """

    cpu_seconds: int = 10
    memory_mb: int = 1024
    folder_mb: int = 16
    idle_seconds: float = 10.0
    clock_seconds: float = 600.0
