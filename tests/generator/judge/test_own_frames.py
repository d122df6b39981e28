"""The judge proves worlds that hold out directions in objects' own frames, from recorded poses and
headings alone, and finds what breaks the proof."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest
from generator.judge.verify import verify_dataset
from tests.generator.judge.planted import Fault, Planted, Row, assert_fault_is_found
from tests.generator.turned_worlds import write_turned_world

COUNTS = {"train": 60, "val": 2, "seen": 24, "unseen": 24}
NAME = "own"
HELD_OUT = "own-left: lion"


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world without turn twins, so that a scene can be changed without its twin."""
    root = tmp_path_factory.mktemp("own") / "dataset"
    prepared = write_turned_world(root, holdout=HELD_OUT, scenes=COUNTS, turns=None)
    describe_world(
        root,
        Dataset.open(root).world,
        holdout=prepared.holdout,
        name=NAME,
        request=TextRequest(("binary",), template=None),
    )
    return root


def scene_with_lion(data: Planted, split: str) -> Row:
    rows = []
    for row in data.scenes:
        categories = [obj["category"] for obj in row["objects"]]
        if data.split.get(row["scene_id"]) == split and "lion" in categories:
            rows.append(row)
    scene: Row = data.choose(rows)
    return scene


def turn_lion(row: Row, degrees: float) -> str:
    """Turn the lion of a scene so that the other animal stands at an angle from its front, to the
    left. Returns the category of the other."""
    scene = json.loads(row["scene"])
    lion, other = sorted(scene["objects"], key=lambda obj: obj["category"] != "lion")
    (x, y, _), (other_x, other_y, _) = lion["position"], other["position"]
    towards = math.atan2(other_y - y, other_x - x)
    lion["heading"] = round(towards - math.radians(degrees), 6)
    row["scene"] = json.dumps(scene, sort_keys=True, separators=(",", ":"))
    return str(other["category"])


def a_training_image_shows_a_held_out_side(data: Planted) -> Fault:
    row = scene_with_lion(data, "train")
    other = turn_lion(row, data.choose([90, -90, 60, -120]))
    return "leaked triple", f"training scene {row['scene_id']} shows the held-out {other} own-"


def an_unseen_image_shows_no_held_out_side(data: Planted) -> Fault:
    row = scene_with_lion(data, "unseen")
    turn_lion(row, data.choose([0, 180]))
    return "wrong split", f"scene {row['scene_id']} is in unseen and shows 0 held-out bindings, 0"


def a_seen_image_shows_a_held_out_side(data: Planted) -> Fault:
    row = scene_with_lion(data, "seen")
    turn_lion(row, data.choose([90, -90]))
    return "wrong split", f"scene {row['scene_id']} is in seen and shows 0 held-out bindings, 1"


def a_training_caption_states_a_held_out_side(data: Planted) -> Fault:
    side = data.choose(["left", "right"])
    text = f"a fox to the {side} of a lion from the lion's own point of view"
    row = data.candidate("train", truth=True)
    row["text_id"] = data.add_text(text)
    return "leaked triple", f"training caption '{text}' of item {row['item_id']} names the held-out"


def a_training_caption_states_it_in_other_words(data: Planted) -> Fault:
    text = "a fox that is on the right side of a lion as the lion itself sees it"
    row = data.candidate("train", truth=True)
    row["text_id"] = data.add_text(text)
    return "leaked triple", f"'{text}' of item {row['item_id']} names the held-out fox own-right"


def the_holdout_lacks_the_opposite(data: Planted) -> Fault:
    data.hold_out(triples=[triple for triple in data.block["triples"] if triple[1] == "own-left"])
    return "open holdout", "holdout.json lacks fox own-right lion"


def the_holdout_lacks_a_subject(data: Planted) -> Fault:
    data.hold_out(triples=[triple for triple in data.block["triples"] if triple[0] != "elephant"])
    return "open holdout", "holdout.json lacks elephant own-left lion"


def test_an_unchanged_dataset_is_clean(clean: Path) -> None:
    certificate = verify_dataset(clean, NAME)[NAME]
    assert certificate["status"] == "clean", certificate["sentence"]
    clause = "training shows nothing and says nothing of own-left/own-right of lion"
    assert clause in certificate["sentence"]


@pytest.mark.parametrize(
    "plant",
    [
        a_training_image_shows_a_held_out_side,
        an_unseen_image_shows_no_held_out_side,
        a_seen_image_shows_a_held_out_side,
        a_training_caption_states_a_held_out_side,
        a_training_caption_states_it_in_other_words,
        the_holdout_lacks_the_opposite,
        the_holdout_lacks_a_subject,
    ],
)
def test_a_fault_is_found_and_named(
    clean: Path, tmp_path: Path, plant: Callable[[Planted], Fault]
) -> None:
    assert_fault_is_found(clean, tmp_path / "dataset", NAME, plant)


def test_an_object_within_the_margin_is_no_leak(clean: Path, tmp_path: Path) -> None:
    """The lion may look a little past the other animal: only beyond the margin a side is shown."""
    root = tmp_path / "dataset"
    shutil.copytree(clean, root)
    data = Planted(root, NAME)
    turn_lion(scene_with_lion(data, "train"), 0)
    data.seal()
    assert "leaked triple" not in verify_dataset(root, NAME)[NAME]["faults"]
