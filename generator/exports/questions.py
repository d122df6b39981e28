"""`gen export lmms-eval`, `vlmevalkit`, `inspect` and `clip-benchmark`: the questions of a
benchmark in folders that these tools can run directly.

The questions are the same as in `score ask`. A question's id contains its item and options, so
`score measure --items` can read the logs of these tools.
"""

import base64
import json
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from generator.base.errors import UserError, did_you_mean
from generator.base.files import write_json, write_text
from generator.base.progress import SILENT, Progress
from generator.base.tables import write_csv
from generator.dataset import answer_reader
from generator.dataset.questions import (
    CHOICE,
    IMAGES,
    MATCHING,
    QUARTER_TURNS,
    SAME_SCENE,
    TAKEN_FROM,
    WITHOUT_RIGHT_ANSWER,
    YES_NO,
    Candidates,
    Form,
    Question,
    make_questions,
    question_id,
)
from generator.dataset.reader import Benchmark, Dataset, World
from generator.exports import question_scores
from generator.exports.copies import copy_package
from generator.exports.training import export_folder, licence_note

_WORDING = {
    CHOICE: "Which of these captions is true of the image?",
    MATCHING: "Two captions belong to two images, one to each. Which is right?",
    IMAGES: "Image A is the first image and image B the second. Of which of the two is this caption "
    'true: "{}"',
    SAME_SCENE: "The first image shows a scene. Which of the other two images shows the same scene from "
    "another side: A, the second image, or B, the third?",
    QUARTER_TURNS: "The two images show one scene from two sides. By how many quarter turns around the "
    "scene did the camera move from the first image to the second?",
    TAKEN_FROM: "The two images show one scene from two sides. From where was the second image taken?",
    YES_NO: 'Does this figure show "{}"? Please answer yes or no.',
}
"""The words of each form of question; "{}" stands for the caption. They are those of `score ask`
(evaluator/scoring/words/prompt.toml), so that answers in other tools can be compared with its."""
_LMMS_EVAL_README = """# {name}

```sh
pip install lmms-eval "filelock<4"
lmms-eval --model NAME --tasks {name} --include_path . --log_samples --output_path logs
```

The group {name} has a task for each protocol and split, and no total: a mean over splits answers nothing. `right` is the share of right answers, `right_in_all_orders`
that of questions that are right in every order of their options, `right_items` that of items whose questions are all
right; for pairs also `text_score`, `image_score`, `group_score` (both) and `matching_score` (which caption belongs to
which image). They are over all kinds of a protocol; `score measure --items` of Jackalope tells kinds apart. `…_error` is
the standard error by clusters of one scene. lmms-eval fills its own columns Stderr only for `right`, and without the
correction for few clusters. An answer that cannot be read, or refuses, is wrong.

With filelock 4, which Jackalope requires, lmms-eval 0.7 ends with "No module named 'filelock._api'". Install lmms-eval into
an environment of its own: the questions need nothing of Jackalope.
"""
_IMAGES = ["the first image", "the second image"]
_OTHER_IMAGES = ["the second image", "the third image"]
_ASSIGNMENT = 'The first image shows "{}", the second image "{}"'
_LETTERS = string.ascii_uppercase
_NOT_ASKED = ("train", "retrieval")
"""Protocols without questions in words."""
_CIRCLE = 1_000_000
"""VLMEvalKit treats rows whose indices differ by a multiple of this number as orders of the same
question."""
Row = dict[str, Any]
"""A question in one order:

- `id` (generator.dataset.questions), `task` (the name of the export), `item`, `group` (the same in
  all orders of a question; for yes or no, in all questions of an item), `form` (choice, images or
  yes-no);
- `orders`, `questions` and `of_form`: how many questions the group has, the item, and the item in
  this form; `of_group_score`: how many of the item the group score of a pair counts, 0 if the item
  is not a pair;
- `scenes`, `question`, `options` (with letters), `prompt` (all words that the model gets), `answer`
  (a letter, yes or no);
- `cluster`, `protocol`, `kind` and `split` of the item."""


@dataclass(frozen=True)
class QuestionSet:
    """Questions of a benchmark to export, in the same words as `score ask`."""

    dataset: Dataset
    """The dataset."""
    benchmark: Benchmark
    """A benchmark of it."""
    form: Form = "choice"
    """Whether a question has options ("choice") or is about a single caption ("yes-no")."""
    protocols: tuple[str, ...] = ()
    """Protocols of the items; empty for all."""
    splits: tuple[str, ...] = ()
    """Splits of the items; empty for all."""
    orders: int | None = None
    """Number of cyclic orders in which a choice is asked; None for all."""
    title: str | None = None
    """What the dataset is called in the name of the task; None for the name of its folder."""

    @property
    def name(self) -> str:
        """The name of the task, in lower-case letters, digits and underscores: dataset, benchmark,
        form, protocols, splits and orders, so that exports of different questions have different
        names."""
        title = self.title or self.dataset.root.resolve().name
        parts = ["jackalope", title, self.benchmark.name, self.form]
        parts += [*self.protocols, *self.splits]
        if self.orders is not None and self.form != YES_NO:
            parts.append(f"{self.orders} orders")
        return as_name(" ".join(parts))

    def rows(self) -> list[Row]:
        """Make the questions.

        Returns:
            The questions, by item.

        Raises:
            UserError: The benchmark has no such questions.
        """
        items = self._items()
        candidates = Candidates(self.benchmark)
        protocols = sorted({item["protocol"] for item in items.values()})
        all_questions = make_questions(
            self.benchmark,
            candidates,
            protocols=protocols,
            form=self.form,
            orders=self.orders,
        )
        # `make_questions` takes whole protocols; splits and kinds that are not asked go here.
        questions = [question for question in all_questions if question.item in items]
        if not questions:
            raise UserError(
                f"{self.benchmark.folder} has no such questions; choose another --protocol or "
                f"--split."
            )

        n_of_item = Counter(question.item for question in questions)
        n_of_form = Counter((question.item, question.form) for question in questions)
        groups = _groups_of(questions, by_item=self.form == YES_NO)
        n_of_group = Counter(groups)
        numbers = Counter[str]()
        rows: list[Row] = []
        for question, group in zip(questions, groups, strict=True):
            numbers[question.item] += 1
            item = items[question.item]
            row = {
                "id": question_id(
                    question,
                    number=numbers[question.item],
                    whole=n_of_item[question.item],
                    benchmark=self.benchmark,
                ),
                "task": self.name,
                "item": question.item,
                "group": group,
                "form": question.form,
                "questions": n_of_item[question.item],
                "of_form": n_of_form[question.item, question.form],
                "of_group_score": _number_of_group_score(question.item, n_of_form),
                **question_words(question, candidates),
                "cluster": item["cluster_id"],
            }
            for label in ("protocol", "kind", "split"):
                row[label] = item[label] or ""
            row["orders"] = n_of_group[group]
            rows.append(row)
        return rows

    def _items(self) -> dict[str, Row]:
        """The rows of the items to ask about, by item_id. Raises UserError for an unknown protocol
        or split."""
        items: dict[str, Row] = {}
        for item in self.benchmark.items.to_pylist():
            # Tools count right answers, so they cannot ask which frame a model assumes.
            has_right_answer = (item["protocol"], item["kind"]) != WITHOUT_RIGHT_ANSWER
            if item["protocol"] not in _NOT_ASKED and has_right_answer:
                items[item["item_id"]] = item
        if not items:
            raise UserError(
                f"{self.benchmark.folder} has no questions with a right answer; a benchmark of the "
                f"preset 'bare' is for `score ask` and `score run`."
            )
        for column, requested in (("protocol", self.protocols), ("split", self.splits)):
            names = sorted({item[column] for item in items.values()})
            for name in requested:
                if name not in names:
                    raise UserError(
                        f"The benchmark {self.benchmark.name} has no questions of the {column} "
                        f"'{name}'; {did_you_mean(name, names)}"
                    )
            if requested:
                items = {key: item for key, item in items.items() if item[column] in requested}
        return items


def _number_of_group_score(item: str, n_of_form: Mapping[tuple[str, str], int]) -> int:
    """How many questions of an item its group score counts; 0 if none is about images."""
    about_images = n_of_form.get((item, IMAGES), 0)
    if about_images == 0:
        return 0
    return about_images + n_of_form.get((item, CHOICE), 0)


def _groups_of(questions: Sequence[Question], *, by_item: bool) -> list[int]:
    """Number the group of each question: the orders of a question, which follow each other; or if
    `by_item` the questions about an item, each about a caption, which are right together."""
    groups: list[int] = []
    group = -1
    last_item = ""
    for question in questions:
        begins_group = question.item != last_item if by_item else question.order == 0
        if begins_group:
            group += 1
        last_item = question.item
        groups.append(group)
    return groups


def question_words(question: Question, candidates: Candidates) -> Row:
    """Put a question into words.

    Args:
        question: The question.
        candidates: The candidates of its benchmark.

    Returns:
        The `scenes`, `question`, `options`, `prompt` and `answer` of its row.
    """
    texts = [candidates.text[row] for row in question.options]
    row: Row = {
        "scenes": candidates.images_of(question),
        "question": _WORDING[question.form].format(texts[0]),
        "options": texts,
    }
    if question.form == YES_NO:
        answer = "yes" if candidates.truth[question.options[0]] else "no"
        return {**row, "options": [], "prompt": row["question"], "answer": answer}
    if question.form == IMAGES:
        row["options"] = _IMAGES
    if question.form == SAME_SCENE:
        row["options"] = _OTHER_IMAGES
    if question.form == MATCHING:
        first, second = texts
        row["options"] = [_ASSIGNMENT.format(first, second), _ASSIGNMENT.format(second, first)]
    lines = [
        f"{letter}. {option}" for letter, option in zip(_LETTERS, row["options"], strict=False)
    ]
    # A question about two images names them itself; VLMEvalKit still gets them as options.
    option_lines = [] if question.form in (IMAGES, SAME_SCENE) else lines
    prompt = "\n".join([row["question"], *option_lines, "Answer with its letter."])
    # Only yes or no, which was answered above, has no true option.
    answer = _LETTERS[question.options.index(question.true or 0)]
    return {**row, "prompt": prompt, "answer": answer}


def export_questions(
    questions: QuestionSet, *, tool: str, out: Path, progress: Progress = SILENT
) -> dict[str, int]:
    """Write questions into a folder that a tool can run directly.

    Args:
        questions: The questions.
        tool: A name of TOOLS.
        out: New folder.
        progress: Shown while writing.

    Returns:
        The numbers of `questions` and `images`.

    Raises:
        UserError: There are no questions, the tool cannot ask them, or `out` is not empty.
    """
    rows = questions.rows()
    with export_folder(out) as folder:
        n_questions, n_images = TOOLS[tool](questions, rows, folder, progress)
        note = licence_note(questions.dataset.world)
        if note:
            write_text(folder / "LICENCE.md", note)
    return {"questions": n_questions, "images": n_images}


def command(questions: QuestionSet, tool: str, out: Path) -> str:
    """Compose the command that asks exported questions.

    Args:
        questions: The questions.
        tool: A name of TOOLS.
        out: Their folder.

    Returns:
        A command line; words in capital letters are for the user to replace.
    """
    name = questions.name
    return {
        "lmms-eval": f"cd {out} && lmms-eval --model NAME --tasks {name} --include_path . "
        f"--log_samples --output_path logs",
        "vlmevalkit": (
            f"LMUData={out.resolve()} python run.py --data {name}_circular --model NAME "
            "--judge exact_matching"
        ),
        "inspect": f"cd {out} && inspect eval task.py --model NAME",
        "clip-benchmark": f"clip_benchmark eval --dataset sugar_crepe/swap_att --dataset_root "
        f"{out}/GROUP --model NAME --pretrained TAG",
    }[tool]


def _lmms_eval(
    questions: QuestionSet, rows: list[Row], folder: Path, progress: Progress
) -> tuple[int, int]:
    """Write a group of tasks: a task, with its questions, for each protocol and split."""
    write_lmms_eval_functions(folder)
    write_text(folder / "README.md", _LMMS_EVAL_README.format(name=questions.name))
    rows_of_task = rows_by_task(questions, rows)
    # No aggregate_metric_list: lmms-eval would weight items by their questions, average the errors,
    # and mix seen with unseen.
    group = [f"group: {questions.name}", "task:"]
    group += [f"  - {task}" for task in rows_of_task]
    write_text(folder / f"{questions.name}.yaml", "\n".join([*group, ""]))
    for task, task_rows in rows_of_task.items():
        _write_lines(task_rows, folder / f"{task}.jsonl")
        source = ["dataset_path: json", "dataset_kwargs:", "  data_files:"]
        source.append(f"    test: {task}.jsonl")
        lines = lmms_eval_task(task, task_rows, source)
        write_text(folder / f"{task}.yaml", "\n".join([*lines, ""]))
    return len(rows), _write_images(
        questions.dataset.world, rows, folder=folder / "images", progress=progress
    )


def write_lmms_eval_functions(folder: Path) -> None:
    """Write the functions of tasks of lmms-eval: utils.py, the reader of answers and the scores.

    Args:
        folder: The folder of the tasks.
    """
    _copy("lmms_eval_utils.py.txt", folder / "utils.py")
    _copy_scoring(folder)


def rows_by_task(questions: QuestionSet, rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Divide questions into tasks.

    Args:
        questions: Their set.
        rows: The questions.

    Returns:
        The questions of each protocol and split, by the name of the task.
    """
    rows_of_task: dict[str, list[Row]] = {}
    for row in rows:
        # Without the last word, a task had the name of the group of another export, one with
        # --protocol and --split.
        task = as_name(f"{questions.name} {row['protocol']} {row['split']} part")
        rows_of_task.setdefault(task, []).append(row)
    return rows_of_task


def lmms_eval_task(name: str, rows: list[Row], source: Sequence[str]) -> list[str]:
    """Compose the YAML of a task of lmms-eval. Pairs of two images also have the scores of pairs.

    Args:
        name: Name of the task.
        rows: Its questions.
        source: The lines that say where its questions are, as the split test.

    Returns:
        The lines.
    """
    has_pairs = any(row["form"] == IMAGES for row in rows)
    units = question_scores.UNITS if has_pairs else question_scores.UNITS[:3]
    lines = [
        f"task: {name}",
        *source,
        "test_split: test",
        "output_type: generate_until",
    ]
    for function in ("doc_to_visual", "doc_to_text", "process_results"):
        lines.append(f"{function}: !function utils.{function}")
    lines += [
        "doc_to_target: answer",
        "cluster_key: cluster",
        "generation_kwargs:",
        "  max_new_tokens: 1024",
        "  temperature: 0",
        "  do_sample: false",
        "metric_list:",
    ]
    for unit in units:
        for metric, is_better in ((unit, "true"), (f"{unit}_error", "false")):
            lines += [
                f"  - metric: {metric}",
                f"    aggregation: !function utils.{metric}",
                f"    higher_is_better: {is_better}",
            ]
    return lines


def _inspect(
    questions: QuestionSet, rows: list[Row], folder: Path, progress: Progress
) -> tuple[int, int]:
    _write_lines(rows, folder / "questions.jsonl")
    _copy("inspect_task.py.txt", folder / "task.py")
    _copy_scoring(folder)
    return len(rows), _write_images(
        questions.dataset.world, rows, folder=folder / "images", progress=progress
    )


def _vlmevalkit(
    questions: QuestionSet, rows: list[Row], folder: Path, progress: Progress
) -> tuple[int, int]:
    write_vlmevalkit_tsv(questions, rows, folder=folder, progress=progress)
    return len(rows), len({scene for row in rows for scene in row["scenes"]})


def write_vlmevalkit_tsv(
    questions: QuestionSet, rows: list[Row], *, folder: Path, progress: Progress
) -> Path:
    """Write the TSV of VLMEvalKit. The first row of an image holds the image; its other rows refer
    to the index of the first row.

    Args:
        questions: The set of the questions.
        rows: The questions.
        folder: The folder to write into.
        progress: Shown while writing.

    Returns:
        The file.

    Raises:
        UserError: The questions have no options, or are too many.
    """
    if questions.form == YES_NO:
        raise UserError("A TSV of VLMEvalKit has options with letters; leave --form yes-no out.")
    if rows[-1]["group"] >= _CIRCLE:
        raise UserError(
            f"VLMEvalKit takes at most {_CIRCLE:,} questions, got more; choose a --split."
        )
    letters = _LETTERS[: max(len(row["options"]) for row in rows)]
    lines = list(
        _vlmevalkit_lines(questions.dataset.world, rows, letters=letters, progress=progress)
    )
    table = pa.Table.from_pylist(lines)
    path = folder / f"{questions.name}_circular.tsv"
    write_csv(path, table, delimiter="\t")
    return path


def _vlmevalkit_lines(
    world: World, rows: Sequence[Row], *, letters: str, progress: Progress
) -> Iterator[dict[str, str]]:
    """The rows of the TSV. `letters`: those of the most options of a question."""
    first_index_of_scene: dict[str, int] = {}
    order = 0
    group = -1
    for row in progress.follow(rows, "writing", total=len(rows)):
        order = order + 1 if row["group"] == group else 0
        group = row["group"]
        # Orders of one question differ by multiples of the circle (CircularEval).
        index = group + _CIRCLE * order

        # Only a single image can be referred to.
        scenes = row["scenes"]
        first_index = index
        if len(scenes) == 1:
            first_index = first_index_of_scene.setdefault(scenes[0], index)
        if first_index != index:
            image = str(first_index)
        else:
            pictures = [_base64(world, scene) for scene in scenes]
            image = pictures[0] if len(pictures) == 1 else str(pictures)

        # A question with fewer options than others leaves the last letters empty.
        options = dict.fromkeys(letters, "")
        options |= dict(zip(options, row["options"], strict=False))
        yield {
            "index": str(index),
            "image": image,
            **options,
            "category": " ".join(_labels_of(row)),
            "question": row["question"],
            "answer": row["answer"],
            "split": row["split"],
            "id": row["id"],
        }


def _labels_of(row: Row) -> list[str]:
    """Protocol, kind and split of a question, without those that it lacks."""
    return [row[label] for label in ("protocol", "kind", "split") if row[label]]


def _base64(world: World, scene: str) -> str:
    return base64.b64encode(world.read(f"images/{scene}.png")).decode()


def _clip_benchmark(
    questions: QuestionSet, rows: list[Row], folder: Path, progress: Progress
) -> tuple[int, int]:
    """Write a folder for each protocol, kind and split, in SugarCrepe's layout: swap_att.json and
    val2017/. CLIP_benchmark accepts only SugarCrepe's seven file names."""
    # The tool knows no orders: of each question, its last order stands for all.
    row_of_group = {row["group"]: row for row in rows}
    # An item with several questions has several captions, of which the tool would compare just two.
    n_of_item = Counter(row["item"] for row in row_of_group.values())
    pairs = []
    for row in row_of_group.values():
        has_one_image = row["form"] == CHOICE
        if has_one_image and n_of_item[row["item"]] == 1 and len(row["options"]) == 2:
            pairs.append(row)
    if not pairs:
        raise UserError(
            f"CLIP_benchmark compares two captions of an image, and {questions.benchmark.folder} "
            f"has no such items; "
            "leave --form yes-no out, or choose another --protocol, such as binary."
        )
    entries_of_group: dict[str, Row] = {}
    for row in pairs:
        true = _LETTERS.index(row["answer"])
        entry = {
            "filename": f"{row['scenes'][0]}.png",
            "caption": row["options"][true],
            "negative_caption": row["options"][1 - true],
        }
        entries_of_group.setdefault("-".join(_labels_of(row)), {})[row["item"]] = entry
    for name, entries in entries_of_group.items():
        (folder / name).mkdir()
        write_json(folder / name / "swap_att.json", entries)
        # All groups show the same images, under the path that SugarCrepe's loader expects.
        (folder / name / "val2017").symlink_to("../val2017")
    n_images = _write_images(
        questions.dataset.world, pairs, folder=folder / "val2017", progress=progress
    )
    return len(pairs), n_images


TOOLS: dict[str, Callable[[QuestionSet, list[Row], Path, Progress], tuple[int, int]]] = {
    "lmms-eval": _lmms_eval,
    "vlmevalkit": _vlmevalkit,
    "inspect": _inspect,
    "clip-benchmark": _clip_benchmark,
}
"""The function that writes the questions for each tool; returns the numbers of questions and of
images."""


def _write_lines(rows: Iterable[Row], path: Path) -> None:
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    write_text(path, "".join(lines))


def _copy(name: str, to: Path) -> None:
    """Copy the program `name`, written for another tool and stored beside this file."""
    write_text(to, Path(__file__).with_name(name).read_text(encoding="utf-8"))


def _copy_scoring(folder: Path) -> None:
    """Copy the reader of answers, which is the very package that `score ask` uses, and the scores
    of questions."""
    copy_package(answer_reader, folder)
    scores = Path(question_scores.__file__)
    # The copies lie side by side, outside the package.
    text = scores.read_text(encoding="utf-8").replace(
        f"from {answer_reader.__name__} import", "from answer_reader import"
    )
    write_text(folder / scores.name, text)


def as_name(text: str) -> str:
    """Make a name of a text.

    Args:
        text: Any text.

    Returns:
        Its lower-case letters and digits, with _ between words.
    """
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _write_images(world: World, rows: Iterable[Row], *, folder: Path, progress: Progress) -> int:
    """Write the image of each scene once; returns their number."""
    folder.mkdir()
    scenes = list(dict.fromkeys(scene for row in rows for scene in row["scenes"]))
    for scene in progress.follow(scenes, "writing", total=len(scenes)):
        (folder / f"{scene}.png").write_bytes(world.read(f"images/{scene}.png"))
    return len(scenes)
