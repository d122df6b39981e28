"""The command `score familiarity` and its output."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evaluator.cli.options import FILE, FILTERS, JSON, NEW_FOLDER
from generator.base.commands import Bar, Command, result, say
from generator.base.errors import UserError
from generator.base.extras import check_installed

if TYPE_CHECKING:
    from evaluator.audits.familiarity.corpus_files import Corpus
    from evaluator.audits.familiarity.counting import Farm, TextCounts
    from evaluator.audits.familiarity.samples import Sample
    from evaluator.benchmarks.registry import BenchmarkSource
    from evaluator.provenance.captions import Binding, Synonyms


@click.command(
    cls=Command, examples=["familiarity winoground:winoground.jsonl --reference captions.tsv"]
)
@click.argument("benchmark", metavar="BENCHMARK")
@click.option(
    "--reference",
    "references",
    type=click.Path(exists=True, path_type=Path),
    required=True,
    multiple=True,
    metavar="CORPUS",
    help="Captions to compare with: a file, or a folder of files, of COCO's JSON, JSON lines, "
    "Parquet, WebDataset (.tar) or one caption a line (.txt); or a table of counts (.csv, "
    ".parquet). `phrases` in place of `caption` are noun phrases from another extractor. Repeat "
    "for several; a file that is given twice counts once.",
)
@click.option(
    "--captions",
    type=click.Choice(["strict", "free", "differing"]),
    help='How to read captions: strict, only "the a1 o1 and the a2 o2"; free, any text by its noun '
    "phrases, without samples that have no binding; differing, as free, but only samples whose "
    "captions both have bindings, and not the same ones.  [default: strict for aro, else free]",
)
@click.option(
    "--extractor",
    default="rules",
    show_default=True,
    metavar="NAME",
    help=(
        "Extractor of the captions' noun phrases: rules, or spacy:MODEL, a pipeline of spaCy that "
        "you have installed."
    ),
)
@click.option(
    "--match",
    type=click.Choice(["lemmas", "exact"]),
    default="lemmas",
    show_default=True,
    help="How to match objects: lemmas, by their singular, as published; exact, unchanged. "
    "Attributes are matched exactly.",
)
@click.option(
    "--synonyms",
    type=FILE,
    help="Text file of synonyms: one group of words per line, separated by commas.",
)
@click.option(
    "--with-own/--without-own",
    "with_own",
    default=None,
    help="Whether to count captions of CORPUS that are true captions of BENCHMARK.  [default: not "
    "if CORPUS has half of them or more]",
)
@FILTERS
@click.option(
    "--out", type=NEW_FOLDER, default="familiarity", show_default=True, help="Folder to write."
)
@click.option(
    "--counts",
    type=NEW_FOLDER,
    help=(
        "Folder that caches the counts of corpora: each file is counted once.  [default: "
        "OUT/counts]"
    ),
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Number of counting processes.  [default: one per core]",
)
@click.option(
    "--farm",
    "farm_name",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Where to count a corpus: on this machine or on a Ray cluster.",
)
@click.option(
    "--address",
    help="Address of the Ray cluster, such as 10.0.0.1:6379 or auto.  [default: start one here]",
)
@JSON
def familiarity(
    benchmark: str,
    references: tuple[Path, ...],
    captions: str | None,
    extractor: str,
    match: str,
    synonyms: Path | None,
    with_own: bool | None,
    filters: tuple[str, ...],
    out: Path,
    counts: Path | None,
    workers: int | None,
    farm_name: str,
    address: str | None,
    as_json: bool,
) -> None:
    """Measure how many bindings (attribute and object) of BENCHMARK occur in a corpus of captions
    (BindSplit).

    BENCHMARK is a published benchmark as NAME:PATH, a table of yours as table:FILE
    (docs/external.md), or the folder of a dataset, whose binary questions are read. Images are not
    read.
    """
    from evaluator.audits.familiarity.audit import audit, without
    from evaluator.audits.familiarity.corpus_files import find_corpus
    from evaluator.audits.familiarity.counting import count_corpus, read_counts
    from evaluator.audits.familiarity.samples import read_samples
    from evaluator.provenance.captions import Reading, read_synonyms
    from generator.base.files import write_json

    # Everything that can be wrong in the arguments is read before the corpus, which may take hours
    # to count.
    source = _open_source(benchmark, filters)
    farm = _make_farm(farm_name, workers, address)
    reading = Reading(extractor, match)
    synonym_groups = None if synonyms is None else read_synonyms(synonyms, reading)
    corpus = find_corpus(references)
    samples, form, source_reading = read_samples(source, captions, reading)
    table, text_counts = count_corpus(corpus, counts or out / "counts", farm, Bar(), reading)
    own, own_share = _find_own(corpus, samples, table.parent, with_own)
    # Only the bindings that samples ask for: the table of a large corpus has millions.
    corpus_counts = read_counts(table, _bindings_to_count(samples, synonym_groups))
    reference = str(corpus)
    # Their counts are subtracted afterwards, so that the counts of the corpus stay true of its
    # files and serve other benchmarks.
    if own and not own_share["count"]:
        corpus_counts = without(corpus_counts, own, reading)
        reference += " without the captions of the benchmark"
    familiarity_audit = audit(samples, corpus_counts, text_counts, synonym_groups)
    familiarity_audit.write(out)

    summary = {
        "benchmark": str(source),
        "reference": reference,
        "captions": form,
        "extractor": extractor,
        "match": _describe_match(match, synonyms, synonym_groups),
        "reading": source_reading,
        "left_out": _left_out(corpus, text_counts),
        "own": own_share,
        **familiarity_audit.summary(),
    }
    write_json(out / "summary.json", summary)

    _say_notes(summary, describe_gaps(corpus, text_counts), out)
    result(summary, as_json, format_summary(summary))


def _open_source(benchmark: str, filters: tuple[str, ...]) -> "BenchmarkSource":
    """Find where the questions of BENCHMARK are. Raises UserError for a folder without a world."""
    from evaluator.benchmarks.registry import BenchmarkSource, external_source

    source = external_source(benchmark, None, filters)
    if source is None:
        source = BenchmarkSource(Path(benchmark), filters=filters)
    # A missing NAME: is the likeliest mistake, and would else show as a damaged dataset.
    if source.name is None and not (source.path / "world").is_dir():
        raise UserError(
            f"Expected a published benchmark as NAME:PATH or a dataset's folder, got "
            f"'{benchmark}'; write for example sugarcrepe:{benchmark}."
        )
    return source


def _make_farm(name: str, workers: int | None, address: str | None) -> "Farm":
    """Where to count. Raises UserError for an address without `--farm ray`, and for Ray if it is
    not installed."""
    from evaluator.audits.familiarity.counting import Farm

    if address and name == "local":
        raise UserError(f"--address {address} is the address of a Ray cluster; add --farm ray.")
    if name == "ray":
        check_installed("ray")
    return Farm(workers, name == "ray", address)


def _find_own(
    corpus: "Corpus", samples: Sequence["Sample"], counts: Path, with_own: bool | None
) -> tuple[list[str], dict[str, Any]]:
    """Find the benchmark's own captions in the corpus, and decide whether they count.

    A corpus that the benchmark was made from has its true captions and none of its false ones.
    Counted, they would make all true captions familiar.

    Args:
        corpus: The corpus.
        samples: The samples of the benchmark.
        counts: The folder of the corpus's counts.
        with_own: Whether they count; None to decide by how many the corpus has.

    Returns:
        The captions as the corpus has them, duplicates included; and the number of the benchmark's
        true captions, how many of them the corpus has, and whether they count.
    """
    from evaluator.audits.familiarity.audit import MANY, own_texts, true_captions
    from evaluator.provenance.captions import normalised

    captions = true_captions(samples)
    own = own_texts(corpus, captions, counts, Bar())
    n_held = len({normalised(text) for text in own})
    # With half of the captions or more, the benchmark was made from this corpus; a few in common
    # are chance.
    if with_own is None:
        with_own = n_held < MANY * len(captions)
    return own, {"captions": len(captions), "held": n_held, "count": with_own}


def _bindings_to_count(samples: Sequence["Sample"], synonyms: "Synonyms | None") -> "set[Binding]":
    """The bindings of the samples' captions, and with synonyms all bindings that match them."""
    bindings: set[Binding] = set()
    for sample in samples:
        bindings.update(sample.positive, sample.negative)
    if synonyms is None:
        return bindings
    matching: set[Binding] = set()
    for binding in bindings:
        matching.update(synonyms.alike(binding))
    return matching


def _describe_match(match: str, file: Path | None, synonyms: "Synonyms | None") -> str:
    """How objects were matched: the value of --match, and the file of synonyms."""
    if synonyms is None:
        return match
    return f"{match} and synonyms ({file}, {synonyms.groups:,} groups)"


def _left_out(corpus: "Corpus", text_counts: "TextCounts") -> dict[str, Any]:
    """What of a corpus was not counted, by reason."""
    return {
        "entries": text_counts.left_out,
        "not_read": corpus.not_read,
        "repeated": corpus.repeated,
    }


def _say_notes(summary: dict[str, Any], gaps: Sequence[str], out: Path) -> None:
    """Say how the benchmark was read, what the corpus lacks, what the benchmark's own captions in
    it do, and where the files are."""
    from evaluator.benchmarks.reading import describe_reading

    for line in (*describe_reading(summary["reading"]), *gaps):
        say(line)
    if summary["own"]["held"]:
        say(_describe_own(summary["own"]))
    say(f"The partitions are in {out}.")


def _describe_own(own_share: dict[str, Any]) -> str:
    """A sentence on how many of the benchmark's true captions the corpus has, and whether they
    count."""
    if own_share["count"]:
        effect = "count (--without-own leaves them out)"
    else:
        effect = "are left out (--with-own counts them)"
    return (
        f"The corpus has {own_share['held']:,} of the {own_share['captions']:,} true captions of "
        f"the benchmark; they {effect}."
    )


def format_summary(summary: dict[str, Any]) -> str:
    """Write the figures of an audit as text.

    Args:
        summary: The contents of summary.json.

    Returns:
        Lines for a terminal: the corpus, tables of samples and bindings, and the asymmetry.
    """
    lines = [
        *_sample_lines(summary),
        "",
        "samples            all seen  all unseen",
    ]
    for name in ("strict", "loose"):
        rates = summary["rates"][name]
        lines.append(f"{name:<18} {_percent(rates['seen']):>8}  {_percent(rates['unseen']):>10}")
    lines += [
        "",
        "bindings of         perfect     close      none",
        *_share_lines(summary["bindings"], ""),
        *_share_lines(summary["bindings_mixed"], ", mixed"),
        "",
    ]
    if summary["asymmetry"]["value"] is None:
        lines.append("No sample is left, so there is no asymmetry.")
        return "\n".join(lines)
    lines.append(
        f"Perfect matches among bindings: {_points(summary['asymmetry'])} more in true captions "
        f"than in false ones "
        "(mean over samples, 95% interval over images or other clusters)."
    )
    for slot, asymmetry in summary["asymmetry_of"].items():
        lines.append(f"  true captions {slot}: {_points(asymmetry)}")
    if summary["duplicates"]:
        lines.append(
            f"{summary['duplicates']:,} samples repeat the image and both captions of another; "
            f"they count as published."
        )
    return "\n".join(lines)


def _sample_lines(summary: dict[str, Any]) -> list[str]:
    """Lines on the comparison, the corpus, and the samples of each bucket and partition."""
    corpus = summary["corpus"]
    n_samples = sum(summary["buckets"].values())
    bare_share = corpus["bare"] / corpus["phrases"] if corpus["phrases"] else None
    lines = [
        f"{summary['benchmark']} against {summary['reference']}: {n_samples:,} of "
        f"{summary['samples']:,} samples, captions read as {summary['captions']}, phrases by "
        f"{summary['extractor']}, match by {summary['match']}."
    ]
    for reason, n in summary["excluded"].items():
        lines.append(f"  excluded: {n:,}, {reason}")
    lines += [
        f"Corpus: {corpus['captions']:,} captions, {corpus['phrases']:,} phrases "
        f"({_percent(bare_share)} bare "
        f"nouns, which show no binding), {corpus['bindings']:,} different bindings "
        f"({corpus['function_words']:,} with a function word).",
        "",
        "bucket              samples",
    ]
    for name, n in summary["buckets"].items():
        lines.append(f"{name:<18} {n:>8,}")
    partitions = ", ".join(f"{name} {n:,}" for name, n in summary["partitions"].items())
    lines.append(f"Without samples that have only close matches: {partitions}.")
    for name, n in summary["partitions"].items():
        if n_samples and not n:
            lines.append(f"No sample is {name}: that partition has no mean.")
    return lines


def describe_gaps(corpus: "Corpus", text_counts: "TextCounts") -> list[str]:
    """Describe the parts of a corpus that its numbers lack.

    Args:
        corpus: The corpus, with the files that were not read.
        text_counts: What was counted, with the entries that were left out.

    Returns:
        Lines on entries, files and tables of counts; [] if the numbers lack nothing.
    """
    from evaluator.audits.familiarity.corpus_files import by_number

    lines = []
    for label, number_by_kind in (
        ("Entries of the corpus left out", text_counts.left_out),
        ("Not read", corpus.not_read),
        ("Not read, since a file beside them has the same captions", corpus.repeated),
    ):
        if number_by_kind:
            lines.append(f"{label}: {by_number(number_by_kind)}.")
    if text_counts.tables:
        lines.append(
            f"Tables of counts: {text_counts.tables:,}; the numbers of captions and phrases do not "
            f"include their captions."
        )
    return lines


def _share_lines(shares: dict[str, Any], subset: str) -> list[str]:
    """Lines of the table of labels. `subset` ends the name of each side, such as ", mixed"."""
    lines = []
    for side, share in shares.items():
        cells = [f"{_percent(share[label]):>8}" for label in ("perfect", "close", "none")]
        lines.append(f"{side + subset:<18} {'  '.join(cells)}")
    return lines


def _points(asymmetry: dict[str, Any]) -> str:
    """An asymmetry in percentage points, with its interval if it has one; "–" without samples."""
    from evaluator.metrics.formats import DASH, number

    if asymmetry["value"] is None:
        return DASH
    text = f"{number(asymmetry['value'], 'difference')} points"
    if asymmetry["low"] is None:
        return text
    low, high = number(asymmetry["low"], "difference"), number(asymmetry["high"], "difference")
    return f"{text} [{low}, {high}]"


def _percent(share: float | None) -> str:
    from evaluator.metrics.formats import DASH, number

    return DASH if share is None else f"{number(share, 'share')}%"
