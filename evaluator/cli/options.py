"""Options that several commands of `score` share."""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
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

        if external_source(value, None):
            return value
        return str(super().convert(value, param, ctx))


_RESOURCES = ("cores", "gpus", "partition", "account", "time", "memory")
"""Options for the resources of a job."""


def job_options(command: Any) -> Any:
    """Add `--farm` and the resources of a Slurm job, which take_slurm reads.

    Args:
        command: The command, or its function.

    Returns:
        The same with these options.
    """
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


def stage_options(command: Any) -> Any:
    """Add the options of commands that run many stages: `--allow-code` for their file of models,
    `--workers`, `--dry-run`, and those of `job_options`.

    Args:
        command: The command, or its function.

    Returns:
        The same with these options.
    """
    allow_code = click.option(
        "--allow-code",
        is_flag=True,
        help="Let --models name code (python:) and hosts (api:). Read it first.",
    )
    workers = click.option(
        "--workers",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Number of trainings, runs and other stages at the same time; they share the cores "
        "and the GPU.",
    )
    dry_run = click.option(
        "--dry-run", is_flag=True, help="Print what is left and all commands; run nothing."
    )
    return allow_code(workers(dry_run(job_options(command))))


def take_slurm(options: dict[str, Any]) -> "Slurm | None":
    """Remove the options of job_options from the options of a command.

    Args:
        options: The values by name; these options are removed.

    Returns:
        The resources of a job, or None to run here.

    Raises:
        UserError: Resources of a job are named without `--farm slurm`, or `slurm_of` refuses them.
    """
    source_of = click.get_current_context().get_parameter_source
    typed = [name for name in options if source_of(name) is ParameterSource.COMMANDLINE]
    resources = {name: options.pop(name) for name in _RESOURCES}
    if options.pop("farm") == "local":
        typed_resources = [name for name in resources if name in typed]
        # A script that says --farm local may keep the resources of its jobs.
        if typed_resources and "farm" not in typed:
            raise UserError(
                f"--{typed_resources[0]} is about jobs of Slurm; add --farm slurm, or leave it out."
            )
        return None
    with extras_named():
        from generator.base.slurm import slurm_of
    return slurm_of(**resources)


def show_job(context: click.Context, slurm: "Slurm") -> None:
    """Print the script of the job that `run_as_job` would submit. Nothing is submitted or written.

    Args:
        context: The context of the command.
        slurm: The resources of the job.
    """
    say(
        f"One job of {slurm.cores} cores and {slurm.gpus} GPUs, of at most {slurm.minutes / 60:g} "
        f"hours."
    )
    click.echo(slurm.script(Path(f"score-{context.info_name}.slurm").resolve() / "jobs"))


def run_as_job(context: click.Context, slurm: "Slurm") -> None:
    """Run a command in a job, wait for it, and print its output.

    Log and output are in a local folder named after the words of the command, so that the same
    command resumes.

    Args:
        context: The context of the command.
        slurm: The resources of the job.

    Raises:
        UserError: The job fails.
    """
    from generator.base.slurm import run_job

    slurm.check()
    # The last --farm decides, so that the job runs the command and submits no job of its own.
    words = [str(context.info_name), *context.meta[WORDS], "--farm", "local"]
    digest = hashlib.sha256(json.dumps(words).encode()).hexdigest()[:8]
    folder = Path(f"score-{context.info_name}-{digest}.slurm")
    folder.mkdir(exist_ok=True)
    log = folder / "log.txt"
    printed = folder / "printed.txt"
    say(
        f"The job writes its log to {log}. It goes on if you stop waiting; run the same command "
        f"again to continue."
    )
    main = "from evaluator.cli.main import main; main(prog_name='score')"
    if run_job(["-c", main, *words], log=log, slurm=slurm, printed=printed):
        # A command that fails says why in the last line of its log.
        last_line = ""
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.strip():
                last_line = line
        raise UserError(f"The job failed ({last_line}); mend that and run the same command again.")
    click.echo(printed.read_text(encoding="utf-8"), nl=False)
    # After a failure the folder stays, with the log that says why.
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
    """Raise UserError for a tracker that is not installed."""
    for tracker in trackers:
        check_installed(tracker)
    return trackers


def log_option(about: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make the option `--log`.

    Args:
        about: What is logged and where, for its help.

    Returns:
        A decorator that adds the option to a command.
    """
    return click.option(
        "--log",
        "trackers",
        type=click.Choice(["tensorboard", "wandb"]),
        multiple=True,
        callback=_checked,
        help=f"{about} It needs the extra [log].",
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
    """Make the options that a dataclass declares (evaluator.runs.request).

    The type of a field decides what the option takes: a flag for bool, a choice for Literal. Its
    metadata may hold `flag`, if the option's name differs from the field's; `least` and `most`, the
    range of a number; `written`, for a folder to write; `file`, for a file to read; `several`, for
    an option that is repeated; and `metavar`.

    Args:
        declared: The dataclass.
        *names: The fields whose options to add; without names, all that have a help.
        default: What decides if the user does not, such as "the preset's": options then default to
            None, and help texts name it before the field's own default. "" for none.

    Returns:
        A decorator that adds the options to a command.
    """
    field_of = {field.name: field for field in fields(declared) if "help" in field.metadata}
    chosen = [field_of[name] for name in names or field_of]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        # click lists the option that is added last first.
        for field in reversed(chosen):
            command = _option(field, default)(command)
        return command

    return decorate


def _option(
    field: "Field[Any]", default: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option of a field. default: as for `options_of`."""
    about = field.metadata
    help_text = about["help"]
    if default and "[default:" not in help_text:
        help_text += f"  [default: {default}, else {field.default}]"
    keywords = {
        "help": help_text,
        "metavar": about.get("metavar"),
        # None shows that the user did not choose, where something else decides.
        "default": None if default else field.default,
        **_option_type(field),
    }
    flag = about.get("flag", f"--{field.name.replace('_', '-')}")
    return click.option(flag, field.name, **keywords)


def _option_type(field: "Field[Any]") -> dict[str, Any]:
    """What an option takes, as keyword arguments of click.option."""
    about = field.metadata
    types = [field.type, *get_args(field.type)]
    choices = [get_args(type_) for type_ in types if get_origin(type_) is Literal]
    if bool in types:
        return {"is_flag": True}
    if choices:
        return {"type": click.Choice(choices[0])}
    if int in types:
        return {"type": click.IntRange(about.get("least"), about.get("most"))}
    if float in types:
        return {"type": Number(min=about["least"]) if "least" in about else float}
    if Path in types:
        return {"type": _path_type(about)}
    if about.get("several"):
        return {"multiple": True, "default": ()}
    return {}


def _path_type(about: Mapping[str, Any]) -> click.ParamType:
    """The type of an option for a path, by the metadata of its field."""
    if about.get("written"):
        return NEW_FOLDER
    return FILE if about.get("file") else FOLDER


DEVICE = options_of(Request, "device")
