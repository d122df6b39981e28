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
from collections.abc import Callable, Iterable
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
    YES_NO,
    Candidates,
    Form,
    Question,
    make_questions,
    question_id,
)
from generator.dataset.reader import Benchmark, Dataset, World
from generator.exports import question_scores
from generator.exports.training import licence_note, whole_folder

_ASKED = {
    CHOICE: "Which caption describes the image?",
    MATCHING: "Two captions belong to two images, one to each. Which is right?",
    IMAGES: 'Which of the two images does this caption describe: "{}"?',
    YES_NO: 'Does this caption describe the image: "{}"? Answer yes or no.',
}
_LMMS_EVAL_README = """# {name}

```sh
pip install lmms-eval
lmms-eval --model NAME --tasks {name} --include_path . --log_samples --output_path logs
```

The group {name} has a task for each protocol and split. `right` is the share of right answers, `right_in_all_orders`
that of questions that are right in every order of their options, `right_items` that of items whose questions are all
right; for pairs also `text_score` and `image_score`. `…_error` is the standard error by clusters of one scene. An
answer that cannot be read, or refuses, is wrong.

lmms-eval requires an old version of filelock. If pip reports a conflict, install lmms-eval into an environment of its
own: the questions need nothing of Jackalope.
"""
_IMAGES = ["the first image", "the second image"]
_ASSIGNMENT = 'The first image shows "{}", the second image "{}"'
_LETTERS = string.ascii_uppercase
_NOT_ASKED = ("train", "retrieval")
_CIRCLE = 1_000_000
"""VLMEvalKit treats rows whose indices differ by a multiple of this number as orders of the same
question."""
Row = dict[str, Any]
"""A question in one order:

- `id` (generator.dataset.questions), `task` (the name of the export), `item`, `group` (the same in
  all orders of a question; for yes or no, in all questions of an item), `form` (choice, images or
  yes-no);
- `orders`, `questions` and `of_form`: how many questions the group has, the item, and the item in
  this form;
- `scenes`, `question`, `options` (with letters), `prompt` (all words that the model gets), `answer`
  (a letter, yes or no);
- `cluster`, `protocol`, `kind` and `split` of the item."""


@dataclass(frozen=True)
class Questions:
    """The questions of a benchmark to ask, in the same words as `score ask`.

    protocols, splits: of the items; empty for all. orders: number of cyclic orders, None for all.
    """

    dataset: Dataset
    benchmark: Benchmark
    form: Form = "choice"
    protocols: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    orders: int | None = None

    @property
    def name(self) -> str:
        """The name of the task, in lower-case letters, digits and underscores: dataset, benchmark,
        form, protocols, splits and orders, so that exports of different questions have different
        names."""
        parts = ["jackalope", self.dataset.root.resolve().name, self.benchmark.name, self.form]
        parts += [*self.protocols, *self.splits]
        if self.orders is not None and self.form != YES_NO:
            parts.append(f"{self.orders} orders")
        return _as_name(" ".join(parts))

    def rows(self) -> list[Row]:
        """The questions, by item. Raises UserError if the benchmark has no such questions."""
        items = {
            row["item_id"]: row
            for row in self.benchmark.items.to_pylist()
            if row["protocol"] not in _NOT_ASKED
        }
        for column, wanted in (("protocol", self.protocols), ("split", self.splits)):
            there = sorted({row[column] for row in items.values()})
            for name in wanted:
                if name not in there:
                    raise UserError(
                        f"The benchmark {self.benchmark.name} has no questions of the {column} "
                        f"'{name}'; {did_you_mean(name, there)}"
                    )
            items = {key: row for key, row in items.items() if row[column] in (wanted or there)}
        candidates = Candidates(self.benchmark)
        protocols = sorted({row["protocol"] for row in items.values()})
        made = make_questions(self.benchmark, candidates, protocols, self.form, self.orders)
        asked = [question for question in made if question.item in items]
        if not asked:
            raise UserError(
                f"{self.benchmark.folder} has no such questions; choose another --protocol or "
                f"--split."
            )
        whole, number = Counter(question.item for question in asked), Counter[str]()
        of_form = Counter((question.item, question.form) for question in asked)
        rows: list[Row] = []
        group, last_item = -1, ""
        for question in asked:
            number[question.item] += 1
            # Each caption of an item is asked alone in yes or no: the item is right if all its
            # answers are.
            begins_group = (
                question.item != last_item if self.form == YES_NO else question.order == 0
            )
            group, last_item = group + begins_group, question.item
            item = items[question.item]
            row = {
                "id": question_id(
                    question, number[question.item], whole[question.item], self.benchmark
                ),
                "task": self.name,
                "item": question.item,
                "group": group,
                "form": question.form,
                "questions": whole[question.item],
                "of_form": of_form[question.item, question.form],
                **_said(question, candidates),
                "cluster": item["cluster_id"],
            }
            rows.append(
                {**row, **{label: item[label] or "" for label in ("protocol", "kind", "split")}}
            )
        orders = Counter(row["group"] for row in rows)
        return [{**row, "orders": orders[row["group"]]} for row in rows]


def _said(question: Question, candidates: Candidates) -> Row:
    """The `scenes`, `question`, `options` and `answer` of a question."""
    texts = [candidates.text[row] for row in question.options]
    row: Row = {
        "scenes": candidates.images_of(question),
        "question": _ASKED[question.form].format(texts[0]),
        "options": texts,
    }
    if question.form == YES_NO:
        answer = "yes" if candidates.truth[question.options[0]] else "no"
        return {**row, "options": [], "prompt": row["question"], "answer": answer}
    if question.form == IMAGES:
        row["options"] = _IMAGES
    if question.form == MATCHING:
        first, second = texts
        row["options"] = [_ASSIGNMENT.format(first, second), _ASSIGNMENT.format(second, first)]
    lines = [
        f"{letter}. {option}" for letter, option in zip(_LETTERS, row["options"], strict=False)
    ]
    prompt = "\n".join([row["question"], *lines, "Answer with the letter alone."])
    return {**row, "prompt": prompt, "answer": _LETTERS[question.options.index(question.true or 0)]}


def export_questions(
    asked: Questions, tool: str, out: Path, progress: Progress = SILENT
) -> dict[str, int]:
    """Write questions into the folder `out` for a tool of TOOLS; returns the numbers of `questions`
    and `images`.

    Raises UserError if there are no questions, if the tool cannot ask them, or if `out` is not
    empty.
    """
    rows = asked.rows()
    with whole_folder(out) as folder:
        questions, images = TOOLS[tool](asked, rows, folder, progress)
        if note := licence_note(asked.dataset.world):
            write_text(folder / "LICENCE.md", note)
    return {"questions": questions, "images": images}


def command(asked: Questions, tool: str, out: Path) -> str:
    """The command that asks the questions in the folder `out`."""
    return {
        "lmms-eval": f"cd {out} && lmms-eval --model NAME --tasks {asked.name} --include_path . "
        f"--log_samples --output_path logs",
        "vlmevalkit": (
            f"LMUData={out.resolve()} python run.py --data {asked.name}_circular --model NAME"
        ),
        "inspect": f"cd {out} && inspect eval task.py --model NAME",
        "clip-benchmark": f"clip_benchmark eval --dataset sugar_crepe/swap_att --dataset_root "
        f"{out}/GROUP --model NAME --pretrained TAG",
    }[tool]


def _lmms_eval(
    asked: Questions, rows: list[Row], folder: Path, progress: Progress
) -> tuple[int, int]:
    """Write a group of tasks: a task, with its questions, for each protocol and split."""
    _copy("lmms_eval_utils.py.txt", folder / "utils.py")
    _copy_scoring(folder)
    write_text(folder / "README.md", _LMMS_EVAL_README.format(name=asked.name))
    parts: dict[str, list[Row]] = {}
    for row in rows:
        parts.setdefault(
            _as_name(f"{asked.name} {row['protocol']} {row['split']} part"), []
        ).append(row)
    group = [
        f"group: {asked.name}",
        "task:",
        *(f"  - {name}" for name in parts),
        "aggregate_metric_list:",
    ]
    for metric in ("right", "right_in_all_orders", "right_items"):
        group += [f"  - metric: {metric}", "    aggregation: mean", "    weight_by_size: true"]
    write_text(folder / f"{asked.name}.yaml", "\n".join([*group, ""]))
    for name, own in parts.items():
        _write_lines(own, folder / f"{name}.jsonl")
        write_text(folder / f"{name}.yaml", "\n".join([*_lmms_eval_task(name, own), ""]))
    return len(rows), _write_images(asked.dataset.world, rows, folder / "images", progress)


def _lmms_eval_task(name: str, rows: list[Row]) -> list[str]:
    """The lines of a task's YAML. Pairs of two images also have a text and an image score."""
    units = question_scores.UNITS[: None if any(row["form"] == IMAGES for row in rows) else 3]
    lines = [
        f"task: {name}",
        "dataset_path: json",
        "dataset_kwargs:",
        "  data_files:",
        f"    test: {name}.jsonl",
        "test_split: test",
        "output_type: generate_until",
        *(
            f"{function}: !function utils.{function}"
            for function in ("doc_to_visual", "doc_to_text", "process_results")
        ),
        "doc_to_target: answer",
        "cluster_key: cluster",
        "generation_kwargs:",
        "  max_new_tokens: 1024",
        "  temperature: 0",
        "  do_sample: false",
        "metric_list:",
    ]
    for metric in (unit + end for unit in units for end in ("", "_error")):
        better = "false" if metric.endswith("_error") else "true"
        lines += [
            f"  - metric: {metric}",
            f"    aggregation: !function utils.{metric}",
            f"    higher_is_better: {better}",
        ]
    return lines


def _inspect(
    asked: Questions, rows: list[Row], folder: Path, progress: Progress
) -> tuple[int, int]:
    _write_lines(rows, folder / "questions.jsonl")
    _copy("inspect_task.py.txt", folder / "task.py")
    _copy_scoring(folder)
    return len(rows), _write_images(asked.dataset.world, rows, folder / "images", progress)


def _vlmevalkit(
    asked: Questions, rows: list[Row], folder: Path, progress: Progress
) -> tuple[int, int]:
    """Write a TSV. The first row of an image holds the image; its other rows refer to the index of
    the first row."""
    if asked.form == YES_NO:
        raise UserError("A TSV of VLMEvalKit has options with letters; leave --form yes-no out.")
    if rows[-1]["group"] >= _CIRCLE:
        raise UserError(
            f"VLMEvalKit takes at most {_CIRCLE:,} questions, got more; choose a --split."
        )
    letters = _LETTERS[: max(len(row["options"]) for row in rows)]
    first: dict[str, int] = {}
    order, group, lines = 0, -1, []
    for row in progress.each(rows, "writing", len(rows)):
        order, group = (order + 1 if row["group"] == group else 0), row["group"]
        index = group + _CIRCLE * order
        scenes = row["scenes"]
        if len(scenes) == 1 and (known := first.setdefault(scenes[0], index)) != index:
            image = str(known)
        else:
            pictures = [_base64(asked.dataset.world, scene) for scene in scenes]
            image = pictures[0] if len(pictures) == 1 else str(pictures)
        options = dict.fromkeys(letters, "")
        options |= dict(zip(options, row["options"], strict=False))
        category = " ".join(filter(None, (row["protocol"], row["kind"], row["split"])))
        told = {
            "category": category,
            **{name: row[name] for name in ("question", "answer", "split", "id")},
        }
        lines.append({"index": str(index), "image": image, **options, **told})
    write_csv(folder / f"{asked.name}_circular.tsv", pa.Table.from_pylist(lines), delimiter="\t")
    return len(rows), len({scene for row in rows for scene in row["scenes"]})


def _base64(world: World, scene: str) -> str:
    return base64.b64encode(world.read(f"images/{scene}.png")).decode()


def _clip_benchmark(
    asked: Questions, rows: list[Row], folder: Path, progress: Progress
) -> tuple[int, int]:
    """Write a folder for each protocol, kind and split, in SugarCrepe's layout: swap_att.json and
    val2017/. CLIP_benchmark accepts only SugarCrepe's seven file names."""
    last = {row["group"]: row for row in rows}.values()
    alone = Counter(row["item"] for row in last)
    pairs = [row for row in last if alone[row["item"]] == 1 and len(row["options"]) == 2]
    if not pairs:
        raise UserError(
            f"CLIP_benchmark compares two captions of an image, and {asked.benchmark.folder} has "
            f"no such items; "
            "leave --form yes-no out, or choose another --protocol, such as binary."
        )
    groups: dict[str, Row] = {}
    for row in pairs:
        true = _LETTERS.index(row["answer"])
        captions = {"caption": row["options"][true], "negative_caption": row["options"][1 - true]}
        name = "-".join(filter(None, (row["protocol"], row["kind"], row["split"])))
        groups.setdefault(name, {})[row["item"]] = {
            "filename": f"{row['scenes'][0]}.png",
            **captions,
        }
    for name, found in groups.items():
        (folder / name).mkdir()
        write_json(folder / name / "swap_att.json", found)
        (folder / name / "val2017").symlink_to("../val2017")
    return len(pairs), _write_images(asked.dataset.world, pairs, folder / "val2017", progress)


TOOLS: dict[str, Callable[[Questions, list[Row], Path, Progress], tuple[int, int]]] = {
    "lmms-eval": _lmms_eval,
    "vlmevalkit": _vlmevalkit,
    "inspect": _inspect,
    "clip-benchmark": _clip_benchmark,
}
"""The function that writes the questions for each tool; returns the numbers of questions and of
images."""


def _write_lines(rows: Iterable[Row], path: Path) -> None:
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _copy(name: str, to: Path) -> None:
    """Copy the program `name`, written for another tool and stored beside this file."""
    write_text(to, Path(__file__).with_name(name).read_text(encoding="utf-8"))


def _copy_scoring(folder: Path) -> None:
    """Copy the reader of answers, which is the very package that `score ask` uses, and the scores
    of questions."""
    reader = Path(answer_reader.__file__).parent
    (folder / reader.name).mkdir()
    for module in sorted(reader.glob("*.py")):
        write_text(folder / reader.name / module.name, module.read_text(encoding="utf-8"))
    scores = Path(question_scores.__file__)
    # The copies lie side by side, outside the package.
    text = scores.read_text(encoding="utf-8").replace(
        f"from {answer_reader.__name__} import", "from answer_reader import"
    )
    write_text(folder / scores.name, text)


def _as_name(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _write_images(world: World, rows: Iterable[Row], folder: Path, progress: Progress) -> int:
    folder.mkdir()
    scenes = list(dict.fromkeys(scene for row in rows for scene in row["scenes"]))
    for scene in progress.each(scenes, "writing", len(scenes)):
        (folder / f"{scene}.png").write_bytes(world.read(f"images/{scene}.png"))
    return len(scenes)
