"""Questions in words about two images of one world, against geometry of the tests' own."""

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from evaluator.api import ask, evaluate
from evaluator.runs.dataset import Dataset as Questions
from generator.base.errors import UserError
from generator.dataset.questions import Candidates, make_questions
from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest
from generator.exports.questions import QuestionSet
from generator.judge.verify import verify_dataset
from tests.generator.judge.planted import Planted
from tests.generator.turned_worlds import Ground, read_grounds, scene_of_image, write_turned_world

SCENES = {"train": 40, "val": 2, "seen": 60, "partial": 24, "unseen": 24}
KINDS = ("same-scene", "quarter-turns", "taken-from")
TURNS = {
    "by one quarter turn to the right": 90,
    "by two quarter turns": 180,
    "by one quarter turn to the left": -90,
}


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("views") / "dataset"
    prepared = write_turned_world(root, scenes=SCENES, turns="90,180,270")
    describe_world(
        root,
        Dataset.open(root).world,
        holdout=prepared.holdout,
        name="views",
        request=TextRequest(("views",)),
    )
    (certificate,) = verify_dataset(root, None).values()
    assert certificate["status"] == "clean", certificate["sentence"]
    return root


class Surveyor:
    """Answers by the places of objects and cameras, which it measures on the ground."""

    def __init__(self, root: Path):
        self._grounds = read_grounds(root)
        self.n_images: Counter[int] = Counter()

    def answer(self, images: list[Image.Image], question: str) -> str:
        self.n_images[len(images)] += 1
        grounds = [self._grounds[scene_of_image(image)] for image in images]
        options = re.findall(r"^([A-E])\. (.+)$", question, re.MULTILINE)
        if not options:
            return "A" if grounds[1].places == grounds[0].places else "B"
        for letter, text in options:
            if self._is_true(grounds, text):
                return str(letter)
        raise AssertionError(question)

    def _is_true(self, grounds: list[Ground], text: str) -> bool:
        first, second = grounds
        if text in TURNS:
            turn = np.degrees(np.angle(second.viewing / first.viewing))
            return bool(abs((turn - TURNS[text] + 180) % 360 - 180) < 1)
        match = re.fullmatch(
            r"from (?:(in front of|behind) the (.+)|the (.+)'s (left|right))", text
        )
        assert match, text
        side, category = match[1] or match[4], match[2] or match[3]
        bearing = np.degrees(np.angle(-second.viewing / second.fronts[category]))
        bearing_of_side = {"in front of": 0, "left": 90, "behind": 180, "right": -90}[side]
        return bool(abs((bearing - bearing_of_side + 180) % 360 - 180) < 45)


def rows_of(results: Any) -> dict[tuple[str, str], Any]:
    return {
        (row["split"], row["kind"]): row
        for row in results["rows"]
        if row["skill"] is None and not row["is_gap"]
    }


def test_who_measures_the_ground_is_right_in_all_orders(described: Path, tmp_path: Path) -> None:
    model = Surveyor(described)
    rows = rows_of(ask(model, Questions.open(described), out=tmp_path / "run").results)
    for split in ("seen", "partial", "unseen"):
        for kind in KINDS:
            assert rows[split, kind]["value"] == rows[split, kind]["ceiling"] == 1.0
            assert rows[split, kind]["items"] >= 8
    assert [rows["seen", kind]["chance"] for kind in KINDS] == pytest.approx([1 / 2, 1 / 3, 1 / 4])
    n_items = Counter(Dataset.open(described).benchmark("views").items["kind"].to_pylist())
    n_same = 2 * n_items["same-scene"]
    n_others = 3 * n_items["quarter-turns"] + 4 * n_items["taken-from"]
    # Each question in every cyclic order of its options.
    assert model.n_images == {3: n_same, 2: n_others}


@pytest.mark.full
def test_who_says_one_letter_is_never_right(described: Path, tmp_path: Path) -> None:
    class First(Surveyor):
        def answer(self, images: list[Image.Image], question: str) -> str:
            return "A"

    results = ask(First(described), Questions.open(described), out=tmp_path / "run").results
    assert {row["value"] for row in rows_of(results).values()} == {0.0}


def test_answers_are_equally_frequent(described: Path) -> None:
    benchmark = Dataset.open(described).benchmark("views")
    turns = Counter(
        benchmark.text_of[row["text_id"]]
        for row in benchmark.candidates.to_pylist()
        if row["slot"] == "c" and benchmark.text_of[row["text_id"]] in TURNS
    )
    assert len(turns) == 3
    assert max(turns.values()) - min(turns.values()) <= 4


def test_scores_of_one_image_are_not_asked(described: Path, tmp_path: Path) -> None:
    class Flat:
        def score(self, image: Image.Image, text: str) -> float:
            return 0.0

    questions = Questions.open(described)
    with pytest.raises(UserError, match=r"'views' cannot be scored.*use `score ask`"):
        evaluate(Flat(), questions, out=tmp_path / "run", protocols="views")
    with pytest.raises(UserError, match=r"two images are choices \(--form choice\)"):
        ask(Surveyor(described), questions, out=tmp_path / "run", form="yes-no")


def test_exported_questions_show_their_images(described: Path) -> None:
    dataset = Dataset.open(described)
    benchmark = dataset.benchmark("views")
    rows = QuestionSet(dataset, benchmark, protocols=("views",)).rows()
    questions = make_questions(benchmark, Candidates(benchmark), protocols=["views"], form="choice")
    assert len(rows) == len(questions)
    grounds = read_grounds(described)
    for row in rows:
        assert len(row["scenes"]) == (3 if row["form"] == "same-scene" else 2)
        letter = "ABCDE".index(row["answer"])
        if row["form"] == "same-scene":
            first, *others = (grounds[scene].places for scene in row["scenes"])
            assert others[letter] == first
            assert row["options"] == ["the second image", "the third image"]
        else:
            assert row["options"][letter] in row["prompt"]


def exchange_truths(planted: Planted, kind: str) -> None:
    item = planted.choose(planted.items("views", kind=kind))
    rows = [row for row in planted.rows_of(item) if row["slot"] != "first"]
    rows[0]["truth"], rows[1]["truth"] = False, True


@pytest.mark.parametrize("kind", KINDS)
def test_the_judge_finds_a_wrong_answer(kind: str, described: Path, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(described, root)
    planted = Planted(root, "views")
    exchange_truths(planted, kind)
    planted.seal()
    faults = verify_dataset(root, "views")["views"]["faults"]
    assert {"false positive", "true negative"} <= set(faults)


@pytest.mark.parametrize(
    ("turns", "absent"), [("180", {"quarter-turns"}), ("90,45", {"quarter-turns"})]
)
def test_turns_with_one_answer_or_without_words_are_not_asked(
    turns: str, absent: set[str], tmp_path: Path
) -> None:
    scenes = {"train": 20, "val": 2, "seen": 8, "partial": 8, "unseen": 8}
    prepared = write_turned_world(tmp_path, scenes=scenes, turns=turns)
    describe_world(
        tmp_path,
        Dataset.open(tmp_path).world,
        holdout=prepared.holdout,
        name="b",
        request=TextRequest(("views",)),
    )
    kinds = set(Dataset.open(tmp_path).benchmark("b").items_of("views")["kind"].to_pylist())
    assert kinds == {*KINDS} - absent
