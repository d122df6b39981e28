"""The machine and the versions that figures were measured with."""

import os
import platform
from importlib.metadata import version
from pathlib import Path


def machine() -> str:
    """One line: processor, cores this process may use, memory, GPU, and the versions that matter
    for speed."""
    parts = [
        _processor(),
        f"{len(os.sched_getaffinity(0))} cores",
        f"{_memory_gb():.0f} GB",
        _gpu(),
    ]
    versions = ", ".join(f"{name} {version(name)}" for name in ("bpy", "torch", "numpy"))
    return f"{', '.join(parts)}; Python {platform.python_version()}, {versions}"


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def _gpu() -> str:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
