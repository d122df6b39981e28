"""The commands `score train`."""

import os
import shlex
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evaluator.cli.options import BENCHMARK, DEVICE, JSON, NEW_FOLDER, SEED
from generator.base.commands import Bar, Commands, DatasetFolder, result, say
from generator.base.errors import UserError
from generator.base.extras import check_installed

if TYPE_CHECKING:
    from evaluator.runs.tracking import Tracker
    from evaluator.training.presets import Origin, Preset
    from evaluator.training.recipe import Recipe
    from evaluator.training.search import Candidate
    from evaluator.training.source import Source

Command = TypeVar("Command", bound=Callable[..., Any])


class _Corpus(DatasetFolder):
    """A dataset, or the file of a corpus made elsewhere."""

    name = "dataset"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The folder, or the file."""
        if Path(value).is_file() or Path(value).suffix == ".jsonl":
            return Path(str(click.Path(exists=True, dir_okay=False).convert(value, param, ctx)))
        return super().convert(value, param, ctx)


_ANOTHER = ["DATASET"]
"""Stands for a dataset that the user has to choose."""
_NEGATIVES = "Kinds of negatives, one of which is drawn with each caption: swap, replace, flip, neg; or none."
_OPTIONS = {
    "epochs": click.option("--epochs", type=click.IntRange(min=1), help="Passes over the train split.  [default: 25]"),
    "batch": click.option("--batch", type=click.IntRange(min=2), help="Images of a step.  [default: 96]"),
    "rate": click.option("--rate", type=click.FloatRange(min=0), help="Learning rate.  [default: 0.001]"),
    "seed": click.option(
        "--seed", type=SEED, help="Seed of new weights, of the data order and of what is drawn.  [default: 0]"
    ),
    "texts": click.option(
        "--texts",
        help="Kinds of training captions to learn from, such as plain,relations,graded,synonyms.  [default: plain, and relations "
        "where they are held out]",
    ),
    "negatives": click.option("--negatives", help=f"{_NEGATIVES}  [default: swap,flip]"),
    "positives": click.option(
        "--positives", help="Kinds of positives to learn from as from captions: swap, replace, converse; or none."
    ),
    "images_per_class": click.option(
        "--images-per-class", type=click.IntRange(min=1),
        help="At most so many images of each class, drawn by seed. A class is the images with the same captions.  [default: all]",
    ),
    "precision": click.option(
        "--precision", type=click.Choice(["auto", "float32", "bfloat16"]),
        help="Of the network; losses are float32. auto: bfloat16 on GPUs and on processors that have it, else float32.  [default: auto]",
    ),
}  # fmt: skip
_FURTHER = {
    **_OPTIONS,
    "epochs": click.option("--epochs", type=click.IntRange(min=1), help="Passes over the data.  [default: the preset's]"),
    "batch": click.option("--batch", type=click.IntRange(min=2), help="Images of a step.  [default: the preset's]"),
    "rate": click.option("--rate", type=click.FloatRange(min=0), help="Learning rate of Adam.  [default: the preset's]"),
    "negatives": click.option("--negatives", help=f"{_NEGATIVES}  [default: the preset's]"),
    "negative_loss": click.option(
        "--negative-loss", type=click.Choice(["negclip", "svlc"]),
        help="negclip: negatives are more texts of the batch's softmax; svlc: each image chooses between caption and negative.  "
        "[default: the preset's]",
    ),
    "positives": click.option(
        "--positives",
        help="Kinds of positives, one of which is drawn with each caption and should score like it: swap, replace, converse; or "
        "none.  [default: the preset's]",
    ),
    "positive_weight": click.option(
        "--positive-weight", type=click.FloatRange(min=0), help="Weight of the hard-positive loss.  [default: the preset's]"
    ),
}  # fmt: skip
_NETWORK = {
    "architecture": click.option(
        "--architecture", type=click.Choice(["dual", "dual-vit"]), default="dual", help="Image tower: a ResNet, or a transformer (dual-vit)."
    ),
    "size": click.option(
        "--size", type=click.Choice(["tiny", "small"]), default="tiny",
        help="tiny is made for a CPU, small for a GPU.",
    ),
}  # fmt: skip
_KINDS = {
    **_NETWORK,
    "architecture": click.option(
        "--architecture", type=click.Choice(["dual", "dual-vit", "cross", "diffusion"]), default="dual",
        help="dual, dual-vit: embed images and texts apart, images by a ResNet or by a transformer (open_clip); cross: reads them "
        "together (ViLT); diffusion: draws images from texts (diffusers).",
    ),
}  # fmt: skip
_PRESET = click.option("--preset", help="Hyperparameters of a paper (docs/training.md).")


def _checked(ctx: click.Context, param: click.Parameter, trackers: "tuple[Tracker, ...]") -> "tuple[Tracker, ...]":
    if trackers:
        from evaluator.runs.tracking import check_tracker

        for tracker in trackers:
            check_tracker(tracker)
    return trackers


_LOG = click.option(
    "--log", "trackers", type=click.Choice(["tensorboard", "wandb"]), multiple=True, callback=_checked,
    help="Log loss, rate, gradient norm and images a second of each step: tensorboard (into OUT.tensorboard) or wandb. It needs the "
    "extra [log].",
)  # fmt: skip
_SEARCH = {
    "search": click.option(
        "--search", "searched", multiple=True, metavar="NAME=VALUES",
        help="Train a model for each value, such as rate=1e-6,1e-5, and keep the one that is best on the validation splits: id_val and "
        "ood_val, or val. NAME: rate, images-per-class, epochs (dreambooth: steps), and of finetune lora. Repeat for all combinations. The "
        "others stay in OUT.search.",
    ),
    "protocol": click.option(
        "--protocol", "protocols", multiple=True, metavar="NAME",
        help="Protocol by which --search selects. Repeat for several.  [default: all that the benchmark has]",
    ),
    "limit": click.option(
        "--limit", type=click.IntRange(min=1), help="Select by at most so many items of each protocol, drawn by their names."
    ),
}  # fmt: skip
_OUT = click.option(
    "--out", type=NEW_FOLDER, required=True, help="Folder to write. Score the model as jackalope:FOLDER."
)


def _options(named: dict[str, Any], *names: str) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for name in reversed(names):
            command = named[name](command)
        return command

    return decorate


@click.group(cls=Commands)
@click.pass_context
def train(ctx: click.Context) -> None:
    """Train models on the train split of a benchmark.

    Under accelerate launch or torchrun, several processes train one model (docs/training.md).
    """
    from evaluator.scoring.distributed import Process

    if not Process.from_environment().is_main:  # the main process says everything but why another one failed
        nowhere = ctx.with_resource(open(os.devnull, "w"))  # noqa: SIM115
        ctx.with_resource(redirect_stdout(nowhere))
        ctx.with_resource(redirect_stderr(nowhere))


@train.command()
@click.argument("dataset", type=_Corpus())
@_OUT
@BENCHMARK
@_options(
    _OPTIONS, "epochs", "batch", "rate", "seed", "texts", "negatives", "positives", "images_per_class", "precision",
)  # fmt: skip
@_options(_KINDS, "architecture", "size")
@_LOG
@DEVICE
@JSON
def scratch(
    dataset: Path, out: Path, benchmark: str | None, architecture: str, size: str, device: str | None, as_json: bool,
    trackers: "tuple[Tracker, ...]", **given: Any,
) -> None:  # fmt: skip
    """Train a new model from scratch on the train split of DATASET.

    The model sees no other data, so held-out combinations are certainly unseen. DATASET is a dataset, or a file of JSON lines
    (docs/training.md).
    """
    from evaluator.training.recipe import Recipe
    from evaluator.training.scratch import DIFFUSION, train_scratch

    recipe = _changed(Recipe(negatives="") if architecture == DIFFUSION else Recipe(), given)
    source = _source(dataset, benchmark, recipe)
    record = train_scratch(source, recipe, out, device, Bar(), architecture, size, trackers)
    _tell(record, out, _scored_on(dataset, benchmark), as_json)


@train.command()
@click.argument("datasets", nargs=-1, required=True, type=DatasetFolder())
@_OUT
@BENCHMARK
@_options(_OPTIONS, "epochs", "batch", "rate", "seed", "precision")
@_options(_NETWORK, "architecture", "size")
@_LOG
@DEVICE
@JSON
def pretrain(
    datasets: tuple[Path, ...], out: Path, benchmark: str | None, architecture: str, size: str, device: str | None, as_json: bool,
    trackers: "tuple[Tracker, ...]", **given: Any,
) -> None:  # fmt: skip
    """Train a stand-in for CLIP on all images of DATASETS.

    It learns from every split, so all bindings that they show are familiar to it. It is a bag of words by design: its captions
    are texts with the words of true ones, in any order. Its benchmarks are contaminated for it; score it on another world, or with
    --allow-contaminated.
    """
    from evaluator.training.pretrain import pretrain as run
    from evaluator.training.recipe import Recipe
    from generator.dataset.reader import Dataset

    opened = [Dataset.open(each) for each in datasets]
    benchmarks = [(each.world, each.benchmark(benchmark)) for each in opened]
    record = run(benchmarks, _changed(Recipe(), given), out, device, Bar(), architecture, size, trackers)
    _tell(record, out, _ANOTHER, as_json)


@train.command()
@click.argument("model")
@click.argument("dataset", type=_Corpus())
@_OUT
@BENCHMARK
@_PRESET
@_options(_FURTHER, "epochs", "batch", "rate", "seed", "texts", "negatives", "images_per_class")
@_options(_SEARCH, "search", "protocol", "limit")
@_LOG
@DEVICE
@JSON
def labclip(
    model: str, dataset: Path, out: Path, benchmark: str | None, preset: str | None, searched: tuple[str, ...],
    protocols: tuple[str, ...], limit: int | None, device: str | None, as_json: bool, trackers: "tuple[Tracker, ...]", **given: Any,
) -> None:  # fmt: skip
    """Align MODEL's texts with its images by a linear layer, on the train split of DATASET (LABCLIP).

    MODEL is a dual encoder of open_clip:, hf: or jackalope:, and stays as it is but for its text projection. DATASET is a dataset, or a
    file of JSON lines (docs/training.md).
    """
    from evaluator.training.labclip import train_labclip
    from evaluator.training.presets import find_preset

    chosen = find_preset(preset or "labclip-pug", "labclip")
    candidates = _candidates(searched, ("rate", "images-per-class", "epochs"), given, protocols, limit)
    recipe = _changed(chosen.recipe, given)
    origin = _origin(chosen, recipe, given, candidates)
    source = _source(dataset, benchmark, recipe)

    def train(candidate: dict[str, Any], into: Path) -> dict[str, Any]:
        return train_labclip(model, source, replace(recipe, **candidate), into, device, Bar(), trackers, origin)

    common = _common("labclip", model, recipe, source)
    record = _trained(train, candidates, out, dataset, benchmark, common, device, protocols, limit)
    _tell(record, out, _scored_on(dataset, benchmark), as_json)


@train.command()
@click.argument("model")
@click.argument("dataset", type=_Corpus())
@_OUT
@BENCHMARK
@_PRESET
@_options(
    _FURTHER, "epochs", "batch", "rate", "seed", "texts", "negatives", "negative_loss", "positives", "positive_weight",
    "images_per_class", "precision",
)  # fmt: skip
@click.option(
    "--negative-weight",
    metavar="WEIGHTS",
    help="Weight of the negatives, from 0; several such as 0,0.25,0.5,0.75,1 train one model each, in OUT/negatives-0.25 and so on.  "
    "[default: the preset's]",
)
@click.option(
    "--lora",
    metavar="RANK/ALPHA",
    help="Train low-rank changes, such as 16/32, instead of the whole model; none for the whole one.  [default: the preset's]",
)
@click.option(
    "--gradient-checkpointing", is_flag=True, help="Compute activations twice, which takes less memory and more time."
)
@_options(_SEARCH, "search", "protocol", "limit")
@_LOG
@DEVICE
@JSON
def finetune(
    model: str, dataset: Path, out: Path, benchmark: str | None, preset: str | None, negative_weight: str | None,
    lora: str | None, gradient_checkpointing: bool, searched: tuple[str, ...], protocols: tuple[str, ...],
    limit: int | None, device: str | None, as_json: bool, trackers: "tuple[Tracker, ...]", **given: Any,
) -> None:  # fmt: skip
    """Train MODEL further on the train split of DATASET: contrastive, hard negatives, hard positives.

    MODEL is a dual encoder of open_clip:, hf: or jackalope:, or a cross encoder of vilt: or jackalope:, which is trained on image–text
    matching. DATASET is a dataset, or a file of JSON lines (docs/training.md). A control without hard texts: --negatives none
    --positives none.
    """
    from evaluator.models.jackalope import is_cross_encoder
    from evaluator.training.finetune import finetune as run
    from evaluator.training.lora import parse_lora
    from evaluator.training.presets import find_preset

    matching = is_cross_encoder(model)
    if matching and (given["negative_loss"] or given["positive_weight"] is not None):
        raise UserError(
            f"'{model}' is a cross encoder, which has neither --negative-loss nor --positive-weight; leave them out."
        )
    chosen = find_preset(preset or ("pearson2025-vilt" if matching else "bindsplit2026"), "finetune", matching)
    candidates = _candidates(
        searched, ("rate", "images-per-class", "epochs", "lora"), {**given, "lora": lora}, protocols, limit
    )
    usual = lora or chosen.lora or "none"
    adapted = {
        each: None if each == "none" else parse_lora(each)
        for each in (usual, *(c["lora"] for c in candidates if "lora" in c))
    }
    if any(adapted.values()):
        check_installed("peft")
    positive_loss = "caption" if matching else "analogy"
    weights = _weights(negative_weight) or [chosen.recipe.negative_weight]
    origin = _origin(
        chosen, _changed(chosen.recipe, given), {**given, "negative_weight": negative_weight, "lora": lora}, candidates
    )
    for weight in weights:
        recipe = replace(_changed(chosen.recipe, {**given, "positive_loss": positive_loss}), negative_weight=weight)
        folder = out / f"negatives-{weight:g}" if len(weights) > 1 else out
        source = _source(dataset, benchmark, recipe)

        def train(
            candidate: dict[str, Any], into: Path, recipe: "Recipe" = recipe, source: "Source" = source
        ) -> dict[str, Any]:
            by = adapted[candidate.get("lora", usual)]
            changed = replace(recipe, **{name: value for name, value in candidate.items() if name != "lora"})
            return run(model, source, changed, into, device, by, gradient_checkpointing, Bar(), trackers, origin)

        common = _common("finetune", model, recipe, source, lora=usual)
        record = _trained(train, candidates, folder, dataset, benchmark, common, device, protocols, limit)
        _tell(record, folder, _scored_on(dataset, benchmark), as_json)


@train.command()
@click.argument("model")
@click.argument("dataset", type=_Corpus())
@_OUT
@BENCHMARK
@_PRESET
@click.option("--steps", type=click.IntRange(min=1), help="Steps of the training.  [default: the preset's]")
@click.option("--batch", type=click.IntRange(min=1), help="Images of a step.  [default: the preset's]")
@_options(_FURTHER, "rate", "seed", "texts", "images_per_class", "precision")
@click.option("--text-encoder/--no-text-encoder", default=True, help="Train the text encoder too, not the U-Net alone.")
@_options(_SEARCH, "search", "protocol", "limit")
@_LOG
@DEVICE
@JSON
def dreambooth(
    model: str, dataset: Path, out: Path, benchmark: str | None, preset: str | None, text_encoder: bool, searched: tuple[str, ...],
    protocols: tuple[str, ...], limit: int | None, device: str | None, as_json: bool, trackers: "tuple[Tracker, ...]", **given: Any,
) -> None:  # fmt: skip
    """Train the diffusion model MODEL further on images and captions of the train split of DATASET (DreamBooth).

    MODEL is a Stable Diffusion 1, 2 or XL of diffusion:, or a jackalope: one. Images are prepared as its preset says: name it as
    diffusion:MODEL@pearson2025 to train on centre crops. DATASET is a dataset, or a file of JSON lines (docs/training.md).
    """
    from evaluator.training.dreambooth import dreambooth as run
    from evaluator.training.dreambooth import preset_of
    from evaluator.training.presets import find_preset

    chosen = find_preset(preset or "pearson2025-dreambooth", "dreambooth")
    candidates = _candidates(searched, ("rate", "images-per-class", "steps"), given, protocols, limit)
    recipe = _changed(chosen.recipe, given)
    origin = _origin(chosen, recipe, {**given, "text_encoder": None if text_encoder else False}, candidates)
    source = _source(dataset, benchmark, recipe)

    def train(candidate: dict[str, Any], into: Path) -> dict[str, Any]:
        return run(model, source, replace(recipe, **candidate), into, device, text_encoder, Bar(), trackers, origin)

    common = _common("dreambooth", model, recipe, source, text_encoder=text_encoder)
    record = _trained(train, candidates, out, dataset, benchmark, common, device, protocols, limit, preset_of(model))
    _tell(record, out, _scored_on(dataset, benchmark), as_json)


def _changed(recipe: "Recipe", given: dict[str, Any]) -> "Recipe":
    """The recipe with the options that were given; `none` of kinds is the empty list."""
    changes: dict[str, Any] = {name: "" if each == "none" else each for name, each in given.items() if each is not None}
    return replace(recipe, **changes)


def _weights(given: str | None) -> list[float]:
    try:
        found = [float(each) for each in (given or "").split(",") if each.strip()]
    except ValueError:
        raise UserError(f"Expected --negative-weight to be numbers from 0 such as 0,0.5,1, got '{given}'.") from None
    return list(dict.fromkeys(found))


def _candidates(
    searched: Sequence[str], names: Sequence[str], given: dict[str, Any], protocols: Sequence[str], limit: int | None
) -> "list[Candidate]":
    """The candidates of --search. Raises UserError where an option gives what is searched too, or chooses what nothing selects by."""
    if not searched:
        if protocols or limit is not None:
            raise UserError("--protocol and --limit choose what --search selects by; leave them out, or give --search.")
        return []
    from evaluator.training.search import parse_search

    candidates = parse_search(searched, names)
    for name in candidates[0]:
        if given.get(name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise UserError(f"Expected either {option} or --search {option[2:]}=..., got both; leave {option} out.")
    return candidates


def _origin(preset: "Preset", recipe: "Recipe", given: dict[str, Any], candidates: "Sequence[Candidate]") -> "Origin":
    """Where the hyperparameters come from, which it says. given: by name, None for those that were not."""
    from evaluator.training.presets import origin_said

    searched = candidates[0] if candidates else {}
    origin = preset.origin(recipe, [name for name, each in {**given, **searched}.items() if each is not None])
    say(origin_said(origin))
    return origin


def _common(method: str, model: str, recipe: "Recipe", source: "Source", **more: Any) -> dict[str, Any]:
    """What decides all candidates of a search, JSON-ready."""
    return {"method": method, "model": model, "recipe": asdict(recipe), "data": source.record, **more}


def _trained(
    train: "Callable[[Candidate, Path], dict[str, Any]]", candidates: "Sequence[Candidate]", out: Path, dataset: Path,
    benchmark: str | None, common: dict[str, Any], device: str | None, protocols: Sequence[str], limit: int | None, preset: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Train into `out`, or the best of the candidates."""
    if not candidates:
        return train({}, out)
    if dataset.is_file():
        raise UserError(
            f"{dataset} has no validation splits, by which --search selects; give a dataset, or leave --search out."
        )
    from evaluator.runs.dataset import Dataset
    from evaluator.training.search import search

    opened = Dataset.open(dataset, benchmark, protocols)
    return search(candidates, train, out, opened, common, device, preset, Bar(), limit)


def _source(dataset: Path, benchmark: str | None, recipe: "Recipe") -> "Source":
    from evaluator.training.corpus import corpus_source
    from evaluator.training.source import benchmark_source
    from generator.dataset.reader import Dataset

    if dataset.is_file():
        if benchmark is not None:
            raise UserError(f"{dataset} is a corpus, which has no benchmarks; leave --benchmark out.")
        return corpus_source(dataset, recipe)
    opened = Dataset.open(dataset)
    return benchmark_source(opened.world, opened.benchmark(benchmark), recipe)


def _scored_on(dataset: Path, benchmark: str | None) -> list[str]:
    """The arguments by which `score run` scores a model on what it was trained on, which a corpus has no questions of."""
    if dataset.is_file():
        return _ANOTHER
    return [str(dataset), *(["--benchmark", benchmark] if benchmark else [])]


def _tell(record: dict[str, Any], out: Path, scored_on: Sequence[str], as_json: bool) -> None:
    losses: Sequence[float] = record["losses"]
    run = shlex.join(["score", "run", *scored_on, "--model", f"jackalope:{out}"])
    say(f"Loss {losses[0]:.2f} → {losses[-1]:.2f}. Next: {run}")
    result({"model": str(out), "losses": losses}, as_json, str(out))
