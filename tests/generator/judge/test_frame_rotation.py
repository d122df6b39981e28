"""The judge proves rotations of own directions: the two turns partition the axes of all objects,
share no image between training and evaluation, and ask the same of an image."""

import json
import math
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from generator.dataset.reader import Dataset
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest
from generator.holdout.request import design_of
from generator.judge.verify import verify_dataset
from tests.conftest import once
from tests.generator.judge.planted import Fault, Planted, Row, assert_fault_is_found
from tests.generator.turned_worlds import read_grounds, write_turned_world

SCENES = {"train": 240, "val": 8, "unseen": 40}
TURNS = ("turn0", "turn1")
OTHER_SPLIT = {"seen": "unseen", "unseen": "seen"}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world of turn twins with the benchmarks of both turns. Not to be changed."""

    def make(root: Path) -> None:
        prepared = write_turned_world(
            root, holdout="relation:object=turns=2", scenes=SCENES, turns="180"
        )
        for holdout in prepared.holdouts:
            describe_world(
                root,
                Dataset.open(root).world,
                holdout=holdout,
                name=design_of(holdout).benchmark_name(holdout),
                request=TextRequest(("binary", "frames"), template=None),
            )

    return once(tmp_path_factory, "frame-rotation", make)


def splits_of(root: Path) -> list[dict[str, str | None]]:
    """The split of each scene in each turn."""
    splits = []
    for turn in TURNS:
        rows = Dataset.open(root).benchmark(turn).splits.to_pylist()
        splits.append({row["scene_id"]: row["split"] for row in rows})
    return splits


def test_both_turns_are_clean_and_have_their_names(clean: Path) -> None:
    certificates = verify_dataset(clean, None)
    assert {name: entry["status"] for name, entry in certificates.items()} == dict.fromkeys(
        TURNS, "clean"
    )
    assert "says nothing of own-" in certificates["turn0"]["sentence"]
    assert Dataset.open(clean).turn_names() == list(TURNS)


def test_an_evaluated_image_is_unseen_in_one_turn_and_seen_in_the_other(clean: Path) -> None:
    first, second = splits_of(clean)
    n_images = Counter((first[scene_id], second[scene_id]) for scene_id in first)
    assert n_images == {
        ("unseen", "seen"): 20,
        ("seen", "unseen"): 20,
        ("train", None): 120,
        (None, "train"): 120,
        ("val", None): 4,
        (None, "val"): 4,
    }


def test_poses_show_what_the_turns_hold_out(clean: Path) -> None:
    """Of each object an image shows one direction, which the turn holds out or not by its split."""
    grounds = read_grounds(clean)
    for turn, split_of in zip(TURNS, splits_of(clean), strict=True):
        holdout = Dataset.open(clean).benchmark(turn).holdout or {}
        held_out = {(name, ground) for _, name, ground in holdout["triples"]}
        for scene_id, split in split_of.items():
            if split is None:
                continue
            ground = grounds[scene_id]
            categories = [*ground.places]
            for category, other in zip(categories, categories[::-1], strict=True):
                (direction,) = ground.directions(other, category, "object")
                is_held_out = (f"own-{direction}", category) in held_out
                assert is_held_out == (split == "unseen"), (turn, scene_id, category)


def questions(root: Path, turn: str) -> dict[tuple[str, str], list[tuple[Any, ...]]]:
    """The rows of each evaluated item, by its id and split."""
    benchmark = Dataset.open(root).benchmark(turn)
    text_of = {row["text_id"]: row["text"] for row in benchmark.texts.to_pylist()}
    split_of = {row["item_id"]: row["split"] for row in benchmark.items.to_pylist()}
    rows: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    for row in benchmark.candidates.to_pylist():
        split = split_of[row["item_id"]]
        if split in OTHER_SPLIT:
            candidate = (text_of[row["text_id"]], row["scene_id"], row["slot"], row["truth"])
            rows.setdefault((row["item_id"], split), []).append(candidate)
    return rows


def test_an_image_is_asked_the_same_where_it_is_seen_and_where_it_is_unseen(clean: Path) -> None:
    first, second = (questions(clean, turn) for turn in TURNS)
    assert len(first) > 100
    assert {(item_id, OTHER_SPLIT[split]): rows for (item_id, split), rows in first.items()} == (
        second
    )


# Faults


def turn_objects(row: Row, degrees: float) -> None:
    """Turn both objects of a scene, so that each has the other one at an angle from its front."""
    scene = json.loads(row["scene"])
    one, two = scene["objects"]
    for obj, other in ((one, two), (two, one)):
        (x, y, _), (other_x, other_y, _) = obj["position"], other["position"]
        towards = math.atan2(other_y - y, other_x - x)
        obj["heading"] = round(towards - math.radians(degrees), 6)
    row["scene"] = json.dumps(scene, sort_keys=True, separators=(",", ":"))


def row_in_split(data: Planted, split: str) -> Row:
    row: Row = data.choose(row for row in data.tables["splits"] if row["split"] == split)
    return row


def a_turn_trains_on_what_the_other_evaluates(data: Planted) -> Fault:
    row = row_in_split(data, "seen")
    row["split"] = "train"
    return "shared evaluation", f"turn0 trains on scene {row['scene_id']}, which turn1 has in unse"


def a_turn_trains_on_what_it_holds_out(data: Planted) -> Fault:
    row = row_in_split(data, "unseen")
    row["split"] = "train"
    return "leaked triple", f"training scene {row['scene_id']} shows the held-out"


def a_training_image_shows_a_held_out_side(data: Planted) -> Fault:
    """Training shows one axis of each object; at 45 degrees it shows the other as well."""
    scene_id = row_in_split(data, "train")["scene_id"]
    scene = next(row for row in data.scenes if row["scene_id"] == scene_id)
    turn_objects(scene, 45)
    return "leaked triple", f"training scene {scene_id} shows the held-out"


def one_object_of_an_unseen_image_shows_no_held_out_side(data: Planted) -> Fault:
    scene_id = row_in_split(data, "unseen")["scene_id"]
    scene = next(row for row in data.scenes if row["scene_id"] == scene_id)
    # One is ahead of the other, whatever is held out of whom.
    sides = {ground for _, name, ground in data.block["triples"] if name == "own-left"}
    record = json.loads(scene["scene"])
    one, two = record["objects"]
    (x, y, _), (other_x, other_y, _) = one["position"], two["position"]
    towards = math.atan2(other_y - y, other_x - x)
    off_axis = 0 if one["category"] in sides else math.pi / 2
    one["heading"] = round(towards - off_axis, 6)
    scene["scene"] = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return "wrong split", f"scene {scene_id} is in unseen, and its {one['category']} shows no"


def a_turn_leaves_out_one_axis_of_an_object(data: Planted) -> Fault:
    ground = data.choose(data.block["object_groups"][0])
    of_others = [triple for triple in data.block["triples"] if triple[2] != ground]
    data.hold_out(triples=of_others)
    return "wrong turn", f"holdout.json lacks own-left {ground}, which turn 0 of its groups holds"


def a_turn_holds_out_both_axes_of_an_object(data: Planted) -> Fault:
    ground = data.choose(data.block["object_groups"][0])
    more = [[subject, "own-front", ground] for subject, _, _ in data.block["triples"]]
    data.hold_out(triples=[*data.block["triples"], *more])
    return "wrong turn", f"holdout.json lists own-front {ground}, which turn 0 of its groups does"


def a_turn_holds_out_what_the_other_does(data: Planted) -> Fault:
    data.hold_out(turn=1)
    return "wrong turn", "which turn 1 of its groups"


def the_groups_leave_out_an_object(data: Planted) -> Fault:
    first, second = data.block["object_groups"]
    data.hold_out(object_groups=[first[1:], second])
    return "incomplete rotation", "do not hold each of the world's objects once"


def the_groups_leave_out_an_axis(data: Planted) -> Fault:
    sides, _ = data.block["value_groups"]
    data.hold_out(value_groups=[sides, sides])
    return "incomplete rotation", "do not hold each of the world's own directions once"


def the_other_turn_is_missing(data: Planted) -> Fault:
    shutil.rmtree(data.root / "benchmarks/turn1")
    return "incomplete rotation", "no benchmark of this dataset is turn 1"


@pytest.mark.parametrize(
    "plant",
    [
        a_turn_trains_on_what_the_other_evaluates,
        a_turn_trains_on_what_it_holds_out,
        a_training_image_shows_a_held_out_side,
        one_object_of_an_unseen_image_shows_no_held_out_side,
        a_turn_leaves_out_one_axis_of_an_object,
        a_turn_holds_out_both_axes_of_an_object,
        a_turn_holds_out_what_the_other_does,
        the_groups_leave_out_an_object,
        the_groups_leave_out_an_axis,
        the_other_turn_is_missing,
    ],
)
def test_a_fault_is_found_and_named(
    clean: Path, tmp_path: Path, plant: Callable[[Planted], Fault]
) -> None:
    assert_fault_is_found(clean, tmp_path / "dataset", "turn0", plant)
