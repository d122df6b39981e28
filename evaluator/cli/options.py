"""Options that several commands of `score` share."""

from collections.abc import Callable
from dataclasses import Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click

from evaluator.runs.request import Request
from generator.base.commands import DatasetFolder, LocalFolder, Number, OutFile

if TYPE_CHECKING:
    from evaluator.runs.tracking import Tracker

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


def _checked(ctx: click.Context, param: click.Parameter, trackers: "tuple[Tracker, ...]") -> "tuple[Tracker, ...]":
    if trackers:
        from evaluator.runs.tracking import check_trackers

        check_trackers(trackers)
    return trackers


def log_option(about: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option `--log`; about: what is logged, and where."""
    choices = click.Choice(["tensorboard", "wandb"])
    more = f"{about} It needs the extra [log]."
    return click.option("--log", "trackers", type=choices, multiple=True, callback=_checked, help=more)


FULL = click.option(
    "--full", is_flag=True, help="Print every row of the results instead of the ten lines that matter most."
)
JSONL = click.option(
    "--jsonl", is_flag=True, help="Also write items.jsonl: a line for each item with its words, candidates and scores."
)
BENCHMARK = click.option("--benchmark", help="Name of the benchmark, if DATASET has several.")


def options_of(declared: type, *names: str, default: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that gives a command the options that a dataclass declares (evaluator.runs.request), all or those
    named.

    The type of a field says what the option takes: a flag for bool, a choice for Literal. Its metadata may hold `flag`,
    another name than that of the field; `least` and `most`, the range of a number; `written`, for a folder to
    write; `file`, for a file to read; `several`, for an option that is repeated; and `metavar`. default: what is said
    of it where an option that is not given is None.
    """
    known = {each.name: each for each in fields(declared) if "help" in each.metadata}
    chosen = [known[name] for name in names or known]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for each in reversed(chosen):
            command = _option(each, default)(command)
        return command

    return decorate


def _option(declared: "Field[Any]", default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    about, types = declared.metadata, [declared.type, *get_args(declared.type)]
    choices = [get_args(each) for each in types if get_origin(each) is Literal]
    flag = about.get("flag", f"--{declared.name.replace('_', '-')}")
    more: dict[str, Any] = {"help": about["help"], "metavar": about.get("metavar"), "default": declared.default}
    if default:
        said = "" if "[default:" in about["help"] else f"  [default: {default}, else {declared.default}]"
        more |= {"default": None, "help": about["help"] + said}
    if bool in types:
        more |= {"is_flag": True}
    elif choices:
        more |= {"type": click.Choice(choices[0])}
    elif int in types:
        more |= {"type": click.IntRange(about.get("least"), about.get("most"))}
    elif float in types:
        more |= {"type": float if "least" not in about else Number(min=about["least"])}
    elif Path in types:
        more |= {"type": NEW_FOLDER if about.get("written") else FILE if about.get("file") else FOLDER}
    elif about.get("several"):
        more |= {"multiple": True, "default": ()}
    return click.option(flag, declared.name, **more)


DEVICE = options_of(Request, "device")
