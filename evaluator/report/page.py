"""One self-contained HTML page for measured runs: models side by side, figures, every row, examples right and wrong."""

import base64
import io
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from jinja2 import Environment, PackageLoader
from PIL import Image

from evaluator.analysis.pooling import pool_runs
from evaluator.benchmarks.pictures import Pictures
from evaluator.benchmarks.registry import Source, read_external
from evaluator.protocols.items import reported_splits
from evaluator.protocols.records import Results
from evaluator.provenance.contamination import CLEAN, mark_of, marked, training_said
from evaluator.report.figures import figures
from evaluator.report.files import write_pooled
from evaluator.report.overview import every_row, main_lines, side_by_side
from evaluator.report.table import Table, loads, population
from evaluator.runs.folder import NamedRun, Run, tables_folder
from evaluator.runs.parts import splits_said
from generator.base.csv_tables import read_csv
from generator.base.errors import UserError, visible
from generator.base.files import write_text
from generator.dataset.reader import Benchmark, Images

_SIDE = 512  # pixels at most of an example
_EXAMPLES = 4


def write_page(runs: Sequence[NamedRun], out: Path) -> list[Results]:
    """Write the page `out`, and beside it the pooled results as .csv and .tex; returns the results of the runs.

    Runs of one model are pooled (evaluator.analysis.pooling). Examples are of the first run of each model.
    Raises UserError when a folder has no results.
    """
    results = [each.results for each in runs]
    entries = pool_runs(results)
    environment = Environment(
        loader=PackageLoader("evaluator", "report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters |= {"mark_of": mark_of, "training_said": training_said}
    own = [each.run.benchmark for each in runs if not splits_said(each.results["rules"])]
    page = environment.get_template("page.html.jinja").render(
        entries=entries,
        population=population(row for entry in entries for row in entry["rows"]),
        overview=side_by_side(entries, main_lines(entries)),
        tables=[_tables(entry) for entry in entries],
        splits_said=about_splits(own, all(each["training"]["status"] == CLEAN for each in entries)),
        figures=figures([{**each, "model": marked(each["model"], each)} for each in entries]),
        galleries=[_galleries(runs[results.index(entry["first"])].run, entry["first"]) for entry in entries],
        runs=[(each.run, each.results) for each in runs],
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_text(out, page)
    write_pooled(entries, out)
    return results


def _tables(entry: Results) -> list[Table]:
    """Every row and fit of an entry, by protocol."""
    protocols = dict.fromkeys(row["protocol"] for row in entry["rows"])
    made = [every_row(entry, protocol) for protocol in protocols]
    for protocol in protocols:
        if fits := [fit for fit in entry["fits"] if fit["protocol"] == protocol]:
            made.append(replace(loads(fits), title=f"{protocol}, load of each count", mark=mark_of(entry)))
    return made


def _shown(value: Any) -> Any:
    """What the page prints for a value: a text, or HTML, without characters that nothing shows."""
    return type(value)(visible(value)) if isinstance(value, str) else value


_COLUMNS = {
    **dict.fromkeys(("protocol", "metric", "split", "scene_id", "true_text", "false_text"), pa.string()),
    **dict.fromkeys(("value", "true", "false"), pa.float64()),
}
"""Of tables/items.csv: the outcome of each item, and its best true and false text."""


def _galleries(run: Run, results: Results) -> list[dict[str, Any]]:
    """Examples of every protocol's main metric in every split: some right, some wrong, chosen by a fixed seed."""
    outcomes = read_csv(tables_folder(run.folder) / "items.csv", _COLUMNS).to_pandas()
    outcomes = outcomes.dropna(subset=["value", "true", "false"]).fillna("")
    images = run.world or pictures_of(run)
    galleries = []
    for protocol, metric in dict.fromkeys(
        (row["protocol"], row["metric"]) for row in results["rows"] if row["is_main"]
    ):
        measured = outcomes[(outcomes["protocol"] == protocol) & (outcomes["metric"] == metric)]
        for split in reported_splits(measured["split"]):
            rows = measured[measured["split"] == split]
            parts = [
                {
                    "label": label,
                    "examples": [_example(images, row) for row in _choose(rows[(rows["value"] == 1) == right])],
                }
                for label, right in (("right", True), ("wrong", False))
            ]
            galleries.append({"title": f"{protocol}, {metric}, {split}", "rows": parts})
    return galleries


def _choose(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Some outcomes, each of another scene: an item and its other order would look the same."""
    of_scene = rows.drop_duplicates("scene_id")
    chosen = np.random.default_rng(0).permutation(len(of_scene))[:_EXAMPLES]
    return [dict(row) for _, row in of_scene.iloc[sorted(chosen)].iterrows()]


def _example(images: Images | None, row: dict[str, Any]) -> dict[str, Any]:
    """The image of an outcome, None where there are no images, and its two texts, the one with the higher score
    first."""
    lines = [
        {"true": name == "true", "text": row[f"{name}_text"] or f"{name} text", "score": row[name]}
        for name in ("true", "false")
    ]
    return {
        "image": None if images is None else _data_url(images.image(row["scene_id"])),
        "scene": row["scene_id"],
        "lines": sorted(lines, key=lambda line: -line["score"]),
    }


def _data_url(image: Image.Image) -> str:
    buffer = io.BytesIO()
    image.thumbnail((_SIDE, _SIDE))
    image.save(buffer, "WEBP", quality=85)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()


logger = logging.getLogger(__name__)


def pictures_of(run: Run) -> Pictures | None:
    """The images of a run of a benchmark of others; None for other runs, and where its files are gone or others."""
    external = run.record.get("external")
    if not external:
        return None
    images = external["images"]
    folder, filters = None if images is None else Path(images), tuple(external.get("filters", ()))
    source = Source(Path(external["path"]), external["name"], folder, filters)
    try:
        pictures = read_external(source).pictures
        if pictures.digest == run.record["world"]:
            return pictures
        reason = "they changed since the run"
    except UserError as error:
        reason = error.message
    logger.info(f"The page shows no images of {source}: {reason}")
    return None


_CLASSES = "gzsl"
"""The design of class lists, whose splits are lists of labels (docs/splits.md)."""


def about_splits(benchmarks: Sequence[Benchmark], never_shown: bool) -> list[str]:
    """Sentences about the splits of some benchmarks, each once.

    `never_shown`: whether the models' training is known to show nothing that is held out. A benchmark without a
    holdout, such as one made from scores alone, has no sentence.
    """
    return list(dict.fromkeys(sentence for each in benchmarks for sentence in _about_benchmark(each, never_shown)))


def _about_benchmark(benchmark: Benchmark, never_shown: bool) -> list[str]:
    holdout = benchmark.holdout
    if not holdout:
        return []
    lacking = "that no training image or text contains" if never_shown else "that the train split holds out"
    if holdout.get("design") == _CLASSES:
        splits = f"Labels of id_val and id_test are labels of training; ood_val and ood_test have labels {lacking}."
        told = (
            "ZSL compares unseen labels with one another. GZSL compares them with labels of training too, so its wrong "
            "labels may be more familiar than the true one."
        )
    else:
        of = {
            "bindings of an attribute value and an object": holdout.get("bindings"),
            "relations between two objects": holdout.get("triples"),
        }
        what = " and ".join(name for name, found in of.items() if found) or "combinations"
        splits = f"In seen, partial and unseen scenes no, some and all objects show {what} {lacking}."
        equal = benchmark.manifest.get("equal_familiarity") is not False
        told = (
            "The true text and its foil are equally familiar."
            if equal
            else "The foil may be more or less familiar than the true text."
        )
    return [splits, told]
