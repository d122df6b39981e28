"""`gen export pull-request`: the questions of several datasets, such as the worlds of a suite, as a
pull request to lmms-eval or VLMEvalKit would bring them.

lmms-eval:   OUT/lmms_eval/tasks/NAME/          a group, a YAML for each task, and their functions
             OUT/hub/CONFIG/test.parquet        their questions, for the Hugging Face Hub
VLMEvalKit:  OUT/vlmeval/dataset/NAME.py        a class with the address and digest of each TSV
             OUT/hub/*_circular.tsv             the TSVs, for the Hugging Face Hub

OUT/README.md says what to upload, and which lines of the tool change.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from generator.base.errors import UserError, one_line_of_markdown
from generator.base.files import write_text
from generator.base.progress import SILENT, Progress
from generator.dataset.reader import Dataset, World
from generator.exports.questions import (
    QuestionSet,
    Row,
    as_name,
    lmms_eval_task,
    rows_by_task,
    write_lmms_eval_functions,
    write_vlmevalkit_tsv,
)
from generator.exports.training import export_folder, licence_note

TOOLS = ("lmms-eval", "vlmevalkit")
"""The tools that take such a pull request."""
_SUITE = "suite.json"
"""The record of a made suite (generator/suite/record.py), whose worlds are below it."""
_IMAGES = "images"
_ABOUT_IMAGES = {"info": {"features": {_IMAGES: {"feature": {"_type": "Image"}, "_type": "List"}}}}


def find_datasets(places: Sequence[Path]) -> dict[str, Path]:
    """List the datasets of some folders.

    Args:
        places: Folders of datasets, and folders of suites (`gen suite`).

    Returns:
        The datasets by title: of a suite the worlds of all its tracks, as "TRACK WORLD", since
        tracks may have worlds of one name; of others the name of the folder.

    Raises:
        UserError: A suite has no world, or two datasets have one title.
    """
    datasets: dict[str, Path] = {}
    for place in places:
        titled = {place.resolve().name: place}
        # Two levels below a suite: its tracks, and their worlds.
        if (place / _SUITE).exists():
            worlds = sorted(path.parent for path in place.glob("*/*/dataset.json"))
            titled = {f"{world.parent.name} {world.name}": world for world in worlds}
        if not titled:
            raise UserError(f"{place} has no finished world; run the same `gen suite` again.")
        for title in titled:
            if title in datasets:
                raise UserError(
                    f"{datasets[title]} and {titled[title]} have the same name, which names their "
                    f"tasks; rename one of the folders."
                )
        datasets |= titled
    return datasets


def export_pull_request(
    datasets: Mapping[str, Dataset],
    *,
    tool: str,
    name: str,
    hub: str,
    out: Path,
    progress: Progress = SILENT,
) -> dict[str, int]:
    """Write the files of a pull request.

    Args:
        datasets: The datasets by title; each benchmark of each is asked.
        tool: One of TOOLS.
        name: Name of the folder, the group or the class.
        hub: OWNER/NAME of the dataset on the Hub that gets the questions.
        out: New folder.
        progress: Shown while writing.

    Returns:
        The number of questions by name of the benchmark in the tool.

    Raises:
        UserError: There are no questions, or `out` is not empty.
    """
    sets = []
    for title, dataset in datasets.items():
        for benchmark in dataset.benchmark_names():
            questions = QuestionSet(dataset, dataset.benchmark(benchmark), title=title)
            # A suite also has benchmarks without questions in words, such as those of retrieval.
            if _has_questions(questions):
                sets.append(questions)
    if not sets:
        raise UserError(
            f"{', '.join(datasets)}: no benchmark has questions in words; write some with `gen "
            f"describe DATASET --protocol binary`."
        )
    name = as_name(name)
    with export_folder(out) as folder:
        (folder / "hub").mkdir()
        write = _write_lmms_eval if tool == "lmms-eval" else _write_vlmevalkit
        counts = write(sets, name, hub, folder, progress)
        # Worlds of one family have the same note, which is needed once.
        notes = dict.fromkeys(licence_note(dataset.world) for dataset in datasets.values())
        note = "\n".join(filter(None, notes))
        if note:
            write_text(folder / "hub" / "LICENCE.md", note)
    return counts


def _has_questions(questions: QuestionSet) -> bool:
    """Whether a benchmark has a question in words."""
    try:
        # A benchmark without questions raises, for `gen export`, what is no mistake here.
        return bool(questions.rows())
    except UserError:
        return False


def _write_lmms_eval(
    sets: Sequence[QuestionSet], name: str, hub: str, folder: Path, progress: Progress
) -> dict[str, int]:
    """Write the folder of tasks, and their questions with their images."""
    tasks_folder = folder / "lmms_eval" / "tasks" / name
    tasks_folder.mkdir(parents=True)
    write_lmms_eval_functions(tasks_folder)
    counts: dict[str, int] = {}
    configs: list[str] = []
    for questions in sets:
        rows = questions.rows()
        counts[questions.name] = len(rows)
        for config, task_rows in rows_by_task(questions, rows).items():
            task = f"{name}_{config}"
            source = [f"dataset_path: {hub}", f"dataset_name: {config}"]
            lines = lmms_eval_task(task, task_rows, source)
            write_text(tasks_folder / f"{task}.yaml", "\n".join([*lines, ""]))
            _write_questions(
                questions.dataset.world,
                task_rows,
                folder=folder / "hub" / config,
                progress=progress,
            )
            configs.append(config)
    # No aggregate: a mean over worlds and splits answers nothing.
    group = [f"group: {name}", "task:", *(f"  - {name}_{config}" for config in configs), ""]
    write_text(tasks_folder / f"{name}.yaml", "\n".join(group))
    write_text(folder / "hub" / "README.md", _hub_card(name, configs))
    write_text(
        folder / "README.md",
        f"# {name} for lmms-eval\n\n"
        f"1. Upload `hub/` to the dataset {hub} of the Hugging Face Hub.\n"
        f"2. Copy `lmms_eval/` over that of lmms-eval. `lmms-eval --tasks {name}` runs it.\n\n"
        f"No other file of lmms-eval changes.\n",
    )
    return counts


def _write_questions(
    world: World, rows: Sequence[Row], *, folder: Path, progress: Progress
) -> None:
    """Write the questions of a task with the images of each."""
    folder.mkdir()
    table = []
    for row in progress.follow(rows, "writing", total=len(rows)):
        images = []
        for scene in row["scenes"]:
            data = world.read(f"images/{scene}.png")
            images.append({"bytes": data, "path": f"{scene}.png"})
        table.append({**row, _IMAGES: images})
    about = {"huggingface": json.dumps(_ABOUT_IMAGES)}
    columns = pa.Table.from_pylist(table).replace_schema_metadata(about)
    pq.write_table(columns, folder / "test.parquet", compression="zstd")


def _hub_card(name: str, configs: Sequence[str]) -> str:
    """README.md of the dataset on the Hub, which declares a configuration for each task."""
    lines = ["---", "language:", "- en", "tags:", "- compositionality", "- synthetic", "configs:"]
    for config in configs:
        lines += [f"- config_name: {config}", "  data_files:", "  - split: test"]
        lines += [f"    path: {config}/test.parquet"]
    lines += ["---", "", f"# {one_line_of_markdown(name)}", ""]
    lines += ["Questions about rendered images, made with Jackalope for lmms-eval.", ""]
    return "\n".join(lines)


def _write_vlmevalkit(
    sets: Sequence[QuestionSet], name: str, hub: str, folder: Path, progress: Progress
) -> dict[str, int]:
    """Write the TSVs, and the class that names them."""
    counts: dict[str, int] = {}
    urls: dict[str, str] = {}
    digests: dict[str, str] = {}
    for questions in sets:
        rows = questions.rows()
        path = write_vlmevalkit_tsv(questions, rows, folder=folder / "hub", progress=progress)
        counts[path.stem] = len(rows)
        # The address under which the Hub serves a file of a dataset.
        urls[path.stem] = f"https://huggingface.co/datasets/{hub}/resolve/main/{path.name}"
        # VLMEvalKit compares MD5.
        digests[path.stem] = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
    class_name = "".join(word.capitalize() for word in name.split("_"))
    program = [
        "from .image_mcq import ImageMCQDataset",
        "",
        "",
        f"class {class_name}(ImageMCQDataset):",
        '    """Which of several captions is true of a rendered image; made with Jackalope."""',
        "",
        *_dictionary("DATASET_URL", urls),
        "",
        *_dictionary("DATASET_MD5", digests),
        "",
    ]
    target = folder / "vlmeval" / "dataset" / f"{name}.py"
    target.parent.mkdir(parents=True)
    write_text(target, "\n".join(program))
    write_text(
        folder / "README.md",
        f"# {name} for VLMEvalKit\n\n"
        f"1. Upload `hub/` to the dataset {hub} of the Hugging Face Hub.\n"
        f"2. Copy `vlmeval/` over that of VLMEvalKit.\n"
        f"3. In `vlmeval/dataset/__init__.py` add `from .{name} import {class_name}`, and "
        f"`{class_name}` to the list `IMAGE_DATASET`.\n\n"
        f"`python run.py --data {' '.join(urls)} --model NAME --judge exact_matching` runs it. "
        f"Without `--judge`, a language model reads what is not a plain letter, and where it fails "
        f"a letter is drawn. Orders of one question have indices that differ by a multiple of "
        f"1,000,000 (CircularEval).\n",
    )
    return counts


def _dictionary(name: str, values: dict[str, Any]) -> list[str]:
    """The lines of an attribute of the class."""
    entries = [f"        {key!r}: {value!r}," for key, value in values.items()]
    return [f"    {name} = {{", *entries, "    }"]
