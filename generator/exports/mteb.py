"""`gen export mteb`: a folder for the Hugging Face Hub with the questions of a benchmark, and one
Python file with their tasks for mteb.

OUT/jackalope_tasks.py            a class for each protocol and kind
OUT/data/CONFIG/SPLIT.parquet     its questions: images and captions in columns
OUT/README.md                     the card, which declares the configurations
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from jinja2 import Environment, PackageLoader

from generator.base.errors import UserError, one_line_of_markdown
from generator.base.files import write_text
from generator.base.progress import SILENT, Progress
from generator.dataset.mteb_tasks import MTEB_TASKS, MtebTask, task_name
from generator.dataset.reader import Benchmark, Dataset, World
from generator.exports.clevr import NO_SPLIT
from generator.exports.training import export_folder, licence_note

_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_NOT_SPECIFIED = "not specified"
"""mteb's word for a missing licence."""
_FEATURE_OF_IMAGE = {"_type": "Image"}
_DESCRIPTIONS = {
    "pairs": "Two rendered images and two captions with the same words, each true of one image.",
    "binary": "A rendered image, a caption that is true of it, and a false one with the same "
    "words.",
    "steps": "A rendered image at one step of a ladder, a true caption, and a false one with the "
    "same words.",
}


@dataclass(frozen=True)
class MtebPublication:
    """What the publisher states about the tasks."""

    title: str
    """Title of the dataset; it begins the names of the tasks."""
    hub: str
    """OWNER/NAME of the dataset on the Hub that gets the folder."""
    revision: str
    """Commit of the upload, or main."""
    licence: str | None
    """SPDX name of the licence; None if none is declared."""
    date: str | None = None
    """The day of the dataset, such as 2026-11-29; None if it is not stated."""


Rows = list[dict[str, Any]]


def export_mteb(
    dataset: Dataset,
    benchmark: Benchmark,
    *,
    about: MtebPublication,
    out: Path,
    progress: Progress = SILENT,
) -> dict[str, int]:
    """Write the tasks of a benchmark.

    Args:
        dataset: The dataset.
        benchmark: A benchmark of it.
        about: What the publisher states.
        out: New folder.
        progress: Shown while writing.

    Returns:
        The number of items by name of the task.

    Raises:
        UserError: The benchmark has no such items, or `out` is not empty.
    """
    rows_of_task = _rows(benchmark)
    # Before the folder is made, so that nothing has to be removed.
    if not rows_of_task:
        protocols = ", ".join(task.protocol for task in MTEB_TASKS)
        raise UserError(
            f"{benchmark.folder} has no items of {protocols}; write some with `gen describe "
            f"DATASET --protocol binary`."
        )
    counts: dict[str, int] = {}
    tasks = []
    with export_folder(out) as folder:
        for (task, kind), rows_of_split in rows_of_task.items():
            name = task_name(about.title, task.protocol, kind)
            counts[name] = sum(len(rows) for rows in rows_of_split.values())
            config = _config(task.protocol, kind)
            (folder / "data" / config).mkdir(parents=True)
            # A file for each split, since mteb evaluates by split.
            for split, rows in progress.follow(
                rows_of_split.items(), name, total=len(rows_of_split)
            ):
                path = folder / "data" / config / f"{split}.parquet"
                _write_rows(dataset.world, task, rows=rows, path=path)
            tasks.append(
                {
                    "name": name,
                    "config": config,
                    "description": _description(benchmark, task, kind),
                    "images": _columns(task.images),
                    "texts": _columns(task.texts),
                    "splits": list(rows_of_split),
                    "main_score": task.main_score,
                }
            )
        _write_programs(folder, about, tasks=tasks, licences=licence_note(dataset.world))
    return counts


def _config(protocol: str, kind: str) -> str:
    return f"{protocol}-{kind}".replace(" ", "-") if kind else protocol


def _columns(names: tuple[str, ...]) -> str:
    """Columns as Python: mteb takes a single name for one image."""
    if len(names) == 1:
        return json.dumps(names[0])
    return json.dumps(list(names))


def _description(benchmark: Benchmark, task: MtebTask, kind: str) -> str:
    held_out = benchmark.manifest.get("held_out")
    about = f"{_DESCRIPTIONS[task.protocol]} Kind: {kind}."
    if held_out and held_out != "nothing":
        about += f" Training never shows: {one_line_of_markdown(str(held_out))}."
    return about


def _rows(benchmark: Benchmark) -> dict[tuple[MtebTask, str], dict[str, Rows]]:
    """The candidates of the items of each task and kind, by split."""
    candidates: dict[str, Rows] = {}
    for row in benchmark.candidates.to_pylist():
        candidates.setdefault(row["item_id"], []).append(row)
    rows: dict[tuple[MtebTask, str], dict[str, Rows]] = {}
    for task in MTEB_TASKS:
        for item in benchmark.items.to_pylist():
            if item["protocol"] != task.protocol:
                continue
            row = _row(task, candidates[item["item_id"]], benchmark)
            if row is not None:
                of_split = rows.setdefault((task, item["kind"] or ""), {})
                of_split.setdefault(item["split"] or NO_SPLIT, []).append(row)
    return rows


def _row(task: MtebTask, candidates: Rows, benchmark: Benchmark) -> dict[str, str] | None:
    """Scenes and texts of an item by column; None for an item of another shape. Column i of the
    images belongs to column i of the texts; other texts are false."""
    true = [row for row in candidates if row["truth"]]
    false = [row for row in candidates if not row["truth"]]
    n_pairs = len(task.images) * len(task.texts)
    # mteb's columns have one image for each true text; items of other shapes do not fit them.
    if len(true) != len(task.images) or len(candidates) != n_pairs:
        return None
    # True texts first, in the order of their images: mteb scores by place.
    texts = [row["text_id"] for row in true]
    texts += [row["text_id"] for row in false if row["text_id"] not in texts]
    if len(texts) != len(task.texts):
        return None
    scenes = [row["scene_id"] for row in true]
    words = [benchmark.text_of[text] for text in texts]
    columns = dict(zip(task.images, scenes, strict=True))
    return columns | dict(zip(task.texts, words, strict=True))


def _write_rows(world: World, task: MtebTask, *, rows: Rows, path: Path) -> None:
    """Write the items of a task and split, with their images."""
    table = []
    for row in rows:
        cells: dict[str, Any] = dict(row)
        for column in task.images:
            scene = row[column]
            # The struct that the class Image of `datasets` stores.
            cells[column] = {"bytes": world.read(f"images/{scene}.png"), "path": f"{scene}.png"}
        table.append(cells)
    features: dict[str, Any] = dict.fromkeys(task.images, _FEATURE_OF_IMAGE)
    features |= {column: {"dtype": "string", "_type": "Value"} for column in task.texts}
    columns = [(column, _IMAGE) for column in task.images]
    columns += [(column, pa.string()) for column in task.texts]
    about = json.dumps({"info": {"features": features}})
    schema = pa.schema(columns, metadata={"huggingface": about})
    pq.write_table(pa.Table.from_pylist(table, schema=schema), path, compression="zstd")


def _write_programs(
    folder: Path, about: MtebPublication, *, tasks: list[dict[str, Any]], licences: str
) -> None:
    """Write jackalope_tasks.py and README.md from their templates."""
    environment = Environment(
        loader=PackageLoader("generator.exports", "."),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    licence = about.licence.lower() if about.licence else _NOT_SPECIFIED
    for template, name in (
        ("mteb_tasks.py.jinja", "jackalope_tasks.py"),
        ("mteb_readme.md.jinja", "README.md"),
    ):
        text = environment.get_template(template).render(
            title=one_line_of_markdown(about.title),
            hub=about.hub,
            revision=about.revision,
            date=about.date,
            licence=licence,
            licence_on_hub=about.licence.lower() if about.licence else "unknown",
            licences=licences,
            tasks=tasks,
            quoted=json.dumps,
        )
        write_text(folder / name, text)
