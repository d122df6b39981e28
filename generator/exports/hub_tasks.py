"""Writes the tasks of a dataset for the Hugging Face Hub: eval.yaml, and the questions that its
tasks ask.

Inspect runs them with `inspect eval hf/OWNER/NAME`, or one of them with `hf/OWNER/NAME/TASK`. Its
loader reads an image as a data URI.
"""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from jinja2 import Environment, PackageLoader

from generator.base.files import write_text
from generator.dataset.hub_tasks import CHOICE_PROTOCOLS, task_config, task_id
from generator.dataset.reader import Benchmark, Dataset, World
from generator.exports.clevr import NO_SPLIT
from generator.exports.questions import QuestionSet

FOLDER = "choices"
"""The folder of the questions."""
_SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "question": pa.string(),
        "image": pa.string(),
        "choices": pa.list_(pa.string()),
        "target": pa.string(),
    }
)
Questions = dict[tuple[str, str], dict[str, list[dict[str, Any]]]]
"""The questions by (protocol, kind), and by split."""


def write_tasks(
    dataset: Dataset, benchmark: Benchmark, folder: Path, *, title: str
) -> dict[str, dict[str, str]]:
    """Write eval.yaml and its questions.

    A choice is asked in both orders of its captions, as `score ask` does.

    Args:
        dataset: The dataset.
        benchmark: A benchmark of it.
        folder: The folder of the export.
        title: Title of the dataset.

    Returns:
        The Parquet file of each split, by configuration; empty if no protocol of the benchmark has
        such questions. Then nothing is written.
    """
    questions = _questions(dataset, benchmark)
    files: dict[str, dict[str, str]] = {}
    tasks = []
    for (protocol, kind), rows_of_split in questions.items():
        config = task_config(protocol, kind)
        (folder / FOLDER / config).mkdir(parents=True)
        files[config] = {}
        for split, rows in rows_of_split.items():
            path = f"{FOLDER}/{config}/{split}.parquet"
            _write_rows(dataset.world, rows, folder / path)
            files[config][split] = path
            task = task_id(protocol, kind, split)
            tasks.append({"id": task, "config": config, "split": split})
    if tasks:
        environment = Environment(
            loader=PackageLoader("generator.exports", "."),
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        declaration = environment.get_template("eval.yaml.jinja").render(
            title=title,
            description=_description(benchmark.manifest),
            tasks=tasks,
            # A string of JSON is one of YAML.
            quoted=json.dumps,
        )
        write_text(folder / "eval.yaml", declaration)
    return files


def _description(manifest: Mapping[str, Any]) -> str:
    """What the benchmark measures, in a sentence or two."""
    about = (
        "Which of two captions is true of a rendered image. The captions differ in what belongs to "
        "what, so that texts alone do not tell."
    )
    held_out = manifest.get("held_out")
    if held_out and held_out != "nothing":
        about += f" Training never shows: {held_out}."
    return about


def _questions(dataset: Dataset, benchmark: Benchmark) -> Questions:
    """The choices between two captions of one image."""
    present = set(benchmark.items["protocol"].to_pylist())
    protocols = tuple(name for name in CHOICE_PROTOCOLS if name in present)
    questions: Questions = {}
    if not protocols:
        return questions
    for row in QuestionSet(dataset, benchmark, protocols=protocols).rows():
        # Only such items are the same question for models that score pairs
        # (generator/dataset/hub_tasks.py).
        if len(row["scenes"]) == 1 and len(row["options"]) == 2:
            of_kind = questions.setdefault((row["protocol"], row["kind"]), {})
            of_kind.setdefault(row["split"] or NO_SPLIT, []).append(row)
    return questions


def _write_rows(world: World, rows: list[dict[str, Any]], path: Path) -> None:
    """Write the questions of a configuration and split."""
    table = []
    for row in rows:
        # Inspect's loader takes no bytes.
        image = base64.b64encode(world.read(f"images/{row['scenes'][0]}.png")).decode()
        table.append(
            {
                "id": row["id"],
                "question": row["question"],
                "image": f"data:image/png;base64,{image}",
                "choices": row["options"],
                "target": row["answer"],
            }
        )
    # The two orders of a question have the same image, which dictionaries store once.
    pq.write_table(pa.Table.from_pylist(table, schema=_SCHEMA), path, compression="zstd")
