"""Options that several commands of `score` share."""

from collections.abc import Callable
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click

from evaluator.runs.request import Request
from generator.base.commands import DatasetFolder, LocalFolder, OutFile

FOLDER, NEW_FOLDER = LocalFolder(), LocalFolder(written=True)
FILE = click.Path(path_type=Path, dir_okay=False)
NEW_FILE = OutFile()


class Questions(DatasetFolder):
    """The folder of a dataset, its URL, or a benchmark of others as NAME:PATH; as a string."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The string. Raises UserError for a NAME that no one offers, and for what is no folder."""
        from evaluator.benchmarks.registry import external_source

        return value if external_source(value, None) else str(super().convert(value, param, ctx))


SEED = click.IntRange(0, 2**32 - 1)
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
FILTERS = click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Leave out questions of a benchmark of others, such as first=1000 (docs/external.md lists all); the results "
    "say so. Repeat for "
    "several.",
)
FULL = click.option(
    "--full", is_flag=True, help="Print every row of the results instead of the ten lines that matter most."
)
JSONL = click.option(
    "--jsonl", is_flag=True, help="Also write items.jsonl: a line for each item with its words, candidates and scores."
)
BENCHMARK = click.option("--benchmark", help="Name of the benchmark, if DATASET has several.")


def options_of(declared: type, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that gives a command the options that a dataclass declares (evaluator.runs.request), all or those
    named.

    The type of a field says what the option takes: a flag for bool, a choice for Literal. Its metadata may hold `flag`,
    another name than that of the field; `least`, the smallest whole number; `written`, for a folder to write;
    `several`, for an option that is repeated; and `metavar`.
    """
    chosen = [each for each in fields(declared) if "help" in each.metadata and (not names or each.name in names)]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for each in reversed(chosen):
            command = _option(each)(command)
        return command

    return decorate


def _option(declared: "Field[Any]") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    about, types = declared.metadata, [declared.type, *get_args(declared.type)]
    choices = [get_args(each) for each in types if get_origin(each) is Literal]
    flag = about.get("flag", f"--{declared.name.replace('_', '-')}")
    more: dict[str, Any] = {"help": about["help"], "metavar": about.get("metavar"), "default": declared.default}
    if bool in types:
        more |= {"is_flag": True}
    elif choices:
        more |= {"type": click.Choice(choices[0])}
    elif int in types:
        more |= {"type": click.IntRange(min=about.get("least"))}
    elif float in types:
        more |= {"type": float}
    elif Path in types:
        more |= {"type": NEW_FOLDER if about.get("written") else FOLDER}
    elif about.get("several"):
        more |= {"multiple": True, "default": ()}
    return click.option(flag, declared.name, **more)


DEVICE = options_of(Request, "device")
