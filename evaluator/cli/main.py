"""The command `score`."""

from pathlib import Path

import click

from evaluator.protocols import NAMES
from generator.dataset.commands import Commands, DatasetFolder, result, say

_JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
_FOLDER = click.Path(path_type=Path, file_okay=False)
_DEVICE = click.option(
    "--device", help="Where to compute, such as cpu or cuda:1.  [default: the first GPU, else the CPU]"
)
_CHANNEL = click.option(
    "--channel",
    metavar="NAME",
    help="Which of the model's scores is measured, such as itm or itc.  [default: its first]",
)
_BENCHMARK = click.option("--benchmark", help="Name of the benchmark, where DATASET has several.")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(package_name="jackalope", prog_name="score")
def main() -> None:
    """Score vision-language models on held-out combinations, and say what the scores mean."""


@main.command("run")
@click.argument("dataset", type=DatasetFolder())
@click.option(
    "--model",
    required=True,
    help="family:name[@weights]: open_clip:ViT-B-32@openai, open_clip:ViT-B-32@FILE, jackalope:FOLDER.",
)
@_BENCHMARK
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    metavar="NAME",
    help=f"{', '.join(NAMES)}; may be given again.  [default: all the dataset has]",
)
@click.option("--out", type=_FOLDER, help="Folder of the run.  [default: runs/DATASET-BENCHMARK/MODEL]")
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    help="Images, texts or pairs at a time; halved when memory runs out.  [default: as the GPU's memory allows, else 128]",
)
@click.option(
    "--precision",
    type=click.Choice(["auto", "float32", "bfloat16"]),
    default="auto",
    help="auto: bfloat16 for the image side of dual encoders on a GPU, else float32. Similarities are always float32.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=0),
    help="Threads that read images ahead.  [default: one a processor core, at most 8]",
)
@_CHANNEL
@click.option(
    "--full-pools",
    is_flag=True,
    help="Whole pools, and raw retrieval, for a model that reads image and text together, whatever they cost.",
)
@_DEVICE
@_JSON
def run_command(
    dataset: Path, model: str, benchmark: str | None, protocols: tuple[str, ...], out: Path | None, batch_size: int | None,
    precision: str, workers: int | None, channel: str | None, full_pools: bool, device: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Score MODEL on DATASET: accuracy on seen, partial and unseen combinations.

    Under torchrun or accelerate launch each process scores its share, and the first one writes the results.
    """
    from evaluator.report.terminal import print_table
    from evaluator.run import Request, run

    request = Request(
        dataset, benchmark, model, protocols, out, batch_size, device, precision, workers, channel, full_pools
    )
    folder, results = run(request)
    if results is None:
        return
    say(f"Scores and results are in {folder}. Next: score report {folder}")
    if as_json:
        result(results, True, "")
    else:
        print_table([results])


@main.command("measure")
@click.argument("run", type=_FOLDER)
@_CHANNEL
@_JSON
def measure_command(run: Path, channel: str | None, as_json: bool) -> None:
    """Measure RUN again from its scores, without the model."""
    from evaluator.measure import measure
    from evaluator.report.terminal import print_table

    results = measure(run, channel)
    if as_json:
        result(results, True, "")
    else:
        print_table([results])


@main.command()
@click.argument("runs", type=_FOLDER, nargs=-1, required=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="HTML file to write.  [default: report.html in the first run]",
)
@_JSON
def report(runs: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Print the table of RUNS and write one self-contained HTML page with figures and examples."""
    from evaluator.report.page import write_page
    from evaluator.report.terminal import print_table

    path = out or runs[0] / "report.html"
    results = write_page(runs, path)
    if as_json:
        result({"report": str(path), "results": results}, True, "")
    else:
        print_table(results)
        click.echo(str(path))


@main.group()
def train() -> None:
    """Train models on a benchmark's train split."""


@train.command()
@click.argument("dataset", type=DatasetFolder())
@click.option("--out", type=_FOLDER, required=True, help="Folder of the trained model; score it as jackalope:FOLDER.")
@_BENCHMARK
@click.option("--epochs", type=click.IntRange(min=1), help="Passes over the train split.  [default: 25]")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, help="Seed of initial weights and of the order of training."
)
@click.option(
    "--negatives/--no-negatives", default=True, help="Put each caption's swap negative among the texts (NegCLIP)."
)
@_DEVICE
@_JSON
def scratch(
    dataset: Path,
    out: Path,
    benchmark: str | None,
    epochs: int | None,
    seed: int,
    negatives: bool,
    device: str | None,
    as_json: bool,
) -> None:
    """Train a small dual encoder from scratch on the train split of DATASET alone, so that "unseen" is certain."""
    from evaluator.training.scratch import Recipe, train_scratch
    from generator.dataset.reader import Dataset

    opened = Dataset.open(dataset)
    recipe = Recipe(seed=seed, negatives=negatives, epochs=epochs or Recipe.epochs)
    record = train_scratch(opened.world, opened.benchmark(benchmark), recipe, out, device)
    say(
        f"Loss {record['losses'][0]:.2f} → {record['losses'][-1]:.2f}. Next: score run {dataset} --model jackalope:{out}"
    )
    result({"model": str(out), "losses": record["losses"]}, as_json, str(out))


@main.command("audit")
@click.argument("dataset", type=DatasetFolder())
@_BENCHMARK
@click.option(
    "--protocol", "protocols", multiple=True, help="A protocol of the benchmark; may be given again.  [default: all]"
)
@click.option(
    "--language-model",
    metavar="ngram|NAME|FOLDER",
    default="ngram",
    help="Whose perplexity: a trigram fitted on the benchmark's own texts, or a causal model of the Hugging Face Hub.",
)
@click.option(
    "--sentence-encoder",
    metavar="NAME|FOLDER",
    help="Measure COMPASS' similarity filter: all-MiniLM-L6-v2 (of the extra [language]) or another encoder.",
)
@click.option(
    "--items", type=click.IntRange(min=1), default=5000, help="At most so many items of a kind, drawn by seed."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of items, negatives, folds and intervals.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="JSON file to write the results to.")
@_DEVICE
@_JSON
def audit_command(
    dataset: Path, benchmark: str | None, protocols: tuple[str, ...], language_model: str, sentence_encoder: str | None, items: int,
    seed: int, out: Path | None, device: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Say what a text-only model can tell about DATASET: length, perplexity and a blind test of every kind of negative."""
    from evaluator.artefacts.audit import Request, audit
    from evaluator.artefacts.table import print_audit
    from generator.dataset.files import write_json

    results = audit(Request(dataset, benchmark, protocols, language_model, sentence_encoder, items, seed, device))
    if out:
        write_json(out, results)
        say(f"The audit is in {out}.")
    if as_json:
        result(results, True, "")
    else:
        print_audit(results)


@main.command()
@_JSON
def models(as_json: bool) -> None:
    """List the families of models and how each is named."""
    from evaluator.models.registry import families

    usages = {name: family.usage for name, family in families().items()}
    result({"families": usages}, as_json, "\n".join(f"{name:12} {usage}" for name, usage in usages.items()))
