"""The command `score familiarity` and its output."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evaluator.cli.options import FILE, FILTERS, JSON, NEW_FOLDER
from generator.base.commands import Bar, Command, result, say
from generator.base.errors import UserError
from generator.base.extras import check_installed

if TYPE_CHECKING:
    from evaluator.audits.familiarity.corpus_files import Corpus
    from evaluator.audits.familiarity.counting import TextCounts


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
    from evaluator.audits.familiarity.audit import MANY, audit, own_texts, true_captions, without
    from evaluator.audits.familiarity.corpus_files import find_corpus
    from evaluator.audits.familiarity.counting import Farm, count_corpus, read_counts
    from evaluator.audits.familiarity.samples import read_samples
    from evaluator.benchmarks.reading import describe_reading
    from evaluator.benchmarks.registry import BenchmarkSource, external_source
    from evaluator.provenance.captions import Reading, normalised, read_synonyms
    from generator.base.files import write_json

    source = external_source(benchmark, None, filters) or BenchmarkSource(
        Path(benchmark), filters=filters
    )
    if source.name is None and not (source.path / "world").is_dir():
        raise UserError(
            f"Expected a published benchmark as NAME:PATH or a dataset's folder, got "
            f"'{benchmark}'; write for example sugarcrepe:{benchmark}."
        )
    if address and farm_name == "local":
        raise UserError(f"--address {address} is the address of a Ray cluster; add --farm ray.")
    if farm_name == "ray":
        check_installed("ray")
    farm = Farm(workers, farm_name == "ray", address)
    reading = Reading(extractor, match)
    alike = None if synonyms is None else read_synonyms(synonyms, reading)
    corpus = find_corpus(references)
    samples, form, as_read = read_samples(source, captions, reading)
    table, counted = count_corpus(corpus, counts or out / "counts", farm, Bar(), reading)
    true = true_captions(samples)
    own = own_texts(corpus, true, table.parent, Bar())
    held = len({normalised(text) for text in own})
    if with_own is None:
        with_own = held < MANY * len(true)
    bindings = {binding for sample in samples for binding in (*sample.positive, *sample.negative)}
    if alike is not None:
        bindings = {other for binding in bindings for other in alike.alike(binding)}
    counts_in_corpus = read_counts(table, bindings)
    familiarity_audit = audit(
        samples,
        counts_in_corpus if with_own else without(counts_in_corpus, own, reading),
        counted,
        alike,
    )
    familiarity_audit.write(out)
    named = (
        match if alike is None else f"{match} and synonyms ({synonyms}, {alike.groups:,} groups)"
    )
    about = {
        "benchmark": str(source),
        "reference": (
            f"{corpus}{'' if with_own or not own else ' without the captions of the benchmark'}"
        ),
        "captions": form,
        "extractor": extractor,
        "match": named,
    }
    left_out = {
        "entries": counted.left_out,
        "not_read": corpus.not_read,
        "repeated": corpus.repeated,
    }
    of_own = {"captions": len(true), "held": held, "count": with_own}
    summary = {
        **about,
        "reading": as_read,
        "left_out": left_out,
        "own": of_own,
        **familiarity_audit.summary(),
    }
    write_json(out / "summary.json", summary)
    for line in describe_reading(as_read):
        say(line)
    for line in corpus_said(corpus, counted):
        say(line)
    if held:
        way = (
            "count (--without-own leaves them out)"
            if with_own
            else "are left out (--with-own counts them)"
        )
        say(
            f"The corpus has {held:,} of the {len(true):,} true captions of the benchmark; they "
            f"{way}."
        )
    say(f"The partitions are in {out}.")
    result(summary, as_json, said(summary))


def said(summary: dict[str, Any]) -> str:
    """The figures of an audit as text."""
    corpus, rates = summary["corpus"], summary["rates"]
    inside = sum(summary["buckets"].values())
    lines = [
        f"{summary['benchmark']} against {summary['reference']}: {inside:,} of "
        f"{summary['samples']:,} samples, captions read as {summary['captions']}, phrases by "
        f"{summary['extractor']}, match by {summary['match']}.",
        *(f"  excluded: {n:,}, {reason}" for reason, n in summary["excluded"].items()),
        f"Corpus: {corpus['captions']:,} captions, {corpus['phrases']:,} phrases "
        f"({_percent(corpus['bare'] / corpus['phrases'] if corpus['phrases'] else None)} bare "
        f"nouns, which show no binding), {corpus['bindings']:,} different bindings "
        f"({corpus['function_words']:,} with a function word).",
        "",
        "bucket              samples",
        *(f"{name:<18} {n:>8,}" for name, n in summary["buckets"].items()),
        f"Without samples that have only close matches: "
        f"{', '.join(f'{name} {n:,}' for name, n in summary['partitions'].items())}.",
        *(
            f"No sample is {name}: that partition has no mean."
            for name, n in summary["partitions"].items()
            if not n and inside
        ),
        "",
        "samples            all seen  all unseen",
        *(
            f"{name:<18} {_percent(rates[name]['seen']):>8}  {_percent(rates[name]['unseen']):>10}"
            for name in ("strict", "loose")
        ),
        "",
        "bindings of         perfect     close      none",
        *_sides(summary["bindings"], ""),
        *_sides(summary["bindings_mixed"], ", mixed"),
        "",
    ]
    if summary["asymmetry"]["value"] is None:
        return "\n".join([*lines, "No sample is left, so there is no asymmetry."])
    lines.append(
        f"Perfect matches among bindings: {_points(summary['asymmetry'])} more in true captions "
        f"than in false ones "
        "(mean over samples, 95% interval over images or other clusters)."
    )
    lines.extend(
        f"  true captions {slot}: {_points(each)}" for slot, each in summary["asymmetry_of"].items()
    )
    if summary["duplicates"]:
        lines.append(
            f"{summary['duplicates']:,} samples repeat the image and both captions of another; "
            f"they count as published."
        )
    return "\n".join(lines)


def corpus_said(corpus: "Corpus", counted: "TextCounts") -> list[str]:
    """Lines on the parts of a corpus that its numbers lack: entries, files, sources of tables; []
    if they lack none."""
    from evaluator.audits.familiarity.corpus_files import by_number

    lines = [
        f"{what}: {by_number(numbers)}."
        for what, numbers in (
            ("Entries of the corpus left out", counted.left_out),
            ("Not read", corpus.not_read),
            ("Not read, since a file beside them has the same captions", corpus.repeated),
        )
        if numbers
    ]
    if counted.tables:
        lines.append(
            f"Tables of counts: {counted.tables:,}; the numbers of captions and phrases do not "
            f"include their captions."
        )
    return lines


def _sides(shares: dict[str, Any], of: str) -> list[str]:
    return [
        f"{side + of:<18} {_percent(share['perfect']):>8}  {_percent(share['close']):>8}  "
        f"{_percent(share['none']):>8}"
        for side, share in shares.items()
    ]


def _points(asymmetry: dict[str, Any]) -> str:
    value, low, high = (
        None if asymmetry[name] is None else f"{100 * asymmetry[name]:+z.1f}"
        for name in ("value", "low", "high")
    )
    return f"{value} points" + ("" if low is None else f" [{low}, {high}]")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}%"
