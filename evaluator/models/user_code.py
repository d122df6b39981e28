"""Run code of a user's own: errors with the lines of the user's files, parameters of functions,
source files, and the networks that an object holds."""

import hashlib
import inspect
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from evaluator.models.contracts import is_out_of_memory
from generator.base.errors import UserError

_FOREIGN_FOLDERS = [
    Path(sysconfig.get_path(name)).resolve()
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
]
"""Folders of source files that are not the user's: Python, installed packages, and this one."""
_FOREIGN_FOLDERS += [
    Path(__file__).resolve().parents[2] / package for package in ("evaluator", "generator")
]


@contextmanager
def user_code(spec: str, action: str) -> Iterator[None]:
    """Context for code of a user's model.

    All errors, also SystemExit, become a UserError of one sentence, followed by the traceback's
    lines in the user's own files. Out-of-memory errors are passed on, since batches are then
    halved.

    Args:
        spec: The model, as the user named it.
        action: What runs, such as "encode_texts".
    """
    try:
        yield
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error):
            raise
        message = " ".join(str(error).split())
        reason = f"{type(error).__name__}: {message}" if message else type(error).__name__
        sentence = f"{action} of {spec} ended with {reason}".removesuffix(".")
        lines = _user_lines(error)
        advice = f"fix it here:\n{lines}" if lines else "correct what it is given."
        raise UserError(f"{sentence}; {advice}") from error


def _user_lines(error: BaseException) -> str:
    """The lines of the user's files in a traceback; for a syntax error, the faulty line."""
    report = traceback.TracebackException.from_exception(error)
    # A file that cannot be compiled has no frame in the traceback.
    if isinstance(error, SyntaxError) and error.filename and _is_of_user(error.filename):
        lines = list(report.format_exception_only())
        return "".join(lines[:-1]).rstrip()  # the last line repeats the message
    frames = [frame for frame in report.stack if _is_of_user(frame.filename)]
    return "".join(traceback.StackSummary.from_list(frames).format()).rstrip()


def _is_of_user(file: str) -> bool:
    """Whether a source file is the user's: not of Python, an installed package, or this package."""
    path = Path(file)
    if not path.is_file():
        return False
    return not any(path.resolve().is_relative_to(folder) for folder in _FOREIGN_FOLDERS)


def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a function by name; none for compiled code.

    >>> list(parameters_of(lambda images, pairs: None))
    ['images', 'pairs']
    """
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def source_file(source: Any) -> Path | None:
    """The source file of a class or function; None for compiled code and notebooks."""
    try:
        file = Path(inspect.getsourcefile(inspect.unwrap(source)) or "").resolve()
    except TypeError:
        return None
    return file if file.is_file() else None


def source_digest(source: Any) -> str | None:
    """SHA-256 (hex) of the source file of a class or function; None without a file."""
    file = source_file(source)
    return hashlib.sha256(file.read_bytes()).hexdigest() if file else None


def networks_of(model: Any) -> list[torch.nn.Module]:
    """The torch modules that an object is or holds in its attributes and containers, at any depth.

    The modules inside a module are not listed. The search is breadth first.
    """
    networks: list[torch.nn.Module] = []
    # Keeps the objects alive, since the id of a deleted object may be reused.
    visited: dict[int, Any] = {}
    waiting = [model]
    while waiting:
        value = waiting.pop(0)
        # Classes and modules lead to code of others, and to everything that it imports.
        if id(value) in visited or isinstance(value, type | ModuleType | torch.Tensor):
            continue
        visited[id(value)] = value
        if isinstance(value, torch.nn.Module):
            networks.append(value)
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple | set):
            waiting += value
        else:
            waiting += getattr(value, "__dict__", {}).values()
    return networks
