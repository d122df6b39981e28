"""Frames of reference: who knows the truth is right in all, who reads only captions is at chance,
and who follows a frame is found out."""

import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from evaluator.api import ask, evaluate
from evaluator.runs.dataset import Dataset as Questions
from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest
from generator.judge.verify import verify_dataset
from tests.generator.turned_worlds import Ground, read_grounds, scene_of_image, write_turned_world

SCENES = {"train": 40, "val": 2, "seen": 80, "partial": 24, "unseen": 24}
SPLITS = ("seen", "partial", "unseen")
_CAPTION = re.compile(
    r"an? (?P<subject>[a-z ]+?) (?:that )?(?:is )?(?P<direction>to the left|to the right|in front|"
    r"behind)(?: of)? an? (?P<ground>[a-z ]+?)(?: as the camera sees it| from the .+)?\.?",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("frames") / "dataset"
    prepared = write_turned_world(root, scenes=SCENES, turns="180,90,270")
    for name, kinds in (("two", ["viewer", "object"]), ("bare", ["assumed"])):
        describe_world(
            root,
            Dataset.open(root).world,
            holdout=prepared.holdout,
            name=name,
            request=TextRequest(("frames",), {"frames": {"kinds": kinds}}, template="that-is"),
        )
    for certificate in verify_dataset(root, None).values():
        assert certificate["status"] == "clean", certificate["sentence"]
    return root


class Follower:
    """Scores a caption by one frame of reference, whatever frame the caption names."""

    def __init__(self, root: Path, frame: str):
        self._grounds = read_grounds(root)
        self._frame = frame

    def is_true(self, image: Image.Image, caption: str) -> bool:
        match = _CAPTION.fullmatch(caption)
        assert match, caption
        here: Ground = self._grounds[scene_of_image(image)]
        direction = match["direction"].lower().split(" ")[-1]
        return direction in here.directions(match["subject"], match["ground"], self._frame)

    def score(self, image: Image.Image, text: str) -> float:
        return float(self.is_true(image, text))


class Speaker(Follower):
    """Answers a choice with the letter of the caption that is true in its frame."""

    def answer(self, images: list[Image.Image], question: str) -> str:
        for letter, caption in re.findall(r"^([A-E])\. (.+)$", question, re.MULTILINE):
            if _CAPTION.fullmatch(caption) and self.is_true(images[0], caption):
                return letter
        return "A"


def rows_of(results: Any, kind: str, skill: str | None = None) -> dict[tuple[str, str], Any]:
    return {
        (row["split"], row["metric"]): row
        for row in results["rows"]
        if row["kind"] == kind and row["skill"] == skill and not row["is_gap"]
    }


def run(model: Any, root: Path, benchmark: str, out: Path) -> Any:
    return evaluate(
        model, Questions.open(root, benchmark=benchmark), out=out, protocols="frames"
    ).results


def test_an_oracle_is_right_in_every_frame(judged: Path, tmp_path: Path) -> None:
    results = run("oracle", judged, "two", tmp_path / "run")
    for kind, metrics in (
        ("viewer", ("text", "image", "group", "matching")),
        ("object", ("text",)),
    ):
        rows = rows_of(results, kind)
        for split in SPLITS:
            for metric in metrics:
                assert rows[split, metric]["value"] == rows[split, metric]["ceiling"] == 1.0
        assert rows["seen", "text"]["items"] >= 30
        assert {metric for _, metric in rows} == {*metrics}
        by_angle = [
            row
            for row in results["rows"]
            if row["kind"] == kind and row["skill"] and row["split"] == "seen"
        ]
        n_items = sum(row["items"] for row in by_angle if row["metric"] == "text")
        assert n_items == rows["seen", "text"]["items"]
        assert {row["skill"] for row in by_angle} >= {"away and toward", "aside and away"}


def test_who_reads_only_captions_is_at_chance(judged: Path, tmp_path: Path) -> None:
    results = run("blind:length", judged, "two", tmp_path / "run")
    viewer, own = rows_of(results, "viewer"), rows_of(results, "object")
    for split in SPLITS:
        assert viewer[split, "text"]["value"] == viewer[split, "matching"]["value"] == 0
        # It says the same of both images, and each direction is the true one equally often.
        assert own[split, "text"]["chance"] == 0.5
        assert own[split, "text"]["low"] <= 0.5 <= own[split, "text"]["high"]
    bare = rows_of(run("blind:length", judged, "bare", tmp_path / "bare"), "assumed")
    for frame in ("viewer", "object"):
        row = bare["seen", f"follows the {frame}"]
        assert row["low"] <= row["chance"] <= row["high"]


@pytest.mark.parametrize("frame", ["viewer", "object"])
def test_a_model_of_one_frame_is_found_out(frame: str, judged: Path, tmp_path: Path) -> None:
    model = Follower(judged, frame)
    two = run(model, judged, "two", tmp_path / "two")
    assert rows_of(two, frame)["seen", "text"]["value"] == 1.0
    other = "object" if frame == "viewer" else "viewer"
    assert rows_of(two, other)["seen", "text"]["value"] == 0.0
    bare = rows_of(run(model, judged, "bare", tmp_path / "bare"), "assumed")
    for split in SPLITS:
        shares = {name: bare[split, f"follows {name}"] for name in ("the viewer", "the object")}
        assert shares[f"the {frame}"]["value"] == 1.0
        assert shares[f"the {other}"]["value"] == bare[split, "follows neither"]["value"] == 0.0
        assert [row["chance"] for row in shares.values()] == [0.5, 0.5]
        assert shares["the viewer"]["ceiling"] is None


@pytest.mark.parametrize("frame", ["viewer", pytest.param("object", marks=pytest.mark.full)])
def test_answers_in_words_follow_a_frame_only_in_all_orders(
    frame: str, judged: Path, tmp_path: Path
) -> None:
    questions = Questions.open(judged, benchmark="bare")
    results = ask(Speaker(judged, frame), questions, out=tmp_path / "run").results
    rows = rows_of(results, "assumed")
    assert rows["seen", f"follows the {frame}"]["value"] == 1.0

    class First(Speaker):
        def answer(self, images: list[Image.Image], question: str) -> str:
            return "A"

    results = ask(First(judged, frame), questions, out=tmp_path / "first").results
    rows = rows_of(results, "assumed")
    assert rows["seen", "follows neither"]["value"] == 1.0
    two = Questions.open(judged, benchmark="two")
    results = ask(Speaker(judged, "object"), two, out=tmp_path / "two").results
    assert rows_of(results, "object")["seen", "text"]["value"] == 1.0
    assert rows_of(results, "viewer")["seen", "text"]["value"] == 0.0
