"""The commands `score train METHOD`, generated from the methods (evaluator.training.methods)."""

import os
import shlex
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evaluator.cli.early import check_dataset, check_model_folder
from evaluator.cli.options import BENCHMARK, DEVICE, JSON, NEW_FOLDER, log_option, options_of
from evaluator.models.names import check_device
from evaluator.training.methods import METHODS, Method
from generator.base.commands import (
    Bar,
    Command,
    Commands,
    DatasetFolder,
    result,
    say,
    say_if_slow,
)
from generator.base.errors import UserError

if TYPE_CHECKING:
    from evaluator.runs.tracking import Tracker
    from evaluator.training.recipe import Origin


class _Corpus(DatasetFolder):
    """Parameter type: the folder of a dataset, or the file of a corpus made elsewhere."""

    name = "dataset"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Returns the path of the folder or file."""
        if Path(value).is_file() or Path(value).suffix == ".jsonl":
            return Path(str(click.Path(exists=True, dir_okay=False).convert(value, param, ctx)))
        return super().convert(value, param, ctx)


_MODEL = click.option(
    "--model",
    required=True,
    help="Model to start from, as for `score run`, such as open_clip:ViT-B-32@openai.",
)
_DATASET = click.argument("datasets", metavar="DATASET", type=_Corpus(), nargs=1)
_DATASETS = click.argument("datasets", nargs=-1, required=True, type=DatasetFolder())
_OUT = click.option(
    "--out",
    type=NEW_FOLDER,
    required=True,
    help="Folder to write. Score the model as jackalope:FOLDER.",
)
_TURNS = click.option(
    "--turns",
    is_flag=True,
    help="Train a model for each turn of a rotation, into OUT/turn0, OUT/turn1 and so on. Score "
    "all of them with --model 'jackalope:OUT/{turn}'.",
)
_PRESET = click.option("--preset", help="Hyperparameters of a paper (docs/training.md).")
_LOG = log_option(
    "Log loss, rate, gradient norm and images a second of each step: tensorboard (into "
    "OUT.tensorboard) or wandb."
)


@click.group(cls=Commands)
@click.pass_context
def train(ctx: click.Context) -> None:
    """Train models on the train split of a benchmark.

    Under accelerate launch or torchrun, several processes train one model (docs/training.md).
    """
    from evaluator.scoring.store import Process

    # Of several processes only the main one prints. Errors of the others still reach the terminal:
    # they are raised after these contexts have closed.
    if not Process.from_environment().is_main:
        nowhere = ctx.with_resource(open(os.devnull, "w"))  # noqa: SIM115
        ctx.with_resource(redirect_stdout(nowhere))
        ctx.with_resource(redirect_stderr(nowhere))


def _command(method: type[Method]) -> click.Command:
    """The command of a method: its arguments, an option for each name in `options`, and the options
    of all methods."""

    def command(**options: Any) -> None:
        _train(method, **options)

    command.__doc__ = method.__doc__
    dataset = [_DATASETS] if method.every_split else [_DATASET, _TURNS]
    start = [_MODEL, _PRESET] if method.continues_model else []
    own = options_of(
        method, *method.options, default="the preset's" if method.continues_model else ""
    )
    decorators: list[Callable[..., Any]] = [
        *dataset,
        *start,
        _OUT,
        BENCHMARK,
        own,
        _LOG,
        DEVICE,
        JSON,
    ]
    # Decorators apply from the last to the first, and help lists options in the order in which they
    # are written.
    for decorator in reversed(decorators):
        command = decorator(command)
    model = " --model open_clip:ViT-B-32@openai" if method.continues_model else ""
    return click.command(
        method.name, cls=Command, examples=[f"train {method.name} small{model} --out trained"]
    )(command)


for _method in METHODS.values():
    train.add_command(_command(_method))


def _train(
    method: type[Method],
    *,
    datasets: Path | tuple[Path, ...],
    out: Path,
    benchmark: str | None,
    trackers: "tuple[Tracker, ...]",
    device: str | None,
    as_json: bool,
    model: str = "",
    preset: str | None = None,
    turns: bool = False,
    **options: Any,
) -> None:
    """Train a model, or with `turns` one for each turn of a rotation, and print the losses.

    `options` are the method's hyperparameters; None takes the preset's.
    """
    folders = (datasets,) if isinstance(datasets, Path) else datasets
    turn_names = _turn_names(folders[0], benchmark) if turns else []
    _check_arguments(
        method,
        folders,
        out,
        benchmark=benchmark,
        turn_names=turn_names,
        device=device,
        model=model,
        preset=preset,
    )
    with say_if_slow("Loading PyTorch."):
        from evaluator.training.session import train

    recipe, origin = _make_recipe(method, options, model=model, preset=preset)

    train_one = partial(
        train,
        recipe,
        model=model,
        device=device,
        progress=Bar(),
        trackers=trackers,
        origin=origin,
    )
    if turns:
        losses_by_turn = {}
        for name in turn_names:
            losses = train_one(recipe.source(folders, name), out / name)["losses"]
            losses_by_turn[name] = losses
            say(f"{name}: loss {losses[0]:.2f} → {losses[-1]:.2f}.")
        say(f"Next: {_scoring_command(recipe, [str(folders[0])], f'{out}/{{turn}}')}")
        result({"model": f"{out}/{{turn}}", "losses": losses_by_turn}, as_json, str(out))
        return
    losses = train_one(recipe.source(folders, benchmark), out)["losses"]
    scoring = _scoring_command(recipe, _scored_on(method, folders, benchmark), str(out))
    say(f"Loss {losses[0]:.2f} → {losses[-1]:.2f}. Next: {scoring}")
    result({"model": str(out), "losses": losses}, as_json, str(out))


def _check_arguments(
    method: type[Method],
    folders: Sequence[Path],
    out: Path,
    *,
    benchmark: str | None,
    turn_names: Sequence[str],
    device: str | None,
    model: str,
    preset: str | None,
) -> None:
    """Raise UserError for what the arguments alone show to be wrong, before torch is imported. The
    parameters are those of `_train`; without turns `turn_names` is empty."""
    # Names of turns were read from the dataset, which is thereby known to be one.
    if not turn_names:
        for folder in folders:
            check_dataset(folder, benchmark)
    for name in turn_names or ("",):
        check_model_folder(out / name)
    check_device(device)
    if method.continues_model:
        from evaluator.models.registry import check_early, read_spec
        from evaluator.training.recipe import check_preset

        check_preset(method, preset)
        check_early(read_spec(model))


def _make_recipe(
    method: type[Method], options: dict[str, Any], *, model: str, preset: str | None
) -> "tuple[Method, Origin | None]":
    """The recipe of a training, and where its values come from; None if the method has no presets.

    Raises UserError for options that the model does not have.
    """
    from evaluator.training.recipe import describe_origin, from_preset

    if not method.continues_model:
        return method(**options), None
    # What the user leaves out is the preset's, so an option's default must not stand in its place.
    set_by_user = {name: value for name, value in options.items() if value is not None}
    recipe, origin = from_preset(
        method,
        set_by_user,
        preset=preset,
        is_cross_encoder=_trains_cross_encoder(method, model, set_by_user),
    )
    say(describe_origin(origin))
    return recipe, origin


def _scoring_command(recipe: Method, dataset: Sequence[str], folder: str) -> str:
    """The command that measures the model of a recipe. dataset: the arguments that name the
    questions."""
    command, *options = recipe.next_command
    return shlex.join(["score", command, *dataset, *options, "--model", f"jackalope:{folder}"])


def _turn_names(dataset: Path, benchmark: str | None) -> list[str]:
    """The turns of a dataset. Raises UserError if it has none, and for options that contradict
    --turns."""
    from generator.dataset.reader import TURN, Dataset

    if benchmark is not None and TURN not in benchmark:
        raise UserError(
            f"--turns trains on every turn; leave --benchmark {benchmark} out, or leave --turns "
            f"out."
        )
    if dataset.is_file():
        raise UserError(f"{dataset} is a corpus, which has no turns; leave --turns out.")
    return Dataset.open(dataset).turn_names(benchmark)


def _trains_cross_encoder(method: type[Method], model: str, options: dict[str, Any]) -> bool:
    """Whether a cross encoder is trained. Raises UserError for options that cross encoders do not
    have."""
    from evaluator.models.jackalope import is_cross_encoder

    if not method.trains_cross_encoders or not is_cross_encoder(model):
        return False
    if options.keys() & {"negative_loss", "positive_weight"}:
        raise UserError(
            f"'{model}' is a cross encoder, which has neither --negative-loss nor "
            f"--positive-weight; leave them out."
        )
    return True


def _scored_on(method: type[Method], datasets: Sequence[Path], benchmark: str | None) -> list[str]:
    """Arguments of `score run` that score a model on the dataset that it was trained for. The
    placeholder DATASET for a corpus, which has no questions, and for a model that learnt from every
    split.
    """
    if method.every_split or datasets[0].is_file():
        return ["DATASET"]
    arguments = [str(datasets[0])]
    if benchmark:
        arguments += ["--benchmark", benchmark]
    return arguments
