"""Options that several commands of `score` share."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import click
from click.core import ParameterSource

from evaluator.runs.request import Request
from generator.base.commands import (
    WORDS,
    DatasetFolder,
    LocalFolder,
    Number,
    OutFile,
    say,
    slurm_options,
)
from generator.base.errors import UserError
from generator.base.extras import check_installed, extras_named

if TYPE_CHECKING:
    from evaluator.runs.tracking import Tracker
    from generator.base.slurm import Slurm

FOLDER, NEW_FOLDER = LocalFolder(), LocalFolder(written=True)
FILE = click.Path(path_type=Path, dir_okay=False)
NEW_FILE = OutFile()


class Questions(DatasetFolder):
    """Parameter type, a string: the folder or URL of a dataset, or a published benchmark as
    NAME:PATH."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Returns the string. Raises UserError for an unknown NAME and for a path that is not a
        folder."""
        # The name of a published benchmark stands before a colon; without one, its registry need
        # not be loaded.
        if ":" not in str(value):
            return str(super().convert(value, param, ctx))
        from evaluator.benchmarks.registry import external_source

        return value if external_source(value, None) else str(super().convert(value, param, ctx))


def job_options(command: Any) -> Any:
    """Decorator: adds `--farm` and the resources of a Slurm job, which take_slurm reads."""
    farm = click.option(
        "--farm",
        type=click.Choice(["local", "slurm"]),
        default="local",
        show_default=True,
        help="Where to run: here, or in jobs of a Slurm cluster.",
    )
    cores = click.option(
        "--cores",
        type=click.IntRange(min=1),
        default=8,
        show_default=True,
        help="Slurm: cores of a job.",
    )
    gpus = click.option(
        "--gpus",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Slurm: GPUs of a job.",
    )
    return farm(cores(gpus(slurm_options(command))))


def take_slurm(options: dict[str, Any]) -> "Slurm | None":
    """Remove the options of job_options from `options`; returns the resources of a job, or None to
    run here.

    Raises UserError as slurm_of does, and for resources of a job without `--farm slurm`.
    """
    source_of = click.get_current_context().get_parameter_source
    typed = [name for name in options if source_of(name) is ParameterSource.COMMANDLINE]
    taken = {
        name: options.pop(name)
        for name in ("cores", "gpus", "partition", "account", "time", "memory")
    }
    if options.pop("farm") == "local":
        if "farm" not in typed and (lost := [name for name in taken if name in typed]):
            raise UserError(
                f"--{lost[0]} is about jobs of Slurm; add --farm slurm, or leave it out."
            )
        return None
    with extras_named():
        from generator.base.slurm import slurm_of
    return slurm_of(**taken)


def show_job(context: click.Context, slurm: "Slurm") -> None:
    """Print the script of the job that `run_as_job` would submit. Nothing is submitted or
    written."""
    say(
        f"One job of {slurm.cores} cores and {slurm.gpus} GPUs, of at most {slurm.minutes / 60:g} "
        f"hours."
    )
    click.echo(slurm.script(Path(f"score-{context.info_name}.slurm").resolve() / "jobs"))


def run_as_job(context: click.Context, slurm: "Slurm") -> None:
    """Run the command of a context in a job, wait for it, and print its output. The same command
    again resumes.

    Log and output are in a local folder named after the words of the command. Raises UserError if
    the job fails.
    """
    from generator.base.slurm import run_job

    slurm.check()
    words = [str(context.info_name), *context.meta[WORDS], "--farm", "local"]
    digest = hashlib.sha256(json.dumps(words).encode()).hexdigest()[:8]
    folder = Path(f"score-{context.info_name}-{digest}.slurm")
    folder.mkdir(exist_ok=True)
    log, printed = folder / "log.txt", folder / "printed.txt"
    say(
        f"The job writes its log to {log}. It goes on if you stop waiting; run the same command "
        f"again to continue."
    )
    main = "from evaluator.cli.main import main; main(prog_name='score')"
    if run_job(["-c", main, *words], log=log, slurm=slurm, printed=printed):
        last = [
            line
            for line in log.read_text(encoding="utf-8", errors="replace").splitlines()
            if line.strip()
        ][-1:]
        raise UserError(
            f"The job failed ({''.join(last)}); mend that and run the same command again."
        )
    click.echo(printed.read_text(encoding="utf-8"), nl=False)
    shutil.rmtree(folder)


SEED = click.IntRange(0, 2**32 - 1)
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
FILTERS = click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Leave out questions of a published benchmark, such as first=1000 (docs/external.md lists "
    "all); the results say so. Repeat for several.",
)


def _checked(
    ctx: click.Context, param: click.Parameter, trackers: "tuple[Tracker, ...]"
) -> "tuple[Tracker, ...]":
    for tracker in trackers:
        check_installed(tracker)
    return trackers


def log_option(about: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option `--log`. about: what is logged and where, for its help."""
    choices = click.Choice(["tensorboard", "wandb"])
    more = f"{about} It needs the extra [log]."
    return click.option(
        "--log", "trackers", type=choices, multiple=True, callback=_checked, help=more
    )


FULL = click.option(
    "--full",
    is_flag=True,
    help="Print every row of the results instead of the ten lines that matter most.",
)
JSONL = click.option(
    "--jsonl",
    is_flag=True,
    help="Also write items.jsonl: a line for each item with its words, candidates and scores.",
)
BENCHMARK = click.option("--benchmark", help="Name of the benchmark, if DATASET has several.")


def options_of(
    declared: type, *names: str, default: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: adds the options that a dataclass declares (evaluator.runs.request), all of them
    or the named ones.

    The type of a field decides what the option takes: a flag for bool, a choice for Literal. Its
        metadata may hold
    `flag`, if the option's name differs from the field's; `least` and `most`, the range of a
    number; `written`, for a
    folder to write; `file`, for a file to read; `several`, for an option that is repeated; and
    `metavar`. default: if
    given, options default to None, and help texts name `default` before the field's own default.
    """
    known = {
        declared_field.name: declared_field
        for declared_field in fields(declared)
        if "help" in declared_field.metadata
    }
    chosen = [known[name] for name in names or known]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for declared_field in reversed(chosen):
            command = _option(declared_field, default)(command)
        return command

    return decorate


def _option(
    declared: "Field[Any]", default: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    about, types = declared.metadata, [declared.type, *get_args(declared.type)]
    choices = [
        get_args(declared_type) for declared_type in types if get_origin(declared_type) is Literal
    ]
    flag = about.get("flag", f"--{declared.name.replace('_', '-')}")
    more: dict[str, Any] = {
        "help": about["help"],
        "metavar": about.get("metavar"),
        "default": declared.default,
    }
    if default:
        default_text = (
            ""
            if "[default:" in about["help"]
            else f"  [default: {default}, else {declared.default}]"
        )
        more |= {"default": None, "help": about["help"] + default_text}
    if bool in types:
        more |= {"is_flag": True}
    elif choices:
        more |= {"type": click.Choice(choices[0])}
    elif int in types:
        more |= {"type": click.IntRange(about.get("least"), about.get("most"))}
    elif float in types:
        more |= {"type": float if "least" not in about else Number(min=about["least"])}
    elif Path in types:
        more |= {
            "type": NEW_FOLDER if about.get("written") else FILE if about.get("file") else FOLDER
        }
    elif about.get("several"):
        more |= {"multiple": True, "default": ()}
    return click.option(flag, declared.name, **more)


DEVICE = options_of(Request, "device")
