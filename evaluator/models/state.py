"""What decides the output of an object that a user wrote: its networks, and a digest of its state and its source."""

import hashlib
import pickle
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import torch
from joblib.hashing import NumpyHasher

_LIBRARIES = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_OUR_OWN = tuple(Path(__file__).resolve().parents[2] / name for name in ("evaluator", "generator"))
_CODE = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType)


def networks_of(model: Any) -> list[torch.nn.Module]:
    """The torch modules that an object is or holds, at any depth: in attributes, containers and closures.

    Modules that are registered within another one are left out.
    """
    found: list[torch.nn.Module] = []
    registered: set[int] = set()
    seen: dict[int, Any] = {}  # holds the objects too, since the id of one that is gone may be given again
    waiting = [model]
    while waiting:
        each = waiting.pop(0)
        if id(each) in seen or isinstance(each, type | ModuleType):
            continue
        seen[id(each)] = each
        if isinstance(each, torch.nn.Module) and id(each) not in registered:
            found.append(each)
            registered |= {id(part) for part in each.modules()}
        waiting += _parts(each)
    return [each for each in found if not any(other is not each and each in set(other.modules()) for other in found)]


def state_digest(model: Any, source: Any) -> str:
    """SHA-256 (hex) of all that decides an object's output, as far as Python can see it.

    That is its state at every depth, tensors and arrays by their bytes, and the user's own code: the modules of `source` (the
    class or function that made the object) and of its class, and those of the user's modules that they import, with the
    values of their global variables and of class attributes. Installed libraries do not count.

    Raises TypeError that names what cannot be hashed, such as an open file or a lambda.
    """
    digest = hashlib.sha256()
    try:
        for module in _own_modules(model, source):
            file = Path(str(module.__file__))
            digest.update(f"{module.__name__} {hashlib.sha256(file.read_bytes()).hexdigest()} ".encode())
            digest.update(_hash(_values(module)))
        digest.update(_hash(model))
    except Exception as error:  # pickling calls methods of the user's objects
        raise TypeError(str(error.args[0] if error.args else error).strip().splitlines()[0]) from None
    return digest.hexdigest()


class _Hasher(NumpyHasher):
    """Hashes objects as pickle would write them; tensors by their bytes, which pickle names by their addresses."""

    def save(self, obj: Any) -> None:
        if isinstance(obj, torch.Tensor):
            data = obj.detach().cpu().contiguous()
            content = data.view(-1).view(torch.uint8).numpy().tobytes() if data.numel() else b""
            obj = ("tensor", type(obj), str(data.dtype), tuple(data.shape), hashlib.sha256(content).hexdigest())
        super().save(obj)

    def _batch_setitems(self, items: Any, *more: Any) -> None:
        # the library's own sorting takes any TypeError for keys that have no order, and so skips values that it cannot hash
        ordered = sorted(items, key=lambda item: (type(item[0]).__name__, repr(item[0])))
        pickle._Pickler._batch_setitems(self, iter(ordered), *more)  # type: ignore[attr-defined]


def _hash(thing: Any) -> bytes:
    return str(_Hasher("sha256").hash(thing)).encode()


def _parts(thing: Any) -> list[Any]:
    """What an object holds."""
    if isinstance(thing, str | bytes | int | float | complex | torch.Tensor | None):
        return []
    if isinstance(thing, dict):
        return list(thing.values())
    if isinstance(thing, list | tuple | set | frozenset):
        return list(thing)
    if isinstance(thing, MethodType):
        return [thing.__self__]
    if isinstance(thing, FunctionType):
        return [cell.cell_contents for cell in thing.__closure__ or () if cell != type(cell)()]
    slots = [name for each in type(thing).__mro__ for name in _names(getattr(each, "__slots__", ()))]
    parts = [getattr(thing, name) for name in slots if name not in ("__dict__", "__weakref__") and hasattr(thing, name)]
    return [*getattr(thing, "__dict__", {}).values(), *parts]


def _names(slots: Any) -> list[str]:
    return [slots] if isinstance(slots, str) else list(slots)


def _own_modules(model: Any, source: Any) -> Iterator[ModuleType]:
    """The modules of the object and its source, and the user's modules that they reach; each once, by name."""
    waiting = {str(getattr(each, "__module__", "")) for each in (source, type(model))}
    first, found = set(waiting), {}
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        if (
            name in found
            or module is None
            or not (name in first or _is_own(module))
            or not getattr(module, "__file__", None)
        ):
            continue
        found[name] = module
        for value in vars(module).values():
            waiting.add(value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", "")))
    yield from (found[name] for name in sorted(found))


def _is_own(module: ModuleType) -> bool:
    """Whether a module is neither of Python, nor of an installed package, nor of this one."""
    file = getattr(module, "__file__", None)
    return file is not None and is_own_file(file)


def is_own_file(file: str) -> bool:
    """Whether a source file is the user's: neither of Python, nor of an installed package, nor of this one."""
    path = Path(file)
    return path.is_file() and not any(path.resolve().is_relative_to(folder) for folder in (*_LIBRARIES, *_OUR_OWN))


def _values(module: ModuleType) -> dict[str, Any]:
    """The values of a module's global variables, and those of the attributes of its classes."""
    values = {
        name: value for name, value in vars(module).items() if not (name.startswith("__") or isinstance(value, _CODE))
    }
    for name, made in vars(module).items():
        if isinstance(made, type) and made.__module__ == module.__name__:
            for attribute, value in vars(made).items():
                if not (attribute.startswith("__") or isinstance(value, (*_CODE, property, classmethod, staticmethod))):
                    values[f"{name}.{attribute}"] = value
    return values
