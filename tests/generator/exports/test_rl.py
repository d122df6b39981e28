"""Questions with rewards for trainers: right answers earn 1 by the exported files alone, answers
that do not look earn little, and each format has the columns of its trainer."""

import ast
import io
import json
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image

from evaluator.rewards import description_reward
from generator.dataset import answer_reader, descriptions, relations
from generator.dataset.descriptions.tasks import TASKS, gold_answer
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.image_truths import read_truths
from generator.dataset.reader import Dataset
from tests.conftest import refuse, succeed
from tests.generator.dataset.descriptions.test_rewards import ATTACKS, blind_answer
from tests.generator.dataset.descriptions.worlds import make_world
from tests.generator.unrendered import BENCHMARK, write_texts, write_world
from tests.paths import CHECKOUT

FORMATS = ("verifiers", "verl", "easyr1", "trl")
TESTED = ("seen", "partial", "unseen")
LABELS = ["id", "task", "split", "scene_id", "objects", "interference", "load"]
JUDGE = """
import importlib.util, json, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("generator", "evaluator", "jackalope"):
            raise ImportError(f"the export needs {name}")

sys.meta_path.insert(0, Refuse())
format_name, path = sys.argv[1:]
spec = importlib.util.spec_from_file_location("reward_file", path)
module = importlib.util.module_from_spec(spec)
sys.modules["reward_file"] = module
spec.loader.exec_module(module)
answers = json.load(sys.stdin)
if format_name == "verl":
    rewards = [module.compute_score("source", answer, record, {})["score"] for answer, record in answers]
elif format_name == "easyr1":
    inputs = [{"response": answer, "response_length": 1, "ground_truth": record} for answer, record in answers]
    rewards = [score["overall"] for score in module.compute_score(inputs)]
elif format_name == "trl":
    (reward,) = module.REWARD_FUNCS
    completions = [[{"role": "assistant", "content": answer}] for answer, _ in answers]
    rewards = reward(completions=completions, truth=[record for _, record in answers], prompts=None)
else:
    rewards = [module.answer_reward(answer, record).value for answer, record in answers]
json.dump(rewards, sys.stdout)
"""
"""Rewards answers by the file of an export, in a process that cannot import this project."""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """A world of two to four objects in all relations."""
    return make_world(tmp_path_factory, "clevr-relations", (2, 4))


@pytest.fixture(scope="module")
def truths(dataset: Dataset) -> list[ImageTruth]:
    """The records of its evaluation images."""
    return list(read_truths(dataset.world, dataset.benchmark(BENCHMARK), TESTED))


@pytest.fixture(scope="module", params=FORMATS)
def export(
    request: pytest.FixtureRequest, dataset: Dataset, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """The name of a format, and the folder of an export in it."""
    out = tmp_path_factory.mktemp("rl") / request.param
    succeed("gen export rl", dataset.root, "--format", request.param, "--out", out)
    return request.param, out


def package_of(out: Path) -> Path:
    """The package of an export for verifiers."""
    (taskset,) = out.glob("*/taskset.py")
    return taskset.parent


def data_of(format_name: str, out: Path) -> Path:
    """The folder of the Parquet files."""
    return package_of(out) / "data" if format_name == "verifiers" else out


def rows_of(format_name: str, out: Path, *splits: str) -> list[dict[str, Any]]:
    """The rows of some splits, each with its words, image, record and labels."""
    rows = []
    for split in splits:
        for row in pq.read_table(data_of(format_name, out) / f"{split}.parquet").to_pylist():
            if format_name == "verifiers":
                parts = (row["prompt"], row["image"], row["truth"], row)
            elif format_name == "verl":
                words = row["prompt"][0]["content"].removeprefix("<image>\n")
                record = row["reward_model"]["ground_truth"]
                parts = (words, row["images"][0]["bytes"], record, row["extra_info"])
            elif format_name == "easyr1":
                words = row["problem"].removeprefix("<image>\n")
                parts = (words, row["images"][0]["bytes"], row["answer"], row)
            else:
                words = row["prompt"][0]["content"]
                parts = (words, row["images"][0]["bytes"], row["truth"], row)
            prompt, png, record, labels = parts
            row_labels = {name: labels[name] for name in LABELS}
            rows.append({"prompt": prompt, "png": png, "record": record, **row_labels})
    return rows


def rewards_of(format_name: str, out: Path, answers: Sequence[tuple[str, str]]) -> list[float]:
    """What (answer, record) pairs earn by the file that a trainer loads."""
    name = {
        "verifiers": "jackalope_rewards/__init__.py",
        "trl": "reward_funcs.py",
    }.get(format_name, "reward.py")
    path = (package_of(out) if format_name == "verifiers" else out) / name
    done = subprocess.run(
        [sys.executable, "-I", "-c", JUDGE, format_name, path],
        input=json.dumps(list(answers)),
        capture_output=True,
        text=True,
        cwd="/",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rewards: list[float] = json.loads(done.stdout)
    return rewards


def test_every_right_answer_earns_one_without_this_project(export: tuple[str, Path]) -> None:
    rows = rows_of(*export, "train", "val", *TESTED)
    assert {row["task"] for row in rows} == set(TASKS)
    answers = [(gold_answer(row["record"]), row["record"]) for row in rows]
    assert rewards_of(*export, answers) == [1.0] * len(rows)


def test_attacks_earn_at_most_the_blind_floor(
    export: tuple[str, Path], truths: list[ImageTruth]
) -> None:
    records = {}
    for row in rows_of(*export, *TESTED):
        records[row["scene_id"], row["task"]] = row["record"]
    for task in ("describe", "relations"):
        related = task == "relations"
        answers = []
        for index, truth in enumerate(truths):
            record = records[truth.scene_id, task]
            attempts = [blind_answer(truths, index, draw, related) for draw in range(5)]
            attempts += [attack(truth) for attack in ATTACKS.values()]
            answers += [(attempt, record) for attempt in attempts]
        earned = rewards_of(*export, answers)
        per_image = [earned[i :: 5 + len(ATTACKS)] for i in range(5 + len(ATTACKS))]
        floor = mean(mean(column) for column in per_image[:5])
        assert 0.02 < floor < 0.5
        for name, column in zip(ATTACKS, per_image[5:], strict=True):
            assert mean(column) <= floor, name
        # The copy is the same function.
        direct = [
            description_reward(answer, json.loads(record)["truth"], relations=related).value
            for answer, record in answers
        ]
        assert earned == direct


def test_no_constant_answer_to_a_short_question_earns_much(export: tuple[str, Path]) -> None:
    constants = {
        "count": ["0", "1", "2", "3"],
        "attributes": ["red", "cube", "large", "metal"],
        "choice": ["A", "B", "C", "D", "E"],
    }
    hedges = {
        "count": ["0 1 2 3", "1 or 2", "about 1, maybe 2", ""],
        "attributes": ["red, blue, green, cube, sphere", "red or blue", ""],
        "choice": ["A, B, C, D, E", "A or B", "all of them", ""],
    }
    rows = rows_of(*export, *TESTED)
    for task in constants:
        records = [row["record"] for row in rows if row["task"] == task]
        for answer in constants[task]:
            earned = rewards_of(*export, [(answer, record) for record in records])
            assert mean(earned) < 0.55, (task, answer)
        for answer in hedges[task]:
            earned = rewards_of(*export, [(answer, record) for record in records])
            assert max(earned) == 0, (task, answer)


def test_rows_say_the_image_and_its_difficulty(
    export: tuple[str, Path], dataset: Dataset, truths: list[ImageTruth]
) -> None:
    truth_of = {truth.scene_id: truth for truth in truths}
    rows = rows_of(*export, *TESTED)
    assert Counter(row["task"] for row in rows) == dict.fromkeys(TASKS, len(truths))
    assert len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        truth = truth_of[row["scene_id"]]
        assert row["split"] == truth.split
        assert row["objects"] == len(truth.objects)
        assert (row["interference"], row["load"]) == (truth.interference, truth.load)
        assert row["png"] == dataset.world.read(f"images/{row['scene_id']}.png")
    Image.open(io.BytesIO(rows[0]["png"])).verify()


def test_columns_are_those_of_the_trainer(export: tuple[str, Path]) -> None:
    format_name, out = export
    table = pq.read_table(data_of(format_name, out) / "train.parquet")
    row = table.to_pylist()[0]
    if format_name == "verl":
        assert table.column_names == [
            *("data_source", "prompt", "images", "ability", "reward_model", "extra_info")
        ]
        assert row["reward_model"]["style"] == "rule"
        assert row["data_source"].endswith(f"/{row['ability']}/train")
        assert row["prompt"][0]["content"].count("<image>") == 1
        assert list(row["images"][0]) == ["bytes"]
    elif format_name == "easyr1":
        assert table.column_names == ["images", "problem", "answer", *LABELS]
        assert row["problem"].count("<image>") == 1
    elif format_name == "trl":
        assert table.column_names == ["prompt", "images", "truth", *LABELS]
        assert "<image>" not in row["prompt"][0]["content"]
        features = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
        assert features["images"]["feature"]["_type"] == "Image"
    else:
        assert table.column_names == ["prompt", "image", "truth", *LABELS]
        project = tomllib.loads((out / "pyproject.toml").read_text(encoding="utf-8"))
        package = package_of(out)
        assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [package.name]
        assert project["project"]["name"] == package.name.replace("_", "-")
        assert "verifiers>=0.4" in project["project"]["dependencies"]
        for path in package.rglob("*.py"):
            ast.parse(path.read_text(encoding="utf-8"))


def test_the_library_datasets_reads_the_images(dataset: Dataset, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    for format_name in ("trl", "verl", "easyr1"):
        out = tmp_path / format_name
        succeed("gen export rl", dataset.root, "--format", format_name, "--out", out)
        path = str(out / "unseen.parquet")
        cache = str(tmp_path / "cache")
        row = datasets.load_dataset("parquet", data_files=path, split="train", cache_dir=cache)[0]
        (image,) = row["images"]
        if format_name == "trl":
            assert image.size == (64, 48)
        else:
            assert Image.open(io.BytesIO(image["bytes"])).size == (64, 48)


def test_training_is_not_asked_about_what_is_held_out(
    export: tuple[str, Path], truths: list[ImageTruth]
) -> None:
    plurals = truths[0].vocabulary.plurals
    questions = [row["prompt"] for row in rows_of(*export, "train") if row["task"] == "count"]
    held_out = [f"{value} {plurals[category][0]}" for value, category in truths[0].held_out]
    assert not any(words in question for question in questions for words in held_out)
    counts: Counter[int] = Counter()
    for row in rows_of(*export, "train"):
        if row["task"] == "count":
            counts[json.loads(row["record"])["truth"]["count"]] += 1
    assert max(counts.values()) <= 0.4 * counts.total()
    assert 0 in counts


def test_the_rewards_are_copies(export: tuple[str, Path]) -> None:
    format_name, out = export
    folder = (package_of(out) if format_name == "verifiers" else out) / "jackalope_rewards"
    sources = [Path(str(relations.__file__))]
    for package in (answer_reader, descriptions):
        sources += [path for path in Path(package.__path__[0]).iterdir() if path.is_file()]
    kinds = (".py", ".toml")
    copies = {path.name for path in folder.rglob("*") if path.suffix in kinds} - {"__init__.py"}
    assert copies == {path.name for path in sources} - {"__init__.py"}
    for source in sources:
        inside = folder if source.parent.name == "dataset" else folder / source.parent.name
        assert (inside / source.name).read_bytes() == source.read_bytes()


def test_the_readme_keeps_the_splits_apart(export: tuple[str, Path]) -> None:
    text = (export[1] / "README.md").read_text(encoding="utf-8")
    assert "|train|train on it|30|30|30|30|30|" in text
    for split in TESTED:
        assert f"|{split}|report, never train|12|12|12|12|12|" in text
    assert "color" in text.splitlines()[2]


def test_an_export_is_the_same_again(dataset: Dataset, tmp_path: Path) -> None:
    arguments = ("gen export rl", dataset.root, "--format", "trl", "--out")
    succeed(*arguments, tmp_path / "a")
    succeed(*arguments, tmp_path / "b")
    for path in (tmp_path / "a").rglob("*"):
        if path.is_file():
            assert (
                path.read_bytes()
                == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes()
            )


def test_tasks_are_chosen(dataset: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = succeed(
        "gen export rl", dataset.root, "--format", "trl", "--tasks", "count,describe",
        "--out", out, "--json",
    )  # fmt: skip
    counts = json.loads(done.stdout)["questions"]
    assert set(counts) == {"train", "val", *TESTED}
    assert counts["unseen"] == {"describe": 12, "count": 12}


def test_a_world_without_relations_has_no_questions_of_them(tmp_path: Path) -> None:
    family = tmp_path / "plain.toml"
    text = (CHECKOUT / "scenes" / "clevr.toml").read_text(encoding="utf-8")
    before, relations_and_rest = text.split("[relations]\n")
    _, rest = relations_and_rest.split("\n\n", 1)
    family.write_text(f"{before}[relations]\n\n{rest}", encoding="utf-8")
    root = tmp_path / "world"
    scenes = {"train": 6, "val": 2, "seen": 2, "partial": 2, "unseen": 2}
    write_texts(root, write_world(root, scenes, str(family)))
    command = ("gen export rl", root, "--format", "trl", "--out")
    refuse("no questions of the task 'relations'", *command, tmp_path / "a", "--tasks", "relations")
    done = succeed(*command, tmp_path / "b", "--json")
    assert set(json.loads(done.stdout)["questions"]["train"]) == set(TASKS) - {"relations"}
