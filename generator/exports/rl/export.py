"""Writes the questions of a benchmark for a trainer, with the reward functions."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from jinja2 import Environment, PackageLoader

from generator.base.errors import UserError, one_line_of_markdown
from generator.base.files import write_text
from generator.base.progress import SILENT, Progress
from generator.dataset import answer_reader, descriptions, relations
from generator.dataset.certificate import describe_certificate
from generator.exports.copies import copy_module, copy_package
from generator.exports.questions import as_name
from generator.exports.rl.formats import FORMATS, Format, Row
from generator.exports.rl.questions import RewardedQuestions
from generator.exports.training import export_folder, licence_note

_ROWS = 200
"""Rows of a row group. Rows about one image follow each other, so that compression stores its bytes
about once."""
_REWARDS = "jackalope_rewards"
"""The package of an export that rewards answers."""
_REWARDS_INIT = '''"""Rewards answers, and writes right ones. Copied by `gen export rl`."""

from .descriptions.rewards import Reward
from .descriptions.tasks import answer_reward, gold_answer

__all__ = ["Reward", "answer_reward", "gold_answer"]
'''
_TESTED = ("seen", "partial", "unseen")
"""The splits to report, in the order of reports."""


def export_rl(
    questions: RewardedQuestions, *, format_name: str, out: Path, progress: Progress = SILENT
) -> dict[str, dict[str, int]]:
    """Write questions with their images and rewards into a folder that a trainer reads.

    Each split has a Parquet file of its own, so that nothing but `train` is trained on by mistake.

    Args:
        questions: The questions of a benchmark.
        format_name: A name of FORMATS.
        out: New folder.
        progress: Shown while writing.

    Returns:
        The number of questions by split and task.

    Raises:
        UserError: `out` is not empty, an image or a scene is damaged, or there are no questions.
    """
    chosen = FORMATS[format_name]
    # A name that starts with the project's cannot clash with a package of the trainer.
    dataset = questions.dataset
    package = as_name(f"jackalope {dataset.root.resolve().name} {questions.benchmark.name}")
    with export_folder(out) as folder:
        data = folder / chosen.data.replace("PACKAGE", package)
        data.mkdir(parents=True, exist_ok=True)
        counts = _write_data(questions, chosen, folder=data, name=package, progress=progress)
        if not counts:
            raise UserError(f"{questions.benchmark.folder} has no questions of these tasks.")
        _write_rewards(data.parent if "PACKAGE" in chosen.data else data)
        _write_programs(questions, format_name, folder, package=package, counts=counts)
        note = licence_note(dataset.world)
        if note:
            write_text(folder / "LICENCE.md", note)
    return counts


def _write_data(
    questions: RewardedQuestions, chosen: Format, *, folder: Path, name: str, progress: Progress
) -> dict[str, dict[str, int]]:
    """Write a file for each split; returns the number of questions by split and task."""
    world = questions.dataset.world
    counts: dict[str, Counter[str]] = {}
    rows_of_split: dict[str, list[Row]] = {}
    files: dict[str, pq.ParquetWriter] = {}
    images = progress.follow(questions.by_image(), "writing", total=questions.n_images)
    with ExitStack() as stack:
        for of_image in images:
            # An image may have no question of the requested tasks.
            if not of_image:
                continue
            split = of_image[0].split
            if split not in files:
                path = folder / f"{split}.parquet"
                writer = pq.ParquetWriter(path, chosen.schema, compression="zstd")
                files[split] = stack.enter_context(writer)
                rows_of_split[split] = []
                counts[split] = Counter()
            png = world.read(f"images/{of_image[0].scene_id}.png")
            for question in of_image:
                rows_of_split[split].append(chosen.row(question, png, name))
                counts[split][question.task] += 1
            # Only after all rows of an image, so that they stay in one row group and share its
            # bytes.
            if len(rows_of_split[split]) >= _ROWS:
                _flush(rows_of_split[split], files[split])
        for split, rows in rows_of_split.items():
            _flush(rows, files[split])
    return {split: dict(counts[split]) for split in _in_order(counts)}


def _flush(rows: list[Row], file: pq.ParquetWriter) -> None:
    if rows:
        file.write_batch(pa.RecordBatch.from_pylist(rows, schema=file.schema))
        rows.clear()


def _in_order(splits: Iterable[str]) -> Iterator[str]:
    """Train and val, then the splits to report, then others by name."""
    names = set(splits)
    known = [split for split in ("train", "val", *_TESTED) if split in names]
    yield from known
    yield from sorted(names.difference(known))


def _write_rewards(folder: Path) -> None:
    """Copy what rewards answers: the very code that `evaluator.rewards` has."""
    package = folder / _REWARDS
    package.mkdir()
    write_text(package / "__init__.py", _REWARDS_INIT)
    copy_package(answer_reader, package)
    copy_package(descriptions, package)
    copy_module(relations, package)


def _write_programs(
    questions: RewardedQuestions,
    format_name: str,
    folder: Path,
    *,
    package: str,
    counts: dict[str, dict[str, int]],
) -> None:
    """Write the programs of a format, and README.md."""
    environment = Environment(
        loader=PackageLoader("generator.exports.rl", "."),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    benchmark = questions.benchmark
    world = questions.dataset.world
    entries = {
        "package": package,
        "format": format_name,
        "counts": counts,
        "tasks": questions.tasks,
        "reported": [split for split in counts if split not in ("train", "val")],
        "benchmark": benchmark.name,
        "digest": benchmark.digest,
        # Names of a family of the user, and of a certificate, must not become markup.
        "held_out": one_line_of_markdown(str(benchmark.manifest.get("held_out") or "")),
        "certificate": one_line_of_markdown(describe_certificate(benchmark, world)),
        "left_out": questions.left_out,
    }
    programs = {**FORMATS[format_name].programs, "README.md": "README.md.jinja"}
    for path, source in programs.items():
        # Programs without placeholders pass through unchanged.
        text = environment.get_template(source).render(entries)
        write_text(folder / path.replace("PACKAGE", package), text)
