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

# The numbers of linux/landlock.h, sys/syscall.h and sys/prctl.h: Python has no binding to Landlock.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""System calls, the same on all processors."""
_READ = 0b1101
"""Rights to run and read files and to list folders."""
_READ_FILE = 0b0101
"""Rights to run and read a file."""
_ALL = ((1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1)
"""All file rights of Landlock 1, 2 and 3."""
_CONNECT = 0b11
"""Rights to bind and connect TCP sockets, from Landlock 4 on."""
# Landlock 4 came with Linux 6.7.
_VERSION_OF_TCP = 4
_PATH_BENEATH = 1
"""The kind of rule that gives rights below a folder."""
_SET_DEATH_SIGNAL, _NO_NEW_PRIVILEGES = 1, 38
"""Options of prctl."""
# Where systems keep shared libraries, and the devices that Python and its libraries open.
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
    """Measure the memory of this process that counts for RLIMIT_DATA. Linux only.

    Returns:
        Bytes. Works in a confined process too, if it was called before.
    """
    # The sixth number of statm is data and stack in pages (proc_pid_statm(5)).
    fields = os.pread(_statm(os.getpid()), 256, 0).split()
    return int(fields[5]) * resource.getpagesize()


@cache
def _statm(process: int) -> int:
    """The open file, by process: a fork must not read the numbers of its parent."""
    return os.open(f"/proc/{process}/statm", os.O_RDONLY | os.O_CLOEXEC)


def can_confine() -> bool:
    """Check whether this system can confine a process.

    Returns:
        Whether it is Linux from 5.13 on, with Landlock enabled.
    """
    return _version() > 0


def confine(readable: Iterable[Path], writable: Iterable[Path]) -> None:
    """Restrict this process until it ends. Does nothing where `can_confine` is false.

    Besides `readable` and `writable`, it can read the folders of the code of Python and the system.
    From Landlock 4 on it opens no TCP connections.

    Args:
        readable: Folders and files that it can read.
        writable: Folders that it can read and write.

    Raises:
        OSError: The kernel refuses.
    """
    version = _version()
    if version <= 0:
        return
    # Opens its file, which cannot be opened later.
    memory_of_data()

    # A ruleset forbids all rights that it lists; each rule gives some of them back below a folder.
    all_rights = _ALL[min(version, 3) - 1]
    network_rights = _CONNECT if version >= _VERSION_OF_TCP else 0
    rights = struct.pack("=QQ", all_rights, network_rights)
    ruleset = _call(_CREATE_RULESET, rights, len(rights), 0)
    libraries = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    for name in (*_SYSTEM, sys.prefix, sys.base_prefix, *sys.path, *libraries):
        if name:
            _allow(ruleset, Path(name), _READ)
    for path in readable:
        _allow(ruleset, path, _READ)
    for path in writable:
        _allow(ruleset, path, all_rights)

    # The kernel confines only processes that cannot gain privileges by running others.
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _call(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    if not path.exists():
        return
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        # The kernel refuses rights to list or make files for a path that is a file.
        fitting_rights = rights if path.is_dir() else rights & _READ_FILE
        rule = struct.pack("=Qi", fitting_rights, descriptor)
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)


def _version() -> int:
    """The version of Landlock; 0 or less where there is none."""
    if sys.platform != "linux":
        return 0
    return int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, 1))


def _call(number: int, *arguments: object) -> int:
    result = int(ctypes.CDLL(None, use_errno=True).syscall(number, *arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result
