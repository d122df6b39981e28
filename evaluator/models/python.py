"""`python:` models: a class or function of the user's, imported and called.

`python:PACKAGE.MODULE:FACTORY`, a module of the working directory or one that Python finds, or
`python:FILE.py:FACTORY`.
"""

import importlib
import importlib.util
import os
import sys
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any

from evaluator.models.arguments import checked_arguments, named_with
from evaluator.models.contracts import Model
from evaluator.models.device import best_device
from evaluator.models.user_objects import adapt, parameters_of, user_code
from generator.base.errors import UserError


def load_python(name: str, device: str | None, **arguments: Any) -> Model:
    """Import `package.module:factory` or `file.py:factory`, call it and adapt the object that it returns.

    The factory is called with `arguments`, and with `device` (a torch.device) where it has a parameter of that name.
    Raises UserError when the module or factory does not exist or raises an error, or when the object has no method to
    score with.
    """
    spec = f"python:{name}"
    place, _, path = name.rpartition(":")
    in_file = place.endswith(".py")
    if not place or not path or (not in_file and (place.startswith(".") or {"/", ":"} & set(place))):
        raise UserError(
            f"Expected python:PACKAGE.MODULE:FACTORY or python:FILE.py:FACTORY, such as python:my_model.py:Model, got "
            f"'{spec}'."
        )
    target = best_device(device)
    module = _import_file(Path(place).expanduser(), spec) if in_file else _import(place, spec)
    factory = _found(module, path)
    if not callable(factory):
        raise UserError(f"'{path}' in {place} is no class or function; name a callable that returns the model.")
    taken = checked_arguments(factory, arguments, f"'{path}' in {place}")
    parameters = parameters_of(factory)
    free = {"device", *taken, *(name for name, each in parameters.items() if each.default is not each.empty)}
    needed = [name for name, each in parameters.items() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    if lacking := [name for name in needed if name not in free]:
        raise UserError(
            f"'{path}' in {place} needs {', '.join(lacking)}, and is called without arguments (but for device); give "
            f"them defaults or as "
            "--model-args, or name a function that makes the model."
        )
    with user_code(spec, path):
        model = factory(**taken, **({"device": target} if "device" in parameters else {}))
    return adapt(model, named_with(spec, arguments), factory, device)


def _import(module: str, spec: str) -> ModuleType:
    """The module of that name. Raises UserError when there is none, or when importing it raises an error."""
    here = os.getcwd()
    _look_in(here)
    with user_code(spec, "importing the module"):
        try:
            return importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # something that the user's module imports
    raise UserError(
        f"There is no Python module '{module}' in {here} or where Python looks; run where it is, set PYTHONPATH, or "
        f"give its file."
    )


def _import_file(file: Path, spec: str) -> ModuleType:
    """The module in a file; other modules beside it can be imported, as where Python runs the file.

    Raises UserError when there is no such file, when its name is that of another module, or when it raises an error.
    """
    if not file.is_file():
        raise UserError(f"There is no file '{file}' in {os.getcwd()}; give the path of the file that has the model.")
    path = file.resolve()
    found = sys.modules.get(path.stem)
    if found is not None and getattr(found, "__file__", None) != str(path):
        raise UserError(
            f"The name of '{file}' is that of another module, '{path.stem}', which is in use; rename the file."
        )
    if found is None:
        _look_in(str(path.parent))
        made = importlib.util.spec_from_file_location(path.stem, path)
        assert made is not None
        assert made.loader is not None
        found = importlib.util.module_from_spec(made)
        sys.modules[path.stem] = found
        try:
            with user_code(spec, "importing the file"):
                made.loader.exec_module(found)
        except BaseException:
            del sys.modules[path.stem]
            raise
    return found


def _look_in(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)  # kept, as Python does, for what the model imports later


def _found(module: ModuleType, path: str) -> Any:
    """The object at `path` of a module. Raises UserError when there is no such object."""
    try:
        return reduce(getattr, path.split("."), module)
    except AttributeError:
        callables = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        some = f"it has {', '.join(callables[:8])}" if callables else "it has no class or function"
        raise UserError(f"There is no '{path}' in the module {module.__name__}: {some}.") from None
