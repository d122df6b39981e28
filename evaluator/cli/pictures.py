"""The commands that visualise and probe models: `score generate`, `score embeddings`, `score
probe`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evaluator.cli.console import new_table, print_line, print_table
from evaluator.cli.options import BENCHMARK, DEVICE, JSON, NEW_FOLDER, SEED
from generator.base.commands import Bar, Command, DatasetFolder, result, say
from generator.base.errors import UserError

if TYPE_CHECKING:
    from generator.dataset.reader import Benchmark, World

_DATASET = click.argument("dataset", type=DatasetFolder())
_MODELS = click.option(
    "--model",
    "models",
    required=True,
    multiple=True,
    metavar="[NAME=]MODEL",
    help="Model, as for `score run`, and its name in the picture. Repeat for several.",
)
_SPLITS = click.option(
    "--split",
    "splits",
    multiple=True,
    metavar="NAME",
    help=(
        "Split whose captions are shown. Repeat for several.  [default: all but validation splits]"
    ),
)
_SEED = click.option("--seed", type=SEED, default=0, help="Seed of all random choices.")


@click.command(cls=Command, examples=["generate small --model diffusion:FOLDER --out drawn"])
@_DATASET
@_MODELS
@click.option(
    "--out",
    type=NEW_FOLDER,
    required=True,
    help="Folder to write: sheet.png, drawings.json and the images.",
)
@BENCHMARK
@_SPLITS
@click.option(
    "--captions",
    type=click.IntRange(min=1),
    default=2,
    help="Captions of each split, drawn by seed.",
)
@_SEED
@click.option(
    "--guidance",
    type=click.FloatRange(min=0),
    default=7.0,
    help="Scale of classifier-free guidance.",
)
@click.option(
    "--steps", type=click.IntRange(min=1), default=50, help="Steps of the model's sampler."
)
@DEVICE
@JSON
def generate(
    dataset: Path,
    out: Path,
    benchmark: str | None,
    device: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Draw images for captions of DATASET with diffusion models: one sheet, beside the true images,
    split by split.

    MODEL is a diffusion: model, or a jackalope: one of that kind. All models start from the same
    noise. The sheet also has the true image as each model gets it as a classifier. Existing images
    are not drawn again.
    """
    from evaluator.audits.generation import DrawingRequest, draw_captions
    from generator.dataset.reader import Dataset

    opened = Dataset.open(dataset)
    sheet = draw_captions(
        DrawingRequest(**options),
        opened.world,
        opened.benchmark(benchmark),
        out=out,
        device=device,
        progress=Bar(),
    )
    say(f"Captions, seeds and models are in {out / 'drawings.json'}.")
    result({"sheet": str(sheet), "out": str(out)}, as_json, str(sheet))


@click.command(
    cls=Command, examples=["embeddings small --model open_clip:ViT-B-32@openai --out map"]
)
@_DATASET
@_MODELS
@click.option(
    "--out",
    type=NEW_FOLDER,
    required=True,
    help="Folder to write: texts.svg, images.svg, embeddings.json.",
)
@BENCHMARK
@_SPLITS
@click.option(
    "--captions",
    # FEWEST of evaluator.audits.embeddings, which is too slow to import for a help text.
    type=click.IntRange(min=4),
    default=24,
    help="Maximum number of captions, drawn by seed.",
)
@click.option(
    "--images",
    type=click.IntRange(min=1),
    default=5,
    help="Maximum number of images of each caption, drawn by seed.",
)
@_SEED
@DEVICE
@JSON
def embeddings(
    dataset: Path,
    out: Path,
    benchmark: str | None,
    device: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Plot how dual encoders embed captions and images of DATASET: t-SNE of their embeddings.

    Each model has a panel. A caption whose images all belong to an earlier caption, such as the
    converse of a relation, is drawn without images.
    """
    from evaluator.audits.embeddings import RECORD, MapRequest, draw_maps
    from generator.base.files import read_json
    from generator.dataset.reader import Dataset

    opened = Dataset.open(dataset)
    maps = draw_maps(
        MapRequest(**options),
        opened.world,
        opened.benchmark(benchmark),
        out=out,
        device=device,
        progress=Bar(),
    )
    figures = [str(path) for path in maps]
    cosines = read_json(out / RECORD)["cosines"]
    lines = [*figures, *_cosine_lines(cosines)]
    result(
        {"figures": figures, "cosines": cosines, "out": str(out)},
        as_json,
        "\n".join(lines),
    )


def _cosine_lines(cosines: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    """A line for each kind of embedding and model. cosines: {kind: {model: {pairing: mean}}}."""
    lines = []
    for kind, by_model in cosines.items():
        for model, by_pairing in by_model.items():
            if not by_pairing:
                continue
            means = ", ".join(f"{pairing} {cosine:.3f}" for pairing, cosine in by_pairing.items())
            lines.append(f"Mean cosine of {kind}, {model}: {means}.")
    return lines


@click.command(cls=Command, examples=["probe small --model open_clip:ViT-B-32@openai --out probe"])
@click.argument(
    "source", metavar="RUN|DATASET", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="[NAME=]MODEL",
    help=(
        "Dual encoder, as for `score run`, and its name. Repeat for several.  [default: the model "
        "of RUN]"
    ),
)
@click.option(
    "--out", type=NEW_FOLDER, required=True, help="Folder to write: probe.json and probe.svg."
)
@BENCHMARK
@click.option(
    "--fit", default="seen", metavar="SPLIT", help="Split whose questions the probes learn from."
)
@click.option(
    "--seed", type=SEED, default=0, help="Seed that draws the alternatives of a question."
)
@DEVICE
@JSON
def probe(
    source: Path,
    models: tuple[str, ...],
    out: Path,
    benchmark: str | None,
    fit: str,
    seed: int,
    device: str | None,
    as_json: bool,
) -> None:
    """Find where composition fails: in the image encoder, the text tower or their alignment.

    RUN|DATASET is a folder of `score run`, whose questions and model are used, or a dataset.

    Linear probes on frozen embeddings of two-object scenes and of their captions predict the value
    of an object, its category, and which object has which value.
    """
    from evaluator.audits.probe.audit import ProbeRequest, probe_models

    world, questions, model_of_run = _open_source(source, benchmark)
    if model_of_run is not None:
        models = models or (model_of_run,)
    if not models:
        raise UserError(f"{source} is a dataset; name a model with --model.")
    request = ProbeRequest(models, fit, seed)
    findings = probe_models(request, world, questions, out=out, device=device, progress=Bar())
    say(f"The figure is {out / 'probe.svg'}.")
    if as_json:
        result(findings, as_json, "")
        return
    for name, findings_of_model in findings["models"].items():
        _print_probe(name, findings_of_model, fit)


def _open_source(source: Path, benchmark: str | None) -> "tuple[World, Benchmark, str | None]":
    """Open the questions to probe on.

    Args:
        source: The folder of a run or of a dataset.
        benchmark: The benchmark of a dataset; None for its only one.

    Returns:
        The world, the questions, and the spec of the run's model; None for a dataset.

    Raises:
        UserError: The run is on a published benchmark, or a benchmark is named for a run.
    """
    from evaluator.runs.folder import open_run
    from generator.dataset.reader import Dataset

    # A finished run has this file, and no dataset does.
    if not (source / "run.json").exists():
        dataset = Dataset.open(source)
        return dataset.world, dataset.benchmark(benchmark), None
    if benchmark:
        raise UserError(
            "--benchmark belongs to a dataset; a run has its own benchmark, leave --benchmark out."
        )
    run = open_run(source)
    # Probes predict values and categories, which only a recorded scene has.
    if run.world is None:
        raise UserError(
            f"{source} is a run on questions of others, whose objects are not known; give a "
            f"dataset."
        )
    return run.world, run.benchmark, str(run.record["model"])


def _print_probe(name: str, findings: dict[str, Any], fit: str) -> None:
    """Print a model's findings of a probe.

    Args:
        name: Of the model.
        findings: Its rows, three for each split and factor (image, text, aligned), its moves, two
            for each, and its geometry.
        fit: The split that the probes were fitted on.
    """
    table = new_table(
        ["split", "factor"],
        ["image", "text", "aligned", "image moves", "text moves", "questions"],
        title=name,
    )
    table.add_column("lost in")
    # Rows come in threes: the same split and factor for image, text and aligned embeddings.
    for first in findings["rows"][::3]:
        split, factor = first["split"], first["factor"]
        cells = []
        for row in findings["rows"]:
            if (row["split"], row["factor"]) == (split, factor):
                cells.append(_with_interval(row, 100, ".1f"))
        for move in findings["moves"]:
            if (move["split"], move["factor"]) == (split, factor):
                cells.append(_with_interval(move, 1, ".2f"))
        table.add_row(split, factor, *cells, f"{first['items']:,}", first["lost"] or "–")
    print_table(table)
    for place, geometry in findings["geometry"].items():
        shares = ", ".join(f"{split} {r2:.2f}" for split, r2 in geometry["r2"].items())
        ranks = geometry["ranks"]
        print_line(
            f"{place}: a sum of vectors learnt on {fit} explains R² {shares}; "
            f"{geometry['angle']:.0f}° between values and categories, of "
            f"{ranks['attribute']} and {ranks['object']} directions."
        )


def _with_interval(row: dict[str, Any], scale: float, form: str) -> str:
    """A number with its interval, both times `scale`; "–" for a number that is not known."""
    if row["value"] is None:
        return "–"
    value = f"{scale * row['value']:{form}}"
    if row["low"] is None:
        return value
    return f"{value} [{scale * row['low']:{form}}, {scale * row['high']:{form}}]"
