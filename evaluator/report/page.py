"""One self-contained HTML page of measured runs: the main finding, a leaderboard, figures, all
items and all rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import vl_convert

from evaluator.analysis.pooling import pool_runs
from evaluator.protocols.records import LABELS, Results, by_key
from evaluator.provenance.contamination import CLEAN, mark_of, marked, training_said, warning_of
from evaluator.report.audit_results import (
    COMPARISON,
    FAMILIARITY,
    MAPS,
    PROBES,
    Audit,
    overlap_panels,
)
from evaluator.report.figures import (
    Figure,
    by_overlap,
    by_probe,
    differences,
    embedding_maps,
    figures,
    gap,
    grid,
    numbered,
)
from evaluator.report.files import write_pooled
from evaluator.report.gallery import benchmark_items, grid_cells, wrong_unseen
from evaluator.report.overview import every_row, main_lines, side_by_side
from evaluator.report.paired import compare_two
from evaluator.report.questions import about_grid, answers_of, lines_of
from evaluator.report.table import Cell, Column, Line, Table, loads
from evaluator.report.terms import terms_of
from evaluator.report.verdict import best_entry, headline_sentences, main_line, other_verdicts
from evaluator.runs.folder import NamedRun, Run
from evaluator.runs.parts import splits_said
from evaluator.scoring.words.answers import describe_answers
from generator.base.errors import visible
from generator.base.files import write_text
from generator.base.pages import as_json, asset, page_environment
from generator.dataset.reader import Benchmark

_NO_LINKS: Mapping[str, str] = MappingProxyType({})
_FIRST_PANELS = 2
"""Panels of the figure on the first screen."""


def write_page(
    runs: Sequence[NamedRun],
    out: Path,
    more: Sequence[Figure] = (),
    unfinished: Sequence[str] = (),
    inline: bool = False,
) -> tuple[list[Results], list[Figure]]:
    """Write the page `out`, and beside it the pooled results as .csv, .md and .tex; returns the
    results of the runs and the figures.

    Runs of one model are pooled (evaluator.analysis.pooling). Measures nothing and changes no run.
    more: figures of other commands' results. unfinished: folders of unfinished runs, which the page
    lists. inline: embed images of up to 512 pixels instead of thumbnails. Raises UserError when a
    folder has no results.
    """
    results = [each.results for each in runs]
    entries = [{**each, "model": visible(each["model"])} for each in pool_runs(results)]
    named = [{**each, "model": marked(each["model"], each)} for each in entries]
    galleries, grids = _galleries(runs, named, out, inline)
    best = best_entry(named)
    paired = compare_two(named, [str(each.run.folder) for each in runs])
    of_pair = differences(paired.comparison) if paired and not _has_differences(more) else []
    made = numbered([*figures(entries), *grids, *of_pair, *more])
    own = [each.run.benchmark for each in runs if not splits_said(each.results["rules"])]
    sentences = about_splits(own, all(each["training"]["status"] == CLEAN for each in entries))
    of_runs = [(each.run, each.results) for each in runs]
    main = main_line(best)
    protocol = "" if main is None else main.first["protocol"]
    examples = (wrong_unseen(runs[place].run, protocol) for place in best["members"])
    page = render(
        named,
        made,
        galleries=galleries,
        unfinished=unfinished,
        sentences=sentences,
        runs=of_runs,
        example=next(filter(None, examples), None),
        best=best["model"],
        paired="" if paired is None else paired.sentence,
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, page)
    write_pooled(entries, out)
    return results, made


def render(
    entries: Sequence[Results],
    made: Sequence[Figure],
    links: Mapping[str, str] = _NO_LINKS,
    **more: Any,
) -> str:
    """The HTML page of pooled entries, whose model names include their marks, and of their figures.

    links: {model: its page}. more: optional `galleries`, `sentences`, `runs`, `unfinished`, `home`,
        an `example` of a wrong answer of the model `best`, and a sentence `paired` that compares
        two models.
    """
    lines = main_lines(entries)
    verdict, *following = headline_sentences(entries, more.get("paired", ""))
    best = best_entry(entries)
    # Two panels: more are too small to read at the first look, and the section of tasks has all.
    first_figures = gap(entries, main_line(best), _FIRST_PANELS)
    others = [figure for figure in made if figure.name != "gap"]
    board = side_by_side(entries, lines)
    environment = page_environment("evaluator", "report/assets")
    environment.filters |= {
        "mark_of": mark_of,
        "training_said": training_said,
        "sort_key": _sort_key,
        "question": lambda row: " ".join(str(row[name]) for name in LABELS[1:] if row[name]),
    }
    return environment.get_template("page.html.jinja").render(
        title="Does it compose, or remember?",
        verdict=verdict,
        following=following,
        other_verdicts=other_verdicts(entries),
        held_out=[
            each for each in dict.fromkeys(entry.get("held_out", "") for entry in entries) if each
        ],
        marks=list(
            dict.fromkeys(
                f"{each['model']}: {warning_of(each)}" for each in entries if warning_of(each)
            )
        ),
        first_figures=first_figures,
        terms=terms_of(line.first for line in lines),
        folded=_sections(entries, best, others, more.get("paired", "")),
        board=board,
        lines=[(line, row.cells) for line, row in zip(lines, board.lines, strict=True)],
        several=len({entry["benchmark"] for entry in entries}) > 1,
        certificates=len({entry["certificate"] for entry in entries}) > 1,
        links=links,
        entries=entries,
        tables=[_tables(entry) for entry in entries],
        answers=_answers(more.get("runs", ())),
        figures_data=as_json({figure.name: figure.spec() for figure in [*first_figures, *others]}),
        items_data=as_json(more.get("galleries", [])),
        vega=_vega(),
        script=asset("evaluator.report", "assets/page.js"),
        datatables=asset("evaluator.report", "assets/datatables.min.js"),
        **more,
    )


@cache
def _vega() -> str:
    """The JavaScript of Vega-Embed, Vega-Lite and Vega, inside a function that keeps its names
    local."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return f"(() => {{{bundle}}})();".replace("</script", r"<\/script")


DRAWN: Mapping[str, Callable[[Audit], list[Figure]]] = MappingProxyType(
    {
        COMPARISON: lambda each: differences(each.record),
        FAMILIARITY: lambda each: by_overlap(each.name, overlap_panels(each.record)),
        PROBES: lambda each: by_probe(each.record),
        MAPS: lambda each: embedding_maps(each.name, each.record),
    }
)
"""{command: the function that draws its results} (evaluator.report.audit_results)."""


def figures_of_audits(audits: Sequence[Audit]) -> list[Figure]:
    """The figures of the results of commands in DRAWN."""
    return [figure for each in audits for figure in DRAWN[each.command](each)]


def _galleries(
    runs: Sequence[NamedRun], entries: Sequence[Results], out: Path, inline: bool
) -> tuple[list[dict[str, Any]], list[Figure]]:
    """The gallery data of each benchmark (`benchmark_items`), and its grids of values and
    objects."""
    named = []
    for entry in entries:
        for i, place in enumerate(entry["members"]):
            label = (
                entry["model"] if len(entry["members"]) == 1 else f"{entry['model']}, run {i + 1}"
            )
            each = runs[place]
            key = (
                each.results["benchmark"],
                f"{each.run.benchmark.digest} {each.run.record['world']}",
            )
            named.append((key, (label, each, entry["model"])))
    of_benchmark = by_key(named)
    galleries, grids = [], []
    for (name, _), own in of_benchmark.items():
        data = benchmark_items([(label, each) for label, each, _ in own], out, inline)
        galleries.append(data)
        held_out = (own[0][1].run.benchmark.holdout or {}).get("bindings") or []
        model_of = [model for *_, model in own]
        for protocol in data["labels"]["protocol"]["names"]:
            title = protocol if len(of_benchmark) == 1 else f"{protocol}, {name}"
            grids += grid(title, grid_cells(data, model_of, held_out, protocol))
    return galleries, grids


def _answers(runs: Iterable[tuple[Run, Results]]) -> list[tuple[str, list[str], Table]]:
    """For each run in words: its model, a sentence on its answers, and a table of how often it
    chooses each label."""
    found = []
    for _, results in runs:
        if answers := results.get("answers"):
            lines = [
                Line(
                    (each["form"], f"{each['options']}", each["label"]),
                    [Cell(f"{100 * each[name]:.1f}") for name in ("chosen", "right")],
                )
                for each in answers["positions"]
            ]
            table = Table(
                ("question", "options", "label"), (Column("chosen %"), Column("right %")), lines
            )
            found.append(
                (marked(visible(results["model"]), results), describe_answers(answers)[:1], table)
            )
    return found


@dataclass(frozen=True)
class Section:
    """A folded section of the page."""

    name: str
    """Its anchor."""
    title: str
    """The question that it answers."""
    sentence: str
    """The answer, which is visible while the section is folded; "" if there is none."""
    figures: list[Figure]
    """Its figures."""
    table: Table | None = None
    """The rows of results that belong to the question; None if no row does."""


_OF_FIGURES = {
    "grid": "Which combinations are hard?",
    "differences": "Which model is better on the same questions?",
    "familiarity": "How familiar is the benchmark to a corpus?",
    "probe": "What do images and texts encode?",
    "map": "Which embeddings are close?",
}
"""{first word of the figures' names: title} of sections that no row of results belongs to."""
_SAME_SECTION = {"gaps": "split", "load": "complexity"}
"""{first word of the figures' names: the section of another name that has them}."""
_ORDER = (
    "split",
    "grid",
    "familiar",
    "errors",
    "rewording",
    "complexity",
    "differences",
    "rules",
    "familiarity",
    "probe",
    "map",
)
"""The sections in the order of the page: what explains a fall is first, unknown ones are last."""


def _sections(
    entries: Sequence[Results], best: Results, made: Sequence[Figure], paired: str = ""
) -> list[Section]:
    """The sections below the gallery: each question that rows or figures answer.

    Sections of unknown figures have the title of their first figure.

    Args:
        entries: Pooled results.
        best: The entry that the sentences are about.
        made: The figures.
        paired: The sentence that compares two models; "" if there is none.
    """
    figures_of: dict[str, list[Figure]] = {}
    for figure in made:
        word = figure.name.split("-")[0]
        figures_of.setdefault(_SAME_SECTION.get(word, word), []).append(figure)
    of_model = f"{best['model']}: " if len(entries) > 1 else ""
    sections = []
    for question, sentence, _ in answers_of(best):
        table = side_by_side(entries, lines_of(question, entries))
        # The notes are below the leaderboard, and the same for all tables.
        table = replace(table, notes=())
        about_model = f"{of_model}{sentence}" if sentence else ""
        drawings = figures_of.pop(question.name, [])
        sections.append(Section(question.name, question.title, about_model, drawings, table))
    for name, drawings in figures_of.items():
        first = drawings[0]
        sentence = first.about
        if name == "differences" and paired:
            sentence = paired
        if name == "grid":
            sentence = about_grid(_cells_of(first, best))
        title = _OF_FIGURES.get(name, first.title)
        sections.append(Section(name, title, sentence, drawings))
    return sorted(sections, key=_place)


def _place(section: Section) -> int:
    return _ORDER.index(section.name) if section.name in _ORDER else len(_ORDER)


def _cells_of(figure: Figure, entry: Results) -> Sequence[Mapping[str, Any]]:
    """The cells of a model in a figure of `grid`."""
    return figure.panels.get(entry["model"], ())


def _has_differences(made: Sequence[Figure]) -> bool:
    """Whether the user gave the result of `score compare`, which then is not computed again."""
    return any(figure.name.startswith("differences") for figure in made)


def _sort_key(cell: Cell) -> str:
    """The sort key of a cell: its unrounded number, else its text."""
    value = cell.numbers.get("value", cell.numbers.get("beta"))
    return cell.text.replace(",", "").split("–")[0] if value is None else f"{value:.9f}"


def _tables(entry: Results) -> list[Table]:
    """The tables of an entry: every row of each protocol, then the fits of each protocol."""
    protocols = dict.fromkeys(row["protocol"] for row in entry["rows"])
    made = [every_row(entry, protocol) for protocol in protocols]
    for protocol in protocols:
        if fits := [fit for fit in entry["fits"] if fit["protocol"] == protocol]:
            made.append(
                replace(
                    loads(fits), title=f"{protocol}, load of each count", mark=warning_of(entry)
                )
            )
    return made


_CLASSES = "gzsl"
"""The design of class lists, whose splits are lists of labels (docs/splits.md)."""


def about_splits(benchmarks: Sequence[Benchmark], never_shown: bool) -> list[str]:
    """Distinct sentences that explain the splits of benchmarks.

    `never_shown`: whether the models' training is known to show nothing held out. A benchmark
    without a holdout, such
    as a benchmark made from a file of scores, gets no sentence.
    """
    return list(
        dict.fromkeys(
            sentence for each in benchmarks for sentence in _about_benchmark(each, never_shown)
        )
    )


def _about_benchmark(benchmark: Benchmark, never_shown: bool) -> list[str]:
    holdout = benchmark.holdout
    if not holdout:
        return []
    lacking = (
        "that no training image or text contains"
        if never_shown
        else "that the train split holds out"
    )
    if holdout.get("design") == _CLASSES:
        splits = (
            f"Labels of id_val and id_test are labels of training; ood_val and ood_test have "
            f"labels {lacking}."
        )
        told = (
            "ZSL compares unseen labels with one another. GZSL compares them with labels of "
            "training too, so its wrong labels may be more familiar than the true one."
        )
    else:
        of = {
            "bindings of an attribute value and an object": holdout.get("bindings"),
            "relations between two objects": holdout.get("triples"),
        }
        what = " and ".join(name for name, found in of.items() if found)
        splits = (
            f"Seen, partial and unseen scenes differ in how many objects show {what} {lacking}: "
            f"none, some, all."
        )
        if not what:
            splits = "Nothing is held out: all scenes are of one split."
        equal = benchmark.manifest.get("equal_familiarity") is not False
        told = (
            "The true text and its foil are equally familiar."
            if equal
            else "The foil may be more or less familiar than the true text."
        )
    return [splits, told]
