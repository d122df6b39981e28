"""The command `score audit`."""

from pathlib import Path

import click

from evaluator.cli.options import BENCHMARK, DEVICE, JSON, NEW_FILE, SEED
from generator.dataset.commands import Bar, DatasetFolder, result, say


@click.command()
@click.argument("dataset", type=DatasetFolder())
@BENCHMARK
@click.option("--protocol", "protocols", multiple=True, help="Protocol to audit. Repeat for several.  [default: all]")
@click.option(
    "--language-model",
    metavar="ngram|NAME|FOLDER",
    default="ngram",
    help="Model whose perplexity to compare: ngram, a trigram model fitted on the benchmark's own texts, or a causal language "
    "model of the Hugging Face Hub.",
)
@click.option(
    "--sentence-encoder",
    metavar="NAME|FOLDER",
    help="Also measure COMPASS' similarity filter with this encoder, such as all-MiniLM-L6-v2 (of the extra [language]).",
)
@click.option(
    "--items",
    type=click.IntRange(min=1),
    default=5000,
    help="Largest number of items of each kind; more are sampled by seed.",
)
@click.option("--seed", type=SEED, default=0, help="Seed of items, negatives, folds and intervals.")
@click.option("--out", type=NEW_FILE, help="JSON file to write the results to.")
@DEVICE
@JSON
def audit(
    dataset: Path, benchmark: str | None, protocols: tuple[str, ...], language_model: str, sentence_encoder: str | None, items: int,
    seed: int, out: Path | None, device: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Test how well a text-only model can answer the items of DATASET: by length, by perplexity and with a classifier.

    Prints one row for each kind of negative.
    """
    from evaluator.artefacts.audit import Request
    from evaluator.artefacts.audit import audit as compute
    from evaluator.cli.audit_table import print_audit
    from generator.dataset.files import write_json

    results = compute(
        Request(dataset, benchmark, protocols, language_model, sentence_encoder, items, seed, device), Bar()
    )
    if out:
        write_json(out, results)
        say(f"The audit is in {out}.")
    if as_json:
        result(results, True, "")
    else:
        print_audit(results)
