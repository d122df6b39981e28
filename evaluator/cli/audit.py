"""The command `score audit`."""

from pathlib import Path

import click

from evaluator.cli.options import BENCHMARK, DEVICE, JSON, NEW_FILE, SEED
from generator.base.commands import Bar, DatasetFolder, result, say
from generator.base.errors import UserError


@click.command()
@click.argument("dataset", type=DatasetFolder())
@BENCHMARK
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    help="Protocol to audit, or train for training texts. Repeat for several.  [default: all but train]",
)
@click.option(
    "--language-model",
    metavar="ngram|NAME|FOLDER",
    default="ngram",
    help="Model whose perplexity to compare: ngram, a trigram model fitted on the benchmark's own texts, or a causal "
    "language "
    "model of the Hugging Face Hub.",
)
@click.option(
    "--sentence-encoder",
    metavar="NAME|FOLDER",
    help="Also measure COMPASS' similarity filter with this encoder, such as all-MiniLM-L6-v2 (of the extra "
    "[language]).",
)
@click.option(
    "--similar",
    type=NEW_FILE,
    help="File to write the ids of all items to that the filter would drop, for gen describe --without; with "
    "--sentence-encoder.",
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
    dataset: Path,
    benchmark: str | None,
    protocols: tuple[str, ...],
    language_model: str,
    sentence_encoder: str | None,
    similar: Path | None,
    items: int,
    seed: int,
    out: Path | None,
    device: str | None,
    as_json: bool,
) -> None:
    """Test how well a text-only model can answer the items of DATASET: by length, by perplexity and with a classifier.

    Prints one row for each kind of negative.
    """
    from evaluator.audits.audit import Request, list_similar
    from evaluator.audits.audit import audit as compute
    from evaluator.cli.audit_table import print_audit
    from generator.base.files import write_json, write_text
    from generator.dataset.reader import Dataset

    if similar and sentence_encoder is None:
        raise UserError(
            "--similar needs the encoder that measures similarity; add --sentence-encoder all-MiniLM-L6-v2."
        )
    results = compute(
        Request(dataset, benchmark, protocols, language_model, sentence_encoder, items, seed, device), Bar()
    )
    if out:
        write_json(out, results)
        say(f"The audit is in {out}.")
    if similar and sentence_encoder:
        ids = list_similar(Dataset.open(dataset).benchmark(benchmark), protocols, sentence_encoder, device)
        write_text(similar, "".join(f"{item}\n" for item in ids))
        say(f"{len(ids):,} items have a negative that is too similar; {similar} lists them for gen describe --without.")
    if as_json:
        result(results, True, "")
    else:
        print_audit(results)
