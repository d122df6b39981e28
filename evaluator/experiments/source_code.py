"""The code that a command runs: the modules of this project that it imports, and their data files.

A stage is run again when this code changes (docs/experiments.md). Modules are found without running
anything: the import statements of the command's module are read, then those of the modules that
they name, and so on. The result may hold more than a run imports, never less:

1. Imports within functions count, since commands import libraries late. Imports for type checkers
   do not.
2. A string that is the name of a module, such as "evaluator.models.hf:load_hf", counts as an import
   of it: registries and worker processes name modules so. The name of a package counts as an
   import of all modules in it, because registries put names together from it.
3. With a module go the data files of its folder, such as templates and TOML.
4. A command of `gen` depends on all families and assets, and one of `score` on all presets of
   training: both are read by path, from folders without a module.
"""

import ast
import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from generator.base.errors import UserError, did_you_mean
from generator.base.files import sha256
from generator.base.registry import resource

_ROOT = Path(__file__).parents[2]
"""The folder that holds both packages; in a checkout also families and assets."""
_PACKAGES = {"gen": "generator", "score": "evaluator"}
"""By program, the package that holds it."""
_MODULE_NAME = re.compile(rf"((?:{'|'.join(_PACKAGES.values())})(?:\.\w+)+)\.?(?::\w*)?")
"""Matches a string that names a module, or a module and an object in it. Parts of f-strings may end
in "." or ":"."""
_NOT_DATA = (".py", ".pyc", ".typed")
"""Suffixes of files that are not read as data: modules, and marks for type checkers."""


@cache
def code_digest(command: str) -> str:
    """Digest the code that a command runs.

    Args:
        command: The command without arguments, such as "gen render" or "score train scratch".

    Returns:
        A SHA-256 in hexadecimal digits, of the paths within the project and the contents of all
        files.

    Raises:
        UserError: There is no such command.
    """
    lines = []
    for path in code_files(command):
        lines.append(f"{path.relative_to(_ROOT)} {sha256(path)}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def code_files(command: str) -> list[Path]:
    """List the files that a command depends on: modules and data, sorted.

    Args:
        command: The command without arguments, such as "gen render".

    Raises:
        UserError: There is no such command.
    """
    files: set[Path] = set()
    folders: set[Path] = set()
    for module in imported_modules(_module_of(command)):
        source = _source(module)
        if source is not None:
            files.add(source)
            folders.add(source.parent)
    for folder in folders:
        files.update(_data_files(folder))
    if command.split()[0] == "gen":
        for shipped in (resource("scenes"), resource("blender_assets")):
            files.update(path for path in shipped.rglob("*") if path.is_file())
    else:
        files.update(_ROOT.glob("evaluator/papers/*/presets.toml"))
    return sorted(files)


def imported_modules(start: str) -> set[str]:
    """Find the modules of this project that a module imports, directly and through others.

    Args:
        start: The name of the module.

    Returns:
        The names of the modules, `start` included. The packages `generator` and `evaluator`
        themselves are left out: they only name the functions of the Python API.
    """
    modules: set[str] = set()
    waiting = [start]
    while waiting:
        module = waiting.pop()
        if module in modules or module in _PACKAGES.values():
            continue
        modules.add(module)
        # Python imports the packages around a module first.
        waiting.append(module.rpartition(".")[0])
        waiting.extend(_imports(module))
    return modules


@cache
def _imports(module: str) -> frozenset[str]:
    """The modules of this project that the statements and strings of one module name."""
    source = _source(module)
    if source is None:
        return frozenset()
    names: set[str] = set()
    for node in _nodes_at_runtime(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            # The names may be modules, as in `from evaluator.training import networks`.
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            match = _MODULE_NAME.fullmatch(node.value)
            if match:
                names.add(match[1])
                names.update(_modules_in(match[1]))
    return frozenset(name for name in names if _source(name) is not None)


def _nodes_at_runtime(tree: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes below a node, without those in `if TYPE_CHECKING:`."""
    for node in ast.iter_child_nodes(tree):
        if (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        ):
            continue
        yield node
        yield from _nodes_at_runtime(node)


def _module_of(command: str) -> str:
    """The module that defines a command, from the imports of its program's main module.

    The main module itself is not code of a command: it imports the modules of all commands.
    """
    program, _, rest = command.partition(" ")
    if program not in _PACKAGES:
        raise UserError(f"Expected a command of gen or score, such as 'gen plan', got '{command}'.")
    folder = _ROOT / _PACKAGES[program] / "cli"
    modules = {}
    for node in ast.parse((folder / "main.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            is_beside_main = node.module.startswith(f"{_PACKAGES[program]}.cli.")
            for alias in node.names:
                # Constants, such as options that commands share, are in capitals.
                if is_beside_main and alias.name.islower():
                    modules[alias.name.replace("_", "-")] = node.module
    name = rest.split(" ")[0]
    if name not in modules:
        raise UserError(
            f"`{program}` has no command '{rest}'; {did_you_mean(name, list(modules))} Write "
            f"options as arguments of their own, such as seed=1."
        )
    return modules[name]


@cache
def _source(module: str) -> Path | None:
    """The file of a module or of a package of this project; None if there is none."""
    if module.partition(".")[0] not in _PACKAGES.values():
        return None
    path = _ROOT.joinpath(*module.split("."))
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.is_file():
            return file
    return None


def _modules_in(package: str) -> list[str]:
    """The names of the modules directly in a package; empty for a module."""
    source = _source(package)
    if source is None or source.name != "__init__.py":
        return []
    return [f"{package}.{path.stem}" for path in sorted(source.parent.glob("*.py"))]


def _data_files(folder: Path) -> Iterator[Path]:
    """Yields the data files of a package's folder, with those of sub-folders without modules."""
    for path in folder.iterdir():
        if path.is_file() and path.suffix not in _NOT_DATA:
            yield path
        elif path.is_dir() and path.name != "__pycache__" and not (path / "__init__.py").exists():
            yield from _data_files(path)
