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
from evaluator.metrics.formats import number
from evaluator.protocols.records import LABELS, Results, by_key
from evaluator.provenance.contamination import CLEAN, describe_training, mark_of, marked, warning_of
from evaluator.report.audit_figures import (
    by_overlap,
    by_probe,
    differences,
    embedding_maps,
    grid,
)
from evaluator.report.audit_results import (
    COMPARISON,
    FAMILIARITY,
    MAPS,
    PROBES,
    Audit,
    overlap_panels,
)
from evaluator.report.figure import Figure, number_names
from evaluator.report.figures import figures, gap
from evaluator.report.files import write_pooled
from evaluator.report.gallery import benchmark_items, grid_cells, wrong_unseen
from evaluator.report.overview import every_row, main_lines, side_by_side
from evaluator.report.paired import compare_two
from evaluator.report.questions import about_grid, answers_of, lines_of
from evaluator.report.table import Cell, Column, Line, Table, loads
from evaluator.report.terms import terms_of
from evaluator.report.verdict import best_entry, headline_sentences, main_line, other_verdicts
from evaluator.runs.folder import NamedRun, Run
from evaluator.runs.parts import describe_splits
from evaluator.scoring.words.answers import describe_answers
from generator.base.errors import visible
from generator.base.files import write_text
from generator.base.pages import as_json, asset, page_environment
from generator.dataset.own_frames import other_triples, own_frames_of
from generator.dataset.reader import Benchmark

_NO_LINKS: Mapping[str, str] = MappingProxyType({})
_TITLE = "Does it compose, or remember?"
"""The title of every page; its verdict is the answer."""
_FIRST_PANELS = 2
"""Panels of the figure on the first screen: more are too small to read at the first look, and the
section of tasks has all."""


def write_page(
    runs: Sequence[NamedRun],
    out: Path,
    *,
    more: Sequence[Figure] = (),
    unfinished: Sequence[str] = (),
    inline: bool = False,
) -> tuple[list[Results], list[Figure]]:
    """Write a page, and beside it the pooled results as .csv, .md and .tex.

    Runs of one model are pooled (evaluator.analysis.pooling). Measures nothing and changes no run.

    Args:
        runs: The runs.
        out: The file of the page.
        more: Figures of other commands' results.
        unfinished: Folders of unfinished runs, which the page lists.
        inline: Whether to embed images of up to 512 pixels instead of thumbnails.

    Returns:
        The results of the runs, and the figures of the page.

    Raises:
        UserError: A folder has no results.
    """
    results = [run.results for run in runs]
    # Names of models come from users, so control characters are escaped.
    entries = [{**entry, "model": visible(entry["model"])} for entry in pool_runs(results)]
    named = [{**entry, "model": marked(entry["model"], entry)} for entry in entries]
    galleries, grids = _galleries(runs, named, out=out, inline=inline)
    best = best_entry(named)

    # A result of `score compare` that the user gave is not computed again.
    paired = compare_two(named, [str(run.run.folder) for run in runs])
    has_differences = any(figure.name.startswith("differences") for figure in more)
    paired_figures = differences(paired.comparison) if paired and not has_differences else []
    drawings = number_names([*figures(entries), *grids, *paired_figures, *more])

    # Splits by familiarity with a corpus explain themselves in the notes.
    benchmarks = [run.run.benchmark for run in runs if not describe_splits(run.results["rules"])]
    is_clean = all(entry["training"]["status"] == CLEAN for entry in entries)
    page = render(
        named,
        drawings,
        galleries=galleries,
        unfinished=unfinished,
        sentences=about_splits(benchmarks, is_clean),
        runs=[(run.run, run.results) for run in runs],
        example=_example(runs, best),
        paired="" if paired is None else paired.sentence,
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, page)
    write_pooled(entries, out)
    return results, drawings


def _example(runs: Sequence[NamedRun], best: Results) -> dict[str, str] | None:
    """An answer of the best model that is wrong on an unseen combination; None without one."""
    line = main_line(best)
    protocol = "" if line is None else line.first["protocol"]
    for place in best["members"]:
        example = wrong_unseen(runs[place].run, protocol)
        if example is not None:
            return example
    return None


def render(
    entries: Sequence[Results],
    drawings: Sequence[Figure],
    links: Mapping[str, str] = _NO_LINKS,
    *,
    galleries: Sequence[Mapping[str, Any]] = (),
    sentences: Sequence[str] = (),
    runs: Sequence[tuple[Run, Results]] = (),
    unfinished: Sequence[str] = (),
    example: Mapping[str, str] | None = None,
    paired: str = "",
    home: str = "",
) -> str:
    """Render a page of pooled results.

    Args:
        entries: Pooled results, whose model names include their marks.
        drawings: Their figures, with distinct names.
        links: {model: its page}.
        galleries: The items of each benchmark (`benchmark_items`).
        sentences: What explains the splits (`about_splits`).
        runs: The runs with their results, for the section on how they were made.
        unfinished: Folders of unfinished runs, which the page lists.
        example: A wrong answer of the best model (`wrong_unseen`).
        paired: A sentence that compares two models.
        home: The page of all models, to which this one links.

    Returns:
        The HTML.
    """
    verdict, *following = headline_sentences(entries, paired)
    best = best_entry(entries)
    # Instead of the figure of all main metrics, the first screen has its first panels.
    first_figures = gap(entries, main_line(best), _FIRST_PANELS)
    other_figures = [figure for figure in drawings if figure.name != "gap"]
    specs = {figure.name: figure.spec() for figure in [*first_figures, *other_figures]}
    return _page_template().render(
        verdict=verdict,
        following=following,
        other_verdicts=other_verdicts(entries),
        held_out=_distinct(entry.get("held_out", "") for entry in entries),
        marks=_distinct(_warning(entry) for entry in entries),
        unfinished=unfinished,
        example=example,
        best=best["model"],
        first_figures=first_figures,
        home=home,
        folded=_sections(entries, best, other_figures, paired),
        **_leaderboard(entries),
        links=links,
        sentences=sentences,
        galleries=galleries,
        answers=_answers(runs),
        entries=entries,
        tables=[_tables(entry) for entry in entries],
        runs=runs,
        figures_data=as_json(specs),
        items_data=as_json(galleries),
    )


def _page_template() -> Any:
    """The template of the page, with its filters and scripts."""
    environment = page_environment("evaluator", "report/assets")
    environment.filters |= {
        "mark_of": mark_of,
        "describe_training": describe_training,
        "sort_key": _sort_key,
        "question": _question_labels,
    }
    environment.globals |= {
        "title": _TITLE,
        "vega": vega_script(),
        "script": asset("evaluator.report", "assets/page.js"),
        "datatables": asset("evaluator.report", "assets/datatables.min.js"),
    }
    return environment.get_template("page.html.jinja")


def _leaderboard(entries: Sequence[Results]) -> dict[str, Any]:
    """What the template shows of the main metrics."""
    lines = main_lines(entries)
    board = side_by_side(entries, lines)
    return {
        "board": board,
        "lines": [(line, row.cells) for line, row in zip(lines, board.lines, strict=True)],
        "several": len({entry["benchmark"] for entry in entries}) > 1,
        "certificates": len({entry["certificate"] for entry in entries}) > 1,
        "terms": terms_of(line.first for line in lines),
    }


def _distinct(texts: Iterable[str]) -> list[str]:
    """The texts but "", each once, in their order."""
    return [text for text in dict.fromkeys(texts) if text]


def _warning(entry: Results) -> str:
    """The warning on an entry, with its model; "" if there is none."""
    warning = warning_of(entry)
    return f"{entry['model']}: {warning}" if warning else ""


def _question_labels(row: Mapping[str, Any]) -> str:
    """The labels of a row but its protocol, which has a column of its own."""
    return " ".join(str(row[name]) for name in LABELS[1:] if row[name])


@cache
def vega_script() -> str:
    """Bundle Vega-Embed, Vega-Lite and Vega.

    Returns:
        The JavaScript, inside a function that keeps its names local.
    """
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # A closing tag within a text of the script would end the script.
    return f"(() => {{{bundle}}})();".replace("</script", r"<\/script")


DRAWING_OF_COMMAND: Mapping[str, Callable[[Audit], list[Figure]]] = MappingProxyType(
    {
        COMPARISON: lambda audit: differences(audit.record),
        FAMILIARITY: lambda audit: by_overlap(audit.name, overlap_panels(audit.record)),
        PROBES: lambda audit: by_probe(audit.record),
        MAPS: lambda audit: embedding_maps(audit.name, audit.record),
    }
)
"""{command: the function that draws its results} (evaluator.report.audit_results)."""


def figures_of_audits(audits: Sequence[Audit]) -> list[Figure]:
    """Draw the results of other commands.

    Args:
        audits: Results of commands in DRAWING_OF_COMMAND.

    Returns:
        Their figures.
    """
    drawings = []
    for audit in audits:
        drawings += DRAWING_OF_COMMAND[audit.command](audit)
    return drawings


def _galleries(
    runs: Sequence[NamedRun], entries: Sequence[Results], *, out: Path, inline: bool
) -> tuple[list[dict[str, Any]], list[Figure]]:
    """The gallery data of each benchmark (`benchmark_items`), and its grids of values and
    objects."""
    named = []
    for entry in entries:
        model = entry["model"]
        for run_number, place in enumerate(entry["members"], 1):
            label = model
            if len(entry["members"]) > 1:
                label = f"{model}, run {run_number}"
            run = runs[place]
            # Benchmarks of one name may differ, as of two worlds.
            digests = f"{run.run.benchmark.digest} {run.run.record['world']}"
            key = (run.results["benchmark"], digests)
            named.append((key, (label, run, model)))
    of_benchmark = by_key(named)
    galleries, grids = [], []
    for (benchmark, _), members in of_benchmark.items():
        data = benchmark_items([(label, run) for label, run, _ in members], out, inline)
        galleries.append(data)
        holdout = members[0][1].run.benchmark.holdout or {}
        for protocol in data["labels"]["protocol"]["names"]:
            cells = grid_cells(
                data,
                model_of=[model for *_, model in members],
                held_out=holdout.get("bindings") or [],
                protocol=protocol,
            )
            title = protocol if len(of_benchmark) == 1 else f"{protocol}, {benchmark}"
            grids += grid(title, cells)
    return galleries, grids


def _answers(runs: Iterable[tuple[Run, Results]]) -> list[tuple[str, list[str], Table]]:
    """For each run in words: its model, a sentence on its answers, and a table of how often it
    chooses each label."""
    parts = []
    for _, results in runs:
        answers = results.get("answers")
        if not answers:
            continue
        lines = []
        for position in answers["positions"]:
            labels = (position["form"], f"{position['options']}", position["label"])
            cells = [Cell(number(position[name], "share")) for name in ("chosen", "right")]
            lines.append(Line(labels, cells))
        columns = (Column("chosen %"), Column("right %"))
        table = Table(("question", "options", "label"), columns, lines)
        model = marked(visible(results["model"]), results)
        parts.append((model, describe_answers(answers)[:1], table))
    return parts


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
_SAME_SECTION = {"gaps": "split", "load": "complexity", "edits": "rewording"}
"""{first word of the figures' names: the section of another name that has them}."""
_ORDER = (
    "split",
    "steps",
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
    entries: Sequence[Results], best: Results, drawings: Sequence[Figure], paired: str = ""
) -> list[Section]:
    """The sections below the gallery: each question that rows or figures answer.

    Sections of unknown figures have the title of their first figure.

    Args:
        entries: Pooled results.
        best: The entry that the sentences are about.
        drawings: The figures.
        paired: The sentence that compares two models; "" if there is none.
    """
    figures_of: dict[str, list[Figure]] = {}
    for figure in drawings:
        word = figure.name.split("-")[0]
        figures_of.setdefault(_SAME_SECTION.get(word, word), []).append(figure)
    of_model = f"{best['model']}: " if len(entries) > 1 else ""
    sections = []
    for question, sentence, _ in answers_of(best):
        table = side_by_side(entries, lines_of(question, entries))
        # The notes are below the leaderboard, and the same for all tables.
        table = replace(table, notes=())
        about_model = f"{of_model}{sentence}" if sentence else ""
        # What no question takes gets sections of its own below.
        own_figures = figures_of.pop(question.name, [])
        sections.append(Section(question.name, question.title, about_model, own_figures, table))
    for name, own_figures in figures_of.items():
        first = own_figures[0]
        sentence = first.about
        if name == "differences" and paired:
            sentence = paired
        if name == "grid":
            sentence = about_grid(first.panels.get(best["model"], ()))
        title = _OF_FIGURES.get(name, first.title)
        sections.append(Section(name, title, sentence, own_figures))
    return sorted(sections, key=_place)


def _place(section: Section) -> int:
    return _ORDER.index(section.name) if section.name in _ORDER else len(_ORDER)


def _sort_key(cell: Cell) -> str:
    """The sort key of a cell: its unrounded number, else its text."""
    value = cell.numbers.get("value", cell.numbers.get("beta"))
    # A cell of counts or a range has no number of its own: by its first number, without separators.
    if value is None:
        return cell.text.replace(",", "").split("–")[0]
    return f"{value:.9f}"


def _tables(entry: Results) -> list[Table]:
    """The tables of an entry: every row of each protocol, then the fits of each protocol."""
    protocols = dict.fromkeys(row["protocol"] for row in entry["rows"])
    tables = [every_row(entry, protocol) for protocol in protocols]
    for protocol in protocols:
        fits = [fit for fit in entry["fits"] if fit["protocol"] == protocol]
        if fits:
            title = f"{protocol}, load of each count"
            tables.append(replace(loads(fits), title=title, mark=warning_of(entry)))
    return tables


_CLASSES = "gzsl"
"""The design of class lists, whose splits are lists of labels (docs/splits.md)."""


def about_splits(benchmarks: Sequence[Benchmark], is_clean: bool) -> list[str]:
    """Explain the splits of benchmarks.

    Args:
        benchmarks: The benchmarks.
        is_clean: Whether the models' training is known to show nothing held out.

    Returns:
        Distinct sentences. A benchmark without a holdout, such as a benchmark made from a file of
        scores, gets no sentence.
    """
    sentences: dict[str, None] = {}
    for benchmark in benchmarks:
        sentences |= dict.fromkeys(_about_benchmark(benchmark, is_clean))
    return list(sentences)


def _about_benchmark(benchmark: Benchmark, is_clean: bool) -> list[str]:
    """What the splits are, and how familiar the false texts are; [] without a holdout."""
    holdout = benchmark.holdout
    if not holdout:
        return []
    held_out = "that the train split holds out"
    if is_clean:
        held_out = "that no training image or text contains"
    if holdout.get("design") == _CLASSES:
        return [
            f"Labels of id_val and id_test are labels of training; ood_val and ood_test have "
            f"labels {held_out}.",
            "ZSL compares unseen labels with one another. GZSL compares them with labels of "
            "training too, so its wrong labels may be more familiar than the true one.",
        ]
    combinations = []
    if holdout.get("bindings"):
        combinations.append("bindings of an attribute value and an object")
    if other_triples(holdout.get("triples", ())):
        combinations.append("relations between two objects")
    if own_frames_of(holdout.get("triples", ())):
        combinations.append("directions in an object's own frame")
    splits = "Nothing is held out: all scenes are of one split."
    if combinations:
        splits = (
            f"Seen, partial and unseen scenes differ in how many objects show "
            f"{' and '.join(combinations)} {held_out}: none, some, all."
        )
    familiarity = "The true text and its foil are equally familiar."
    if benchmark.manifest.get("equal_familiarity") is False:
        familiarity = "The foil may be more or less familiar than the true text."
    return [splits, familiarity]
