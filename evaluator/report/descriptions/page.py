"""One self-contained HTML page of runs of descriptions, and their tables beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from evaluator.descriptions.floors import FLOORS
from evaluator.metrics.formats import number
from evaluator.protocols.items import split_rank
from evaluator.provenance.contamination import describe_training, mark_of
from evaluator.report.descriptions.answers import (
    EXCHANGED,
    INVENTED,
    RIGHT,
    answer_data,
    image_data,
)
from evaluator.report.descriptions.measures import (
    FLOORS_NOTE,
    MAIN_MEASURES,
    MEANS_NOTE,
    cell_of,
    describe_answers,
    describe_binding,
    describe_errors,
    describe_reader,
    intervals_note,
    measure_figures,
    measures_table,
    rows_by_split,
    title_of,
    unit_of,
)
from evaluator.report.figures import Figure
from evaluator.report.gallery import image_folder
from evaluator.report.page import vega_script
from evaluator.report.writers import latex, markdown
from evaluator.runs.answered_attributes import AttributesRun
from evaluator.runs.described import DescribedRun, open_described_dataset, truths_of_lines
from evaluator.runs.integration import integration_rows, integration_sentence
from generator.base.errors import UserError, visible
from generator.base.files import write_text
from generator.base.pages import as_json, asset, data_url, page_environment, thumbnails
from generator.base.tables import write_csv
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.reader import World

_TITLE = "What does it see, and on which object?"
"""The title of every page; its verdict is the answer."""
_SIDES = (384, 320, 256, 192, 128, 96)
"""Largest widths and heights of the images of a gallery, in pixels; larger than those of other
pages, because boxes are drawn on them."""
_EXAMPLE_SIDE = 640
"""Largest width and height of the image of the example at the top of the page."""


def write_description_page(
    runs: Sequence[DescribedRun],
    out: Path,
    *,
    attributes: Sequence[AttributesRun] = (),
    moved: Sequence[Path] = (),
    inline: bool = False,
) -> list[Figure]:
    """Write a page, and beside it the rows as .csv and the tables as .md and .tex; with runs of
    attributes also the integration gap, as NAME-integration.csv.

    Measures nothing and changes no run.

    Args:
        runs: Runs over the same world.
        out: The file of the page.
        attributes: Runs of attributes of the same models and images.
        moved: Folders of datasets that were moved since.
        inline: Whether to embed images of up to 512 pixels, however many there are.

    Returns:
        The figures of the page.

    Raises:
        UserError: The runs describe different worlds, the dataset is missing, or a run of
            attributes is of none of the models.
    """
    _check_worlds(runs)
    gaps = _integration_gaps(runs, attributes)
    world, benchmark = open_described_dataset(runs[0], moved)
    # Runs with a limit describe different images, and the gallery has those of all.
    truths: dict[str, ImageTruth] = {}
    for run in runs:
        truths |= truths_of_lines(run, world, benchmark)
    gallery = gallery_data(runs, truths, world, inline=inline)
    gallery["folder"] = image_folder(world, out)
    figures = measure_figures(runs)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, render(runs, figures, gallery, gaps))
    _write_tables(runs, out)
    if gaps:
        rows = [{"model": model, **row} for model, own_rows in gaps for row in own_rows]
        write_csv(out.with_name(f"{out.stem}-integration.csv"), pa.Table.from_pylist(rows))
    return figures


def _integration_gaps(
    runs: Sequence[DescribedRun], attributes: Sequence[AttributesRun]
) -> list[tuple[str, list[dict[str, Any]]]]:
    """The name of each model that has both, and its integration gap (integration_rows)."""
    gaps = []
    for run in attributes:
        of_model = [described for described in runs if described.name == run.name]
        if not of_model:
            raise UserError(
                f"{run.folder} asked '{run.name}', which described no images here; name the runs "
                f"of one model alike, as NAME=RUN."
            )
        for described in of_model:
            gaps.append((title_of(described), integration_rows(described, run)))
    return gaps


def _check_worlds(runs: Sequence[DescribedRun]) -> None:
    """Raise UserError unless all runs describe images of one world by one benchmark."""
    first = runs[0]
    for run in runs[1:]:
        for name in ("world", "benchmark"):
            if run.record[name] != first.record[name]:
                raise UserError(
                    f"{first.folder} and {run.folder} describe images of another {name}; report "
                    f"them one by one."
                )


def gallery_data(
    runs: Sequence[DescribedRun],
    truths: Mapping[str, ImageTruth],
    world: World,
    *,
    inline: bool = False,
) -> dict[str, Any]:
    """Collect the images of runs with the answers of each.

    Args:
        runs: Runs over the same world.
        truths: The record of each image.
        world: The world.
        inline: Whether images are embedded at up to 512 pixels.

    Returns:
        A dictionary for JSON: `models`, names; `items`, each an image with its `answers`, None for
        a model that was not asked; `images`, data URLs; and `example`, the place of the item that
        the page opens with (None without one) and its larger image.
    """
    rank_of = {scene: split_rank(truth.split or "") for scene, truth in truths.items()}
    scenes = sorted(truths, key=lambda scene: rank_of[scene])
    line_of = [{line["scene_id"]: line for line in run.lines} for run in runs]
    items = []
    for scene in scenes:
        answers = []
        for lines in line_of:
            line = lines.get(scene)
            answers.append(None if line is None else answer_data(line, truths[scene]))
        items.append({**image_data(truths[scene], world), "answers": answers})
    example = _choose_example(items)
    example_image = ""
    if example is not None:
        example_image = data_url(world.image(scenes[example]), _EXAMPLE_SIDE)
    return {
        "models": [title_of(run) for run in runs],
        "items": items,
        "images": thumbnails(world.image, scenes, inline, sides=_SIDES),
        "example": example,
        "example_image": example_image,
    }


def _choose_example(items: Sequence[Mapping[str, Any]]) -> int | None:
    """The item that shows most: an answer with right, exchanged and invented atoms, of an image
    with held-out combinations, and of few words. None if no image has an answer with atoms."""
    best, best_score = None, -1.0
    for place, item in enumerate(items):
        first = item["answers"][0]
        if first is None or not first.get("counts"):
            continue
        counts = first["counts"]
        colours = (RIGHT, EXCHANGED, INVENTED, "missed")
        n_colours = sum(counts.get(colour, 0) > 0 for colour in colours)
        is_exchanged = EXCHANGED in first["states"]
        is_held_out = item["split"] in ("partial", "unseen")
        # An image of three objects explains less than one of five; a long answer is hard to read at
        # the first look.
        n_objects = min(len(item["objects"]), 5)
        length = 0
        for phrase in first["phrases"]:
            length += sum(len(segment["text"]) for segment in phrase)
        # The weights are a choice: an exchanged value is what the page is about, so it outweighs
        # the rest.
        score = n_colours + 2 * is_exchanged + 0.5 * is_held_out + 0.3 * n_objects - length / 2000
        if score > best_score:
            best, best_score = place, score
    return best


def render(
    runs: Sequence[DescribedRun],
    figures: Sequence[Figure],
    gallery: Mapping[str, Any],
    gaps: Sequence[tuple[str, Sequence[Mapping[str, Any]]]] = (),
) -> str:
    """Render the page.

    Args:
        runs: The runs.
        figures: Their figures, with distinct names.
        gallery: From `gallery_data`.
        gaps: By model, the rows of its integration gap.

    Returns:
        The HTML.
    """
    environment = page_environment("evaluator", "report/assets")
    environment.globals |= {
        "title": _TITLE,
        "vega": vega_script(),
        "script": asset("evaluator.report", "assets/page.js"),
        "datatables": asset("evaluator.report", "assets/datatables.min.js"),
        "own_css": asset("evaluator.report", "assets/descriptions.css"),
        "own_script": asset("evaluator.report", "assets/descriptions.js"),
    }
    first_figures = [figure for figure in figures if figure.name in ("measures", "bindings")]
    folded: dict[str, list[Figure]] = {}
    for figure in figures:
        if figure not in first_figures:
            section = figure.title.partition(":")[0]
            folded.setdefault(section, []).append(figure)
    rows = [row for run in runs for row in rows_by_split(run)]
    template = environment.get_template("descriptions.html.jinja")
    page: str = template.render(
        runs=[_run_data(run) for run in runs],
        several=len(runs) > 1,
        first_figures=first_figures,
        folded=folded,
        gaps=[_gap_data(model, rows) for model, rows in gaps],
        notes=[f"{MEANS_NOTE} {intervals_note(rows)}", FLOORS_NOTE],
        level=f"{100 * runs[0].record['level']:.4g}%",
        floors=list(FLOORS),
        figures_data=as_json({figure.name: figure.spec() for figure in figures}),
        gallery_data=as_json(gallery),
    )
    return page


def _run_data(run: DescribedRun) -> dict[str, Any]:
    """What the template shows of a run."""
    record = run.record
    return {
        "model": title_of(run),
        "sentence": record["sentence"],
        "binding": describe_binding(run),
        "errors": describe_errors(run),
        "reader": describe_reader(record),
        "mark": mark_of(record),
        "training": describe_training(dict(record)),
        "record": record,
        "answers": describe_answers(record["answers"]),
        "rows": [_row_data(row) for row in rows_by_split(run)],
    }


def _gap_data(model: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the template shows of an integration gap."""
    lines = []
    for row in rows:
        interval = ""
        if row["low"] is not None:
            interval = f"[{number(row['low'], 'difference')}, {number(row['high'], 'difference')}]"
        shares = [number(row[name], "share") for name in ("composed", "decomposed")]
        difference = number(row["difference"], "difference")
        lines.append({**row, "shares": shares, "difference": difference, "interval": interval})
    return {"model": model, "sentence": integration_sentence(rows), "lines": lines}


def _row_data(row: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the table of measures: its texts, and places in percent for its drawing."""
    is_difference = unit_of(row["measure"]) == "difference"
    places = {}
    for name in ("value", "low", "high", *FLOORS):
        value = row[name]
        if value is not None:
            # A difference lies in -1..1 and is drawn from the middle.
            share = (value + 1) / 2 if is_difference else value
            places[name] = round(100 * min(max(share, 0), 1), 2)
    return {
        "split": row["split"],
        "measure": row["measure"],
        "is_main": row["measure"] in MAIN_MEASURES,
        "is_difference": is_difference,
        "cell": cell_of(row),
        "floors": [cell_of(row, floor) for floor in FLOORS],
        "images": row["images"],
        "population": row["population"],
        "places": places,
    }


def _write_tables(runs: Sequence[DescribedRun], page: Path) -> None:
    """Write the rows of all runs as CSV, and the table by split as Markdown and LaTeX."""
    rows = []
    for run in runs:
        for row in run.record["rows"]:
            rows.append({"model": visible(run.name), **row})
    table = measures_table(runs)
    write_csv(page.with_suffix(".csv"), pa.Table.from_pylist(rows))
    write_text(page.with_suffix(".md"), markdown(table))
    write_text(page.with_suffix(".tex"), latex(table))
