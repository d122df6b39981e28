"""Sandbox for a process that reads untrusted files (Landlock): no other folders, no TCP from Linux
6.7 on; it ends with its parent.

The kernel confines only the calling thread and threads that it starts later, so a process must be
confined before any library starts threads. So this module imports no NumPy and no other module of
the project.
"""

import ctypes
import os
import resource
import signal
import struct
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from threading import Thread
from time import sleep

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_READ, _READ_FILE = (
    0b1101,
    0b0101,
)  # rights to run, read files and list folders; to run and read a file
_ALL = ((1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1)  # all file rights of Landlock 1, 2 and 3
_CONNECT = 0b11  # bind and connect, from version 4 on
_SET_DEATH_SIGNAL, _NO_NEW_PRIVILEGES = 1, 38
_SYSTEM = ("/usr", "/lib", "/lib64", "/nix/store", "/dev/null", "/dev/urandom")


def end_with_parent() -> None:
    """End this process when its parent ends: on Linux at once, whatever it does then; elsewhere
    once a Python thread, which checks every second, gets to run."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
        return
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def memory_of_data() -> int:
    """Bytes of this process that count for RLIMIT_DATA. Linux only; works in a confined process
    too."""
    return int(os.pread(_statm(os.getpid()), 256, 0).split()[5]) * resource.getpagesize()


@cache
def _statm(process: int) -> int:
    return os.open(f"/proc/{process}/statm", os.O_RDONLY | os.O_CLOEXEC)


def can_confine() -> bool:
    """Whether this system can confine a process: Linux from 5.13 on, with Landlock enabled."""
    return _version() > 0


def confine(readable: Iterable[Path], writable: Iterable[Path]) -> None:
    """Restrict this process until it ends: it reads only below `readable`, `writable` and the
    folders of the code of Python and the system; it writes only below `writable`; from Landlock 4
    on it opens no TCP connections.

    Does nothing where `can_confine` is false. Raises OSError if the kernel refuses.
    """
    version = _version()
    if version <= 0:
        return
    memory_of_data()  # opens its file, which cannot be opened later
    everything = _ALL[min(version, 3) - 1]
    ruleset = _call(
        _CREATE_RULESET, struct.pack("=QQ", everything, _CONNECT if version >= 4 else 0), 16, 0
    )
    own = (
        *_SYSTEM,
        sys.prefix,
        sys.base_prefix,
        *sys.path,
        *os.environ.get("LD_LIBRARY_PATH", "").split(":"),
    )
    for path, rights in (
        *((Path(each), _READ) for each in own if each),
        *((path, _READ) for path in readable),
    ):
        _allow(ruleset, path, rights)
    for path in writable:
        _allow(ruleset, path, everything)
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    if not path.exists():
        return
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", rights if path.is_dir() else rights & _READ_FILE, opened)
        _call(_ADD_RULE, ruleset, 1, rule, 0)
    finally:
        os.close(opened)


def _version() -> int:
    if sys.platform != "linux":
        return 0
    return int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, 1))


def _call(number: int, *arguments: object) -> int:
    found = int(ctypes.CDLL(None, use_errno=True).syscall(number, *arguments))
    if found < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return found
