"""The command `score audit` and the tables that it prints."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from evaluator.cli.console import new_table, print_line, print_table
from evaluator.cli.options import BENCHMARK, DEVICE, JSON, NEW_FILE, SEED
from generator.base.commands import Bar, Command, DatasetFolder, result, say
from generator.base.errors import UserError

if TYPE_CHECKING:
    from rich.table import Table

# Its ten columns need more than the 80 that a pipe is taken to have.
_WIDTH = 140  # columns, if stdout is not a terminal


@click.command(cls=Command, examples=["audit small --protocol binary"])
@click.argument("dataset", type=DatasetFolder())
@BENCHMARK
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    help=(
        "Protocol to audit, or train for training texts. Repeat for several.  [default: all but "
        "train]"
    ),
)
@click.option(
    "--language-model",
    metavar="ngram|NAME|FOLDER",
    default="ngram",
    help="Language model for perplexity: ngram, a trigram model fitted on the benchmark's own "
    "texts, or a causal language model of the Hugging Face Hub.",
)
@click.option(
    "--sentence-encoder",
    metavar="NAME|FOLDER",
    help="Also measure COMPASS' similarity filter with this encoder, such as all-MiniLM-L6-v2 (of "
    "the extra [language]).",
)
@click.option(
    "--similar",
    type=NEW_FILE,
    help="File for the ids of the items that the filter would drop, for gen describe --without; "
    "needs --sentence-encoder.",
)
@click.option(
    "--items",
    type=click.IntRange(min=1),
    default=5000,
    help="Maximum number of items of each kind; larger kinds are sampled by seed.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Only the blind test, with one learner, on 1,000 items of each kind that has 300 or more. "
    "Writes floor.json into the benchmark: certificate, card and tables then declare what texts "
    "alone reveal. gen describe does it too.",
)
@click.option("--seed", type=SEED, default=0, help="Seed of items, negatives, folds and intervals.")
@click.option("--out", type=NEW_FILE, help="JSON file to write the results to.")
@DEVICE
@JSON
@click.pass_context
def audit(
    context: click.Context,
    similar: Path | None,
    out: Path | None,
    quick: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Test how well a text-only model can answer the items of DATASET: by length, by perplexity and
    with a classifier.

    Prints one row for each kind of negative.
    """
    from evaluator.audits.audit import AuditRequest, list_similar
    from evaluator.audits.audit import audit as compute
    from generator.base.files import write_json, write_text
    from generator.dataset.reader import Dataset

    if quick:
        # Typed options, not values: an option that is typed with its default value would be ignored
        # silently too.
        others = sorted(_typed_options(context) - _OPTIONS_OF_QUICK)
        if others:
            raise UserError(
                f"--quick takes only --benchmark, --seed and --json, got {', '.join(others)}; "
                f"leave them out."
            )
        _audit_quickly(options["dataset"], options["benchmark"], options["seed"], as_json)
        return
    request = AuditRequest(**options)
    if similar and request.sentence_encoder is None:
        raise UserError(
            "--similar needs the encoder that measures similarity; add --sentence-encoder "
            "all-MiniLM-L6-v2."
        )
    results = compute(request, Bar())
    if out:
        write_json(out, results)
        say(f"The audit is in {out}.")
    if similar and request.sentence_encoder:
        # The filter needs all items, where the audit drew a sample of each kind.
        benchmark = Dataset.open(request.dataset).benchmark(request.benchmark)
        ids = list_similar(
            benchmark,
            request.protocols,
            encoder=request.sentence_encoder,
            device=request.device,
        )
        write_text(similar, "".join(f"{item}\n" for item in ids))
        say(
            f"{len(ids):,} items have a negative that is too similar; {similar} lists them for gen "
            f"describe --without."
        )
    if as_json:
        result(results, True, "")
    else:
        print_audit(results)


_OPTIONS_OF_QUICK = {"--benchmark", "--seed", "--json", "--quick"}
"""The options that `--quick` allows beside it."""


def _typed_options(context: click.Context) -> set[str]:
    """The options on the command line, without those that keep their defaults."""
    typed = set()
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if isinstance(parameter, click.Option) and source is ParameterSource.COMMANDLINE:
            typed.add(parameter.opts[0])
    return typed


def _audit_quickly(root: Path, name: str | None, seed: int, as_json: bool) -> None:
    """Run only the blind test, store it in the benchmark, and print the kinds above chance."""
    from evaluator.audits.floor import FEWEST_ITEMS, find_floor
    from generator.dataset.floor import declared_floor, write_floor
    from generator.dataset.reader import Dataset
    from generator.dataset.writer import write_index

    benchmark = Dataset.open(root).benchmark(name)
    kinds = find_floor(benchmark, seed=seed, progress=Bar())
    write_floor(benchmark.folder, benchmark.digest, kinds)
    write_index(root)  # the card declares what the texts reveal
    declared = declared_floor(benchmark.folder, benchmark.digest)
    lines = declared or [
        f"no kind is above chance, of {len(kinds)} with at least {FEWEST_ITEMS} items"
    ]
    text = "\n".join(f"{benchmark.name}: {line}" for line in lines)
    result({"benchmark": benchmark.name, "kinds": kinds, "declared": declared}, as_json, text)


def print_audit(results: dict[str, Any]) -> None:
    """Print an audit to stdout: a row for each kind, the give-aways of hackable kinds, and the
    closing sentence.

    Args:
        results: The results of evaluator.audits.audit.
    """
    print_line(f"{results['benchmark']}: what a text-only model can tell", "bold")
    print_table(_kinds_table(results), _WIDTH)
    if results["levels"]:
        print_line("By level, each caption with the hardest of all its negatives", "bold")
        print_table(_levels_table(results), _WIDTH)
    for kind in results["kinds"]:
        if kind["name"] in results["hackable"]:
            _print_give_aways(kind)
    print_line(
        "r: rank-biserial correlation, above 0 where the truth is shorter, or has lower perplexity "
        "(ppl). Blind: a "
        "classifier chooses between a true and a false text; chance 50, intervals by group.",
        "dim",
    )
    print_line(results["sentence"])


def _kinds_table(results: dict[str, Any]) -> "Table":
    """A row for each kind of negative: how far length, perplexity and the blind test go."""
    from evaluator.audits.audit import CLEAN, HACKABLE, TOO_FEW
    from evaluator.metrics.formats import number

    verdicts = {HACKABLE: HACKABLE, CLEAN: "–", TOO_FEW: "few groups"}
    # The column is there only if an encoder measured similarity: an empty column would suggest that
    # no negative is similar.
    filtered = results["sentence_encoder"] is not None
    numbers = [
        "items",
        "groups",
        "r words",
        "r ppl",
        "overlap %",
    ]
    if filtered:
        numbers.append("similar %")
    table = new_table(["kind"], [*numbers, "blind %", "95% interval"], folds=True)
    table.add_column("verdict")
    for kind in results["kinds"]:
        similar = [number(kind["similarity"]["above"], "share")] if filtered else []
        table.add_row(
            kind["name"],
            f"{kind['sampled']:,}",
            f"{kind['clusters']:,}",
            _r(kind["length"]["words"]["r"]),
            _r(kind["perplexity"]["r"]),
            number(kind["difference"]["jaccard"], "share"),
            *similar,
            number(kind["blind"]["value"], "share"),
            _interval(kind["blind"]),
            verdicts[kind["blind"]["verdict"]],
        )
    return table


def _levels_table(results: dict[str, Any]) -> "Table":
    """A row for each kind, skill and level: length and perplexity of the hardest negatives."""
    table = new_table(
        ["kind", "skill", "level"], ["items", "groups", "negatives", "r words", "r ppl"], folds=True
    )
    table.add_column("effect")
    for row in results["levels"]:
        table.add_row(
            f"{row['protocol']}/{row['kind']}",
            row["skill"] or "",
            row["level"],
            f"{row['sampled']:,}",
            f"{row['clusters']:,}",
            f"{row['negatives_an_item']:.1f}",
            _r(row["length"]["words"]["r"]),
            _r(row["perplexity"]["r"]),
            row["perplexity"]["size"] or "–",
        )
    return table


def _print_give_aways(kind: dict[str, Any]) -> None:
    """Print the words that tell the true captions of a kind from its negatives, three at most."""
    features = []
    # The JSON has ten; three are enough to see what kind of hint it is.
    for give_away in kind["blind"]["give_aways"][:3]:
        in_truth = give_away["in_truth"]
        side = "truth" if in_truth >= 0.5 else "negative"
        # A feature that true texts lack gives them away as much as one that they have.
        share = max(in_truth, 1 - in_truth)
        features.append(
            f"'{give_away['feature']}' (more in the {side} in {share:.0%} of "
            f"{give_away['pairs']:,} pairs)"
        )
    by_features = f" by {'; '.join(features)}" if features else ""
    print_line(f"{kind['name']} is given away{by_features}")
    for pair in kind["blind"]["examples"]:
        print_line(f"  true: {pair['true']}\n  false: {pair['false']}")


def _r(value: float | None) -> str:
    """A correlation with its sign."""
    return "–" if value is None else f"{value:+.2f}"


def _interval(row: dict[str, Any]) -> str:
    """An interval of shares in percent; "–" without one, as for a single group."""
    from evaluator.metrics.formats import DASH, number

    if row["low"] is None:
        return DASH
    return f"{number(row['low'], 'share')} – {number(row['high'], 'share')}"
