"""A catalogue of faults: datasets that someone changed and sealed again, with every digest and card
recomputed.

The judge finds those of truth, leaks, membership, familiarity and pools, whoever made the dataset,
so that it finds mistakes of ours too. Making the dataset again finds the others.
"""

import hashlib
import io
import json
import multiprocessing
import pickle
import re
import shutil
import tarfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from generator.base.files import read_json, sha256, write_json
from generator.dataset.reader import Dataset
from generator.dataset.records import PACKED, PLAN, plan_schema
from generator.dataset.writer import write_index
from generator.describe.benchmark import describe_world, write_benchmarks
from generator.describe.request import TextRequest
from generator.describe.scenes import dosed_holdouts
from generator.inspection import reproduction
from generator.inspection.reproduction import Reproduction
from generator.judge.certificate import Reproduced
from generator.judge.verify import verify_dataset
from generator.plan import minimal_pairs
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from tests.conftest import once
from tests.generator.designs import THINGS, VALUES, family
from tests.generator.judge.datasets import seal
from tests.generator.judge.planted import Fault, Planted, Row
from tests.generator.unrendered import write_planned

SMALL_ENOUGH = {"train": 200, "val": 3, "seen": 5, "partial": 5, "unseen": 5}
ASYMMETRIC_SCENES = {"asymmetric_seen": 12, "asymmetric_unseen": 12}
JOBS: dict[str, dict[str, Any]] = {
    "files": {"holdout": "2x3", "objects": (2, 4), "pairs": True},
    "tars": {"holdout": "2x2"},
    "relations": {"holdout": ["relation:pair=2x2"], "scenes": "60"},
    "atoms": {"holdout": ["2x2", "atoms=1x1"], "design": "systematicity", "scenes": "60"},
    "published": {
        "holdout": ["pearson2025"],
        "design": "gzsl",
        "family": "pearson2025",
        "scenes": "900",
    },
    "three objects": {"holdout": ["objects=3"], "design": "gzsl", "scenes": "900"},
    "undivided": {"holdout": "none", "scenes": "12"},
    "rotation": {
        "holdout": "turns=3",
        "scenes": {"train": 270, "val": 3, "partial": 9, "unseen": 18},
    },
    "asymmetric": {
        "holdout": ["3x3", "asymmetric"],
        "scenes": {**SMALL_ENOUGH, **ASYMMETRIC_SCENES},
    },
}
FIRST, ALL, TARS = ("files", "color-shape-2x3-b0"), ("files", "all"), ("tars", "tars")
RELATIONS = "relations", "relation-pair-2x2-b0"
ATOMS = "atoms", "systematicity-color-shape-2x2+atoms-1x1-b0"
TWO, RELATED = ("published", "pearson2025-two-object"), ("published", "pearson2025-relational")
THREE = "three objects", "gzsl-three-object-b0"
UNDIVIDED, UNEVEN = ("undivided", "none"), ("asymmetric", "color-shape-3x3+asymmetric-b0")
TURN, DOSED = ("rotation", "turn0"), ("rotation", "turn0-dose")
"""Datasets, each with a benchmark."""

AGAIN = "not reproduced"
SMALL = {"train": 12, "val": 3, "seen": 5, "partial": 5, "unseen": 5}
PHRASES = {
    "left": "to the left of",
    "right": "to the right of",
    "front": "in front of",
    "behind": "behind",
}
CONVERSES = {"left": "right", "right": "left", "front": "behind", "behind": "front"}

Plant = Callable[[Planted], Fault]
FAULTS: dict[str, tuple[tuple[str, str], Plant]] = {}
"""By name: the dataset and benchmark, and what changes it and says which finding is expected."""


def fault(where: tuple[str, str] = ALL) -> Callable[[Plant], Plant]:
    """Register a fault under its name."""

    def register(plant: Plant) -> Plant:
        FAULTS[plant.__name__] = (where, plant)
        return plant

    return register


def _again(table: str, of: str = "all") -> Fault:
    return AGAIN, f"{of}/{table}.parquet has"


def _articled(text: str) -> str:
    return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", text)


@contextmanager
def _record(row: Row) -> Iterator[dict[str, Any]]:
    """The record of a scene, to be changed."""
    scene = json.loads(row["scene"])
    yield scene
    row["scene"] = json.dumps(scene, sort_keys=True, separators=(",", ":"))


def _change_json(path: Path, **changes: Any) -> None:
    write_json(path, {**read_json(path), **changes})


# Training data


def _train_text(
    data: Planted, text: str, fault: str = "leaked binding", truth: bool = True, **having: Any
) -> Fault:
    row, text = data.candidate("train", truth=truth, **having), _articled(text)
    row["text_id"] = data.words(text)
    return (
        fault,
        f"training {'caption' if truth else 'negative'} '{text}' of item {row['item_id']} names",
    )


def _said(
    triple: list[str], phrases: dict[str, str] | None = None, words: dict[str, str] = PHRASES
) -> str:
    subject, relation, object_ = triple
    names = phrases or {subject: subject, object_: object_}
    return f"a {names[subject]} that is {words[relation]} a {names[object_]}"


def _show(row: Row, place: int, category: str, **values: str) -> None:
    """Change an object of a scene, in its record and in the table."""
    with _record(row) as scene:
        for obj in (scene["objects"][place], row["objects"][place]):
            obj["category"] = category
            obj["attributes"] = {**dict(obj["attributes"]), **values}
    row["objects"][place]["attributes"] = list(row["objects"][place]["attributes"].items())


@fault()
def a_training_scene_shows_a_held_out_binding(data: Planted) -> Fault:
    row, (value, category) = data.scene("train"), data.held_out()
    _show(row, data.choose([0, 1]), category, color=value)
    return (
        "leaked binding",
        f"training scene {row['scene_id']} shows the held-out {value} {category}",
    )


@fault(THREE)
def a_training_scene_of_three_objects_shows_a_held_out_label(data: Planted) -> Fault:
    return a_training_scene_shows_a_held_out_binding(data)


@fault(RELATIONS)
def a_training_scene_shows_a_held_out_triple(data: Planted) -> Fault:
    subject, relation, object_ = data.choose(data.block["triples"])
    row = data.scene("train")
    holding = next(
        relation_row for relation_row in row["relations"] if relation_row["relation"] == relation
    )
    _show(row, holding["subject"], subject)
    _show(row, holding["object"], object_)
    return (
        "leaked triple",
        f"training scene {row['scene_id']} shows the held-out {subject} {relation} {object_}",
    )


@fault()
def a_training_text_of_another_split_names_a_held_out_binding(data: Planted) -> Fault:
    item, text = next(data.items("train")), _articled("a {} {}".format(*data.held_out()))
    item["split"] = "val"
    data.rows_of(item)[0]["text_id"] = data.words(text)
    return (
        "leaked binding",
        f"training caption '{text}' of item {item['item_id']} names a held-out binding",
    )


NAMING: dict[str, tuple[str, dict[str, Any]]] = {
    "a training caption names a held-out binding": ("a {value} {thing}", {}),
    "a training caption names a held-out binding by synonyms": (
        "a {other_value} {other_thing}",
        {},
    ),
    "a training negative names a held-out binding": (
        "There is no {value} {thing}.",
        {"truth": False},
    ),
    "a training negative denies a held-out binding": (
        "There is a {thing} that is not {value}.",
        {"truth": False},
    ),
    "a training positive names a held-out binding by synonyms": (
        "There is no {other_value} {other_thing}.",
        {"slot": "p"},
    ),
}


def _naming(text: str, having: dict[str, Any]) -> Plant:
    def plant(data: Planted) -> Fault:
        value, category = data.held_out()
        caption = text.format(
            value=value, thing=category, other_value=VALUES[value], other_thing=THINGS[category]
        )
        return _train_text(data, caption, **having)

    return plant


FAULTS |= {name: (ALL, _naming(*having)) for name, having in NAMING.items()}


@fault(RELATIONS)
def a_training_caption_names_the_converse_of_a_held_out_triple(data: Planted) -> Fault:
    subject, relation, object_ = data.choose(data.block["triples"])
    return _train_text(data, _said([object_, CONVERSES[relation], subject]), "leaked triple")


@fault(RELATIONS)
def a_training_negative_names_a_held_out_triple(data: Planted) -> Fault:
    return _train_text(
        data, _said(data.choose(data.block["triples"])), "leaked triple", truth=False
    )


@fault(RELATIONS)
def a_training_caption_names_a_held_out_triple_by_synonyms(data: Planted) -> Fault:
    words = {**PHRASES, "left": "left of", "right": "right of"}
    return _train_text(
        data, _said(data.choose(data.block["triples"]), THINGS, words), "leaked triple"
    )


@fault(ATOMS)
def a_training_negative_names_an_absent_object(data: Planted) -> Fault:
    return _train_text(
        data,
        f"There is no {data.choose(data.block['absent_objects'])}.",
        "leaked atom",
        truth=False,
    )


@fault(ATOMS)
def a_training_caption_names_an_absent_value(data: Planted) -> Fault:
    return _train_text(data, f"a {data.choose(data.block['absent_values'])} object", "leaked atom")


@fault()
def an_unseen_scene_moves_into_the_split_train(data: Planted) -> Fault:
    scene_id, _ = data.move({"unseen"}, {"train"})
    data.recount()
    return "leaked binding", f"training scene {scene_id} shows the held-out"


@fault()
def an_evaluation_item_becomes_training_by_its_protocol(data: Planted) -> Fault:
    item = next(data.items("binary", kind="swap", split="seen"))
    rows = data.rows_of(item)
    item.update(protocol="train", kind="plain", item_id=f"train-{rows[0]['scene_id']}-0")
    for row in rows:
        row["item_id"] = item["item_id"]
    data.recount()
    return (
        "training outside train",
        f"item {item['item_id']} is of the protocol train and in the split seen",
    )


@fault()
def a_training_item_gets_an_evaluation_scene(data: Planted) -> Fault:
    item = next(data.items("train"))
    scene = next(name for name, split in data.split.items() if split == "unseen")
    for row in data.rows_of(item):
        row["scene_id"] = scene
    return (
        "training outside train",
        f"item {item['item_id']} trains on scene {scene}, which is in unseen",
    )


@fault()
def an_evaluation_item_is_put_into_the_split_train(data: Planted) -> Fault:
    item = next(data.items("binary"))
    item["split"] = "train"
    return (
        "training outside train",
        f"item {item['item_id']} is of the protocol binary and in the split train",
    )


@fault()
def a_training_negative_is_true(data: Planted) -> Fault:
    row = data.candidate("train", slot="n")
    row["text_id"] = row["of"]
    return "true negative", f"item {row['item_id']}, scene"


@fault()
def a_training_positive_is_false(data: Planted) -> Fault:
    row = data.candidate("train", slot="p")
    row["text_id"] = next(
        candidate["text_id"] for candidate in data.rows_of(row) if not candidate["truth"]
    )
    return "false positive", f"item {row['item_id']}, scene"


@fault()
def a_training_positive_says_something_else_that_is_true(data: Planted) -> Fault:
    row = data.candidate("train", slot="p")
    seen = {dict(obj["attributes"])["color"] for obj in data.shown(row)["objects"]}
    unseen = data.choose(set(list(VALUES)[:5]) - seen)
    row["text_id"] = data.words(f"There is an object that is not {unseen}.")
    return _again("candidates")


# Splits, groups and images

MOVES: dict[str, tuple[tuple[str, str], set[str], set[str], str]] = {
    "a scene is in the split of other bindings": (ALL, {"unseen"}, {"seen", "partial"}, ""),
    "a scene with an absent atom is seen": (ATOMS, {"unseen_atoms"}, {"seen"}, ""),
    "a scene of class lists is in another split": (TWO, {"ood_test"}, {"id_val", "ood_val"}, ""),
    "a scene of three objects is in another split": (
        THREE,
        {"ood_test"},
        {"id_val", "ood_val"},
        "",
    ),
    "a scene trains where nothing is held out": (
        UNDIVIDED,
        {"all"},
        {"train"},
        "0 held-out bindings",
    ),
    "a scene is in the split of worlds that hold nothing out": (FIRST, {"seen"}, {"all"}, ""),
    "a scene of a familiar truth shows what is held out": (
        UNEVEN,
        {"asymmetric_unseen"},
        {"asymmetric_seen"},
        "1 held-out bindings",
    ),
    "a symmetric scene is in an asymmetric split": (
        UNEVEN,
        {"seen", "partial"},
        {"asymmetric_seen", "asymmetric_unseen"},
        "",
    ),
}
"""Scenes of some splits that are listed in others, and what they are found to show."""


def _moved(old: set[str], new: set[str], shows: str) -> Plant:
    def plant(data: Planted) -> Fault:
        scene_id, split = data.move(old, new)
        return "wrong split", f"scene {scene_id} is in {split} and shows {shows}"

    return plant


FAULTS |= {name: (where, _moved(*move)) for name, (where, *move) in MOVES.items()}


def _grouped(data: Planted, *splits: str) -> Row:
    """The split of a scene, one of some, of whose group they have another scene."""
    rows = [row for row in data.tables["splits"] if row["split"] in splits]
    often = Counter(data.shown(row)["cluster_id"] for row in rows)
    return data.choose(row for row in rows if often[data.shown(row)["cluster_id"]] > 1)


@fault(UNEVEN)
def a_group_of_an_asymmetric_split_trains(data: Planted) -> Fault:
    row = _grouped(data, "asymmetric_seen", "asymmetric_unseen")
    row["split"] = "train"
    return (
        "shared group",
        f"scenes of {data.shown(row)['cluster_id']} are in asymmetric_seen and train",
    )


@fault(UNEVEN)
def a_foil_is_as_familiar_as_its_truth(data: Planted) -> Fault:
    row = data.candidate("binary", split="asymmetric_seen", truth=False)
    row["text_id"] = data.candidate("binary", split="seen", truth=False)["text_id"]
    return "wrong familiarity", f"item {row['item_id']} of asymmetric_seen: its false text"


@fault(TURN)
def a_turn_trains_on_what_another_evaluates(data: Planted) -> Fault:
    row = data.choose(row for row in data.tables["splits"] if row["split"] == "seen")
    row["split"] = "train"
    return "shared evaluation", f"turn0 trains on scene {row['scene_id']}, which turn1 has in"


@fault(TURN)
def a_turn_trains_on_what_it_holds_out(data: Planted) -> Fault:
    row = data.choose(row for row in data.tables["splits"] if row["split"] == "unseen")
    row["split"] = "train"
    return "leaked binding", f"training scene {row['scene_id']} shows the held-out"


@fault(TURN)
def a_turn_is_missing(data: Planted) -> Fault:
    shutil.rmtree(data.root / "benchmarks/turn1")
    return "incomplete rotation", "no benchmark of this dataset is turn 1"


@fault(TURN)
def a_turn_holds_out_the_bindings_of_another(data: Planted) -> Fault:
    data.hold_out(turn=1)
    return "wrong turn", "which turn 1 of its groups"


@fault(TURN)
def a_rotation_leaves_out_a_value(data: Planted) -> Fault:
    first, *others = data.block["value_groups"]
    data.hold_out(value_groups=[first[1:], *others])
    return "incomplete rotation", "do not hold each of the world's values once"


@fault(DOSED)
def a_dose_is_one_image_short(data: Planted) -> Fault:
    (dose,) = data.block["doses"]
    scene_id = data.choose(dose["scenes"])
    data.leave_out(scene_id)
    return "wrong dose", "0 training scenes show"


@fault(DOSED)
def a_dose_is_one_image_too_much(data: Planted) -> Fault:
    (dose,) = data.block["doses"]
    bindings = {tuple(binding) for binding in dose["bindings"]}
    for row in data.tables["splits"]:
        held_out = [tuple(name.split(" ")) for name in row["held_out_bindings"]]
        if row["split"] is None and len(held_out) == 1 and held_out[0] in bindings:
            row["split"] = "train"
            dose["scenes"].append(row["scene_id"])
            data.hold_out(doses=[dose])
            return "wrong dose", "2 training scenes show"
    raise AssertionError("no scene shows one binding of the dose alone")


@fault(DOSED)
def a_scene_trains_that_no_dose_lists(data: Planted) -> Fault:
    (dose,) = data.block["doses"]
    scene_id = dose["scenes"].pop()
    data.hold_out(doses=[dose])
    return "leaked binding", f"training scene {scene_id} shows the held-out"


@fault(DOSED)
def a_dose_is_not_declared(data: Planted) -> Fault:
    data.manifest["declared_leaks"] = []
    return "undeclared leak", "training shows bindings with a dose"


@fault(DOSED)
def a_dosed_scene_is_called_unseen(data: Planted) -> Fault:
    row = data.choose(row for row in data.tables["splits"] if row["split"] == "dose1")
    row["split"] = "unseen"
    return "wrong split", f"scene {row['scene_id']} is in unseen"


@fault(UNDIVIDED)
def nothing_is_asked_where_nothing_is_held_out(data: Planted) -> Fault:
    data.tables["items"], data.tables["candidates"] = [], []
    data.tables["items"].append(
        {"item_id": "binary-x-0", "protocol": "binary", "kind": "swap", "split": "seen"}
    )
    return "no question", "all has scenes and no item asks about them"


@fault(FIRST)
def a_scene_is_in_another_split_than_it_was_planned_for(data: Planted) -> Fault:
    data.move({"val"}, {"seen"})
    data.recount()
    return _again("splits", FIRST[1])


@fault(FIRST)
def a_seen_scene_shows_what_no_training_scene_shows(data: Planted) -> Fault:
    row = data.scene("seen")
    value, category = dict(row["objects"][0]["attributes"])["color"], row["objects"][0]["category"]
    for scene_record in data.scenes:
        bindings = {
            (dict(other["attributes"])["color"], other["category"])
            for other in scene_record["objects"]
        }
        if data.split.get(scene_record["scene_id"]) == "train" and (value, category) in bindings:
            data.leave_out(scene_record["scene_id"])
    return (
        "untrained binding",
        f"scene {row['scene_id']} of seen shows {value} {category}, which is not held out",
    )


@fault(ATOMS)
def a_caption_of_unseen_compounds_names_seen_ones(data: Planted) -> Fault:
    row = data.candidate("systematicity", split="unseen", slot="c", kind="raw")
    row["text_id"] = next(data.candidates("systematicity", split="seen", slot="c", kind="raw"))[
        "text_id"
    ]
    return "seen compound", f"item {row['item_id']} of unseen says"


@fault(ATOMS)
def a_foil_names_what_training_lacks_where_words_are_known(data: Planted) -> Fault:
    data.manifest["request"]["known_words"] = True
    row = data.candidate("binary", split="seen", slot="n")
    name = data.choose(data.block["absent_objects"])
    row["text_id"] = data.words(_articled(f"a red {name}"))
    return "unknown word", f"a foil of item {row['item_id']} names {name}, which training lacks"


@fault()
def a_scene_stands_in_two_splits(data: Planted) -> Fault:
    row = data.choose(data.tables["splits"])
    data.tables["splits"].append({**row, "split": "seen"})
    return "repeated scene", f"scene {row['scene_id']} is in splits.parquet more than once"


@fault(FIRST)
def a_group_is_in_two_splits(data: Planted) -> Fault:
    row = _grouped(data, "train", "val", "seen")
    row["split"] = data.choose(sorted({"train", "val", "seen"} - {row["split"]}))
    return "shared group", f"scenes of {data.shown(row)['cluster_id']} are in "


@fault()
def a_scene_stands_in_the_table_under_two_ids(data: Planted) -> Fault:
    one, two = (row for row in data.scenes[:2])
    two.update({name: one[name] for name in ("cluster_id", "objects", "relations", "scene")})
    return "repeated scene", f"scenes {one['scene_id']} and {two['scene_id']} have the same record"


def _one_image(data: Planted, *splits: str) -> list[str]:
    ids = [next(name for name, split in data.split.items() if split == splits[0])]
    ids.append(
        next(name for name, split in data.split.items() if split == splits[1] and name not in ids)
    )
    paths = [data.root / f"world/images/{scene_id}.png" for scene_id in ids]
    shutil.copyfile(*paths)
    return ids


@fault()
def two_scenes_of_a_split_have_one_image(data: Planted) -> Fault:
    one, two = _one_image(data, "train", "train")
    return "repeated image", f"scenes {one} and {two} of train have the same image"


@fault()
def one_image_stands_in_two_splits(data: Planted) -> Fault:
    _one_image(data, "train", "unseen")
    return "shared image", "is in train and unseen"


@fault()
def a_scene_is_missing(data: Planted) -> Fault:
    row = data.scene("seen")
    data.scenes.remove(row)
    return "missing scene", f"scene {row['scene_id']} is in split seen and was not rendered"


# Truth and familiarity


def _exchanged(data: Planted) -> Row:
    true, false = sorted(data.rows_of(next(data.items("binary"))), key=lambda row: not row["truth"])
    true["text_id"], false["text_id"] = false["text_id"], true["text_id"]
    return true


@fault()
def a_positive_is_false(data: Planted) -> Fault:
    row = _exchanged(data)
    return "false positive", data.told(row)


@fault()
def a_negative_is_true(data: Planted) -> Fault:
    return "true negative", f"item {_exchanged(data)['item_id']}, scene"


@fault()
def a_relation_is_undecided(data: Planted) -> Fault:
    row = data.candidate("binary", kind="order", truth=True)
    with _record(data.shown(row)) as scene:
        for obj in scene["objects"]:
            obj["position"] = scene["objects"][0]["position"]
    return "undecided text", data.told(row)


@fault(TWO)
def a_distractor_of_class_lists_is_true(data: Planted) -> Fault:
    row = data.candidate("gzsl", truth=False)
    obj = data.shown(row)["objects"][0]
    row["text_id"] = data.words(
        f"a photo of a {dict(obj['attributes'])['color']} {obj['category']}"
    )
    return "true negative", data.told(row)


@fault(RELATED)
def the_converse_of_the_truth_is_a_negative(data: Planted) -> Fault:
    row = data.candidate("gzsl", truth=False, slot="n")
    truth = next(candidate for candidate in data.rows_of(row) if candidate["truth"])
    form = json.loads(data.text[truth["text_id"]]["form"])
    ((s, relation, o, _),) = form["relations"]
    names = [obj["category"] for obj in form["objects"]]
    row["text_id"] = data.words(
        f"a photo of a {names[o]} {PHRASES[CONVERSES[relation]]} a {names[s]}"
    )
    return "true negative", data.told(row)


@fault()
def a_text_is_missing(data: Planted) -> Fault:
    often = Counter(row["text_id"] for row in data.tables["candidates"])
    row = data.choose(row for row in data.tables["candidates"] if often[row["text_id"]] == 1)
    data.tables["texts"].remove(data.text[row["text_id"]])
    return (
        "missing row",
        f"item {row['item_id']}, scene {row['scene_id']}: its text, scene or item does not exist",
    )


@fault()
def an_item_has_no_true_text(data: Planted) -> Fault:
    item = next(data.items("binary"))
    data.tables["candidates"].remove(next(row for row in data.rows_of(item) if row["truth"]))
    return "missing row", f"item {item['item_id']} has no true text"


@fault()
def truth_and_foil_are_unequally_familiar(data: Planted) -> Fault:
    row = data.candidate("binary", kind="swap", truth=False, split="seen")
    (value, category), other = data.held_out(), data.held_out()
    row["text_id"] = data.words(_articled(f"a {value} {category} and a {other[0]} {other[1]}"))
    return "asymmetric familiarity", f"item {row['item_id']}: its true texts name"


@fault(RELATIONS)
def truth_and_foil_name_unequally_many_triples(data: Planted) -> Fault:
    row = data.candidate("binary", kind="flip", split="unseen", truth=False)
    categories = list(THINGS)[:5]
    free = [
        [a, "left", b]
        for a in categories
        for b in categories
        if a != b and [a, "left", b] not in data.block["triples"]
    ]
    row["text_id"] = data.words(_articled(_said(data.choose(free))))
    return "asymmetric familiarity", f"item {row['item_id']}: its true texts name"


@fault(RELATIONS)
def a_scene_is_listed_with_other_held_out_triples(data: Planted) -> Fault:
    row = data.tables["splits"][0]
    row["held_out_triples"] = row["held_out_triples"][1:] or [
        " ".join(data.choose(data.block["triples"]))
    ]
    return _again("splits", RELATIONS[1])


# Manifests, formats, the index and cards


@fault(RELATED)
def an_arrangement_in_two_lists_is_not_declared(data: Planted) -> Fault:
    leak = data.choose(data.manifest["declared_leaks"])
    data.manifest["declared_leaks"].remove(leak)
    return "undeclared leak", f"one arrangement is in two lists: {leak}"


@fault()
def the_request_was_for_other_holdouts_than_the_benchmark_made_with_it(data: Planted) -> Fault:
    data.world["request"]["holdouts"][0]["block_seed"] = 99
    data.manifest["with_world"] = True
    return AGAIN, "world/manifest.json has"


@fault()
def a_path_is_in_the_sums_twice(data: Planted) -> Fault:
    def double() -> None:
        path = data.folder / "SHA256SUMS"
        lines = path.read_text().splitlines()
        path.write_text("\n".join([lines[0], *lines]) + "\n")
        _change_json(data.folder / "manifest.json", sums=sha256(path))
        write_index(data.root)

    data.after = double
    return AGAIN, "all/SHA256SUMS has"


# Holdout and vocabulary


@fault(RELATIONS)
def the_held_out_triples_are_not_closed(data: Planted) -> Fault:
    triple = data.choose(data.block["triples"])
    data.hold_out(triples=[other for other in data.block["triples"] if other != triple])
    return "open holdout", f"holdout.json lacks {' '.join(triple)}"


@fault()
def a_block_is_said_to_be_coverage(data: Planted) -> Fault:
    data.hold_out(design="coverage", asked=["k4"])
    data.manifest["design"] = "coverage"
    return AGAIN, "all/manifest.json has"


def _vocabulary(data: Planted, old: str, new: str) -> None:
    path = data.root / "world/vocabulary.toml"
    text = re.sub(old, lambda match: match.expand(new), path.read_text(), count=1)
    assert text != path.read_text()
    path.write_text(text)
    data.world["request"]["vocabulary"] = text


@fault()
def a_relation_gets_a_smaller_margin_in_file_and_manifest(data: Planted) -> Fault:
    path = data.root / "world/vocabulary.toml"
    text = path.read_text().replace("margin = 0.2", "margin = 0.9")
    path.write_text(text)
    data.world["request"]["vocabulary"] = text
    return _again("scenes", "world")


LOOK_ALIKES = {
    "a value has the letters of another script": (
        r"(?m)^(red = .*)$",
        '\\1\n"r\u0435d" = { linear = [200, 200, 200] }',
        "CYRILLIC SMALL LETTER IE",
    ),
    "a value has the colour of another": (
        r"(?m)^red = \{ linear = (\[.*?\])(.*)$",
        r"\g<0>\nash = { linear = \1 }",
        "'red' and 'ash' of color look the same",
    ),
    "an object has the mesh of another": (
        r"(?m)^cube = .*$",
        r'\g<0>\nblock = { mesh = "cube" }',
        "'cube' and 'block' have one mesh",
    ),
}
"""What a vocabulary has, what becomes of it, and what is found."""


# Scenes


@fault()
def an_object_lacks_a_kind_of_value(data: Planted) -> Fault:
    with _record(data.scenes[0]) as scene:
        del scene["objects"][0]["attributes"]["size"]
    return _again("scenes", "world")


@fault()
def an_object_with_a_flat_top_has_no_size(data: Planted) -> Fault:
    row = data.scenes[0]
    with _record(row) as scene:
        obj = scene["objects"][0]
        del obj["attributes"]["size"]
    name = obj["category"]
    _vocabulary(data, rf"(?m)^{name} = {{", r"\g<0> top = { height = 1, radius = 1 },")
    return (
        "wrong record",
        f"scene {row['scene_id']}: its record cannot be read: ValueError('its {name} has",
    )


@fault(FIRST)
def the_table_lists_other_objects(data: Planted) -> Fault:
    row = data.scenes[0]
    data.choose(row["objects"])["attributes"] = [("color", "red")]
    return "wrong record", f"scene {row['scene_id']}: the column objects differs from its record"


@fault(RELATIONS)
def the_table_lists_no_relations(data: Planted) -> Fault:
    row = data.scenes[0]
    row["relations"] = []
    return (
        "wrong record",
        f"scene {row['scene_id']}: the column relations differs from the relations that hold",
    )


@fault()
def a_record_has_a_number_that_is_none(data: Planted) -> Fault:
    with _record(data.scenes[0]) as scene:
        scene["objects"][0]["heading"] = float("nan")
    return "wrong record", "Out of range float values are not JSON compliant"


@fault()
def a_record_says_one_thing_twice(data: Planted) -> Fault:
    row = data.scenes[0]
    row["scene"] = row["scene"].replace('"category":', '"category":"star","category":', 1)
    return "wrong record", "the key 'category' is repeated"


@fault()
def an_object_hovers(data: Planted) -> Fault:
    with _record(data.scenes[0]) as scene:
        scene["objects"][0]["position"][2] = 0.5
    return "wrong record", "object 0 stands 0.500000 m above the ground and rests on no object"


@fault()
def a_scene_is_not_what_was_planned(data: Planted) -> Fault:
    row = data.scene("train")
    obj = row["objects"][0]
    material = dict(obj["attributes"])["material"]
    _show(row, 0, obj["category"], material="rubber" if material == "metal" else "metal")
    return _again("scenes", "world")


@fault()
def a_twin_stands_elsewhere_than_its_scene(data: Planted) -> Fault:
    with _record(data.choose(row for row in data.scenes if row["twin_of"])) as scene:
        scene["camera"]["position"][0] += 0.001
    return _again("scenes", "world")


def _write_plan(data: Planted, changes: dict[str, Any], version: bytes | None = None) -> None:
    path = data.root / "world/plan.parquet"
    request = json.loads(pq.read_schema(path).metadata[b"request"])
    schema = plan_schema({**request, **changes})
    if version:
        schema = PLAN.with_metadata({**schema.metadata, b"format": version})
    pq.write_table(pq.read_table(path).cast(PLAN).replace_schema_metadata(schema.metadata), path)


# Items and candidates


@fault()
def an_item_stands_twice_under_two_ids(data: Planted) -> Fault:
    item = next(data.items("binary"))
    twin = {**item, "item_id": f"binary-{data.rows_of(item)[0]['scene_id']}-99"}
    data.tables["candidates"] += [{**row, "item_id": twin["item_id"]} for row in data.rows_of(item)]
    data.tables["items"].append(twin)
    data.recount()
    return _again("items")


@fault()
def an_item_has_another_id(data: Planted) -> Fault:
    item = next(data.items("binary"))
    for row in data.rows_of(item):
        row["item_id"] = "binary-easy-0"
    item["item_id"] = "binary-easy-0"
    return _again("items")


@fault()
def a_hard_item_is_left_out(data: Planted) -> Fault:
    item = next(data.items("binary"))
    data.tables["candidates"] = [
        row for row in data.tables["candidates"] if row["item_id"] != item["item_id"]
    ]
    data.tables["items"].remove(item)
    data.recount()
    return _again("items")


def _distract(data: Planted, **having: Any) -> None:
    """Replace a distractor by a label of the list of training."""
    label = data.choose(entry for entry in data.block["classes"] if entry["split"] == "train")[
        "label"
    ]
    if len(label) == 3:
        label = label[0], PHRASES[label[1]], "a", label[2]
    row = data.candidate("gzsl", truth=False, split="ood_test", **having)
    row["text_id"] = data.words(_articled(f"a photo of a {' '.join(label)}"))


@fault(THREE)
def a_hard_negative_of_three_objects_stands_twice(data: Planted) -> Fault:
    row = data.candidate("gzsl", truth=False, changed=["color"])
    row["text_id"] = next(
        candidate["text_id"]
        for candidate in data.rows_of(row)
        if candidate["changed"] == ["color"] and candidate["text_id"] != row["text_id"]
    )
    return _again("candidates", THREE[1])


# Pools and texts


@fault()
def a_pool_lacks_the_truth(data: Planted) -> Fault:
    row = data.candidate("retrieval", truth=True)
    data.tables["pools"] = [
        pool_row for pool_row in data.tables["pools"] if pool_row["text_id"] != row["text_id"]
    ]
    return "wrong pool truth", f"item {row['item_id']}: 1 texts of the pool are true, 2 are listed"


@fault()
def a_pool_names_a_text_twice(data: Planted) -> Fault:
    data.tables["pools"].append(data.choose(data.tables["pools"]))
    return "repeated text", "pool grid names 1 texts twice"


@fault()
def items_are_asked_against_another_pool(data: Planted) -> Fault:
    item = next(data.items("retrieval"))
    item["pool_id"] = "easy"
    data.tables["pools"] += [
        {"pool_id": "easy", "text_id": row["text_id"]} for row in data.rows_of(item)
    ]
    return _again("items")


@fault()
def a_text_has_an_id_that_is_not_its_hash(data: Planted) -> Fault:
    old = data.tables["texts"][0]["text_id"]
    for table in ("texts", "candidates", "pools"):
        for row in data.tables[table]:
            for name in ("text_id", "of"):
                if row.get(name) == old:
                    row[name] = "f" * 16
    return _again("texts")


@fault()
def a_table_has_a_column_more(data: Planted) -> Fault:
    def add() -> None:
        path = data.folder / "items.parquet"
        table = pq.read_table(path)
        pq.write_table(table.append_column("hint", pa.nulls(len(table), pa.string())), path)
        seal(data.folder)

    data.after = add
    return (
        "damaged file",
        "items.parquet cannot be read: it has the column hint, which the format does not have",
    )


# Tars

Members = list[tuple[tarfile.TarInfo, bytes]]


def _repack(data: Planted, change: Callable[[Members], object]) -> None:
    """Change the members of the first tar, and list their places and digests as they are."""
    path = data.root / "world/shards/000000.tar"
    with tarfile.open(path) as tar:
        members = [(member, tar.extractfile(member).read()) for member in tar.getmembers()]  # type: ignore[union-attr]
    change(members)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for info, content in members:
            info.size = len(content) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(content))
    with tarfile.open(path) as tar:
        places = {member.name: member.offset_data for member in tar.getmembers()}
    rows = pq.read_table(data.root / "world/packed.parquet").to_pylist()
    for row in rows:
        name = row["path"].rpartition("/")[2]
        if row["tar"] == "shards/000000.tar" and name in places:
            row["offset"] = places[name]
    pq.write_table(pa.Table.from_pylist(rows, schema=PACKED), data.root / "world/packed.parquet")


def _sample(members: Members) -> int:
    return next(n for n, (info, _) in enumerate(members) if info.name == "000000.json")


def _rewrite_sample(members: Members) -> None:
    n = _sample(members)
    members[n] = (
        members[n][0],
        members[n][1].replace(b"rubber", b"metal").replace(b"small", b"large"),
    )


def _add_link(members: Members) -> None:
    link = tarfile.TarInfo("000000.link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    members.append((link, b""))


def _unpack(data: Planted) -> None:
    (data.root / "world/images").mkdir()
    Image.new("RGB", (64, 48)).save(data.root / "world/images/000000.png")


# Faults by their finding


def _texts_of(data: Planted) -> Row:
    return data.tables["texts"][0]


def _foil(data: Planted) -> Row:
    return data.candidate("binary", truth=False)


def _rewrite(data: Planted, name: str, pattern: str, words: str) -> None:
    """Replace what matches a pattern in a file of the dataset, when all is sealed."""
    path = data.root / name
    data.after = lambda: path.write_text(re.sub(pattern, words, path.read_text(), count=1))


Changes = dict[str, Callable[[Planted], object]]
ALWAYS: dict[tuple[tuple[str, str], str, str], Changes] = {
    (ALL, "undeclared leak", "training negatives may name what is held out"): {
        "exposed negatives are allowed and not declared": lambda data: data.manifest.update(
            exposed_negatives=True
        ),
    },
    (
        ALL,
        "wrong record",
        "an object has the box [0, 0, 640, 48], which is not a box within the image",
    ): {
        "a box lies outside the image": lambda data: data.scenes[0]["objects"][0].update(
            amodal_box=[0, 0, 640, 48]
        ),
    },
    (ALL, "wrong record", "an object has the visible fraction 1.5, expected 0 to 1"): {
        "more is visible than there is": lambda data: data.scenes[0]["objects"][0].update(
            visible_fraction=1.5
        ),
    },
    **{
        (ALL, "look-alike", words): {name: partial(_vocabulary, old=old, new=new)}
        for name, (old, new, words) in LOOK_ALIKES.items()
    },
    (ALL, AGAIN, "plaid"): {
        "the holdout names what no scene can show": lambda data: data.hold_out(
            bindings=[["plaid", category] for _, category in data.block["bindings"]],
            values=["plaid"],
        ),
    },
    (ALL, AGAIN, "all"): {
        "the holdout has another category": lambda data: data.hold_out(category="animal")
    },
    (ALL, *_again("texts")): {
        "no text has its form": lambda data: [
            row.update(form=None) for row in data.tables["texts"]
        ],
        "a form is empty": lambda data: _texts_of(data).update(form=""),
    },
    (ATOMS, *_again("items", ATOMS[1])): {
        "unseen atoms are asked by more than raw retrieval": lambda data: data.choose(
            row for row in data.tables["items"] if row["split"] == "unseen_atoms"
        ).update(kind="atom"),
    },
    (TWO, *_again("candidates", TWO[1])): {
        "a label of another list is a distractor": lambda data: _distract(
            data, changed=["distractor"]
        ),
    },
    (RELATED, *_again("candidates", RELATED[1])): {
        "a relation of another list is a distractor": lambda data: _distract(data, slot="n"),
        "a relation of another list is a zero-shot label": lambda data: _distract(data, slot="zsl"),
    },
    (TARS, AGAIN, "world/SHA256SUMS has"): {
        "a file is added to a tar": lambda data: _repack(
            data, lambda members: members.append((tarfile.TarInfo("000000.txt"), b"the answer"))
        ),
        "a sample says something else": lambda data: _repack(data, _rewrite_sample),
        "a sample is left out": lambda data: _repack(
            data, lambda members: members.pop(_sample(members))
        ),
        "a tar holds a link": lambda data: _repack(data, _add_link),
        "a file of a tar lies in a folder too": _unpack,
    },
}
"""By dataset, fault and words of the finding."""

REPRODUCED: dict[tuple[tuple[str, str], str, str], Changes] = {
    (ALL, AGAIN, "all/candidates.parquet has"): {
        "a value of a benchmark's table": lambda data: _foil(data).update(kind="atom"),
    },
    (ALL, AGAIN, "all/manifest.json has"): {
        "a key of a benchmark's manifest": lambda data: data.manifest["scenes"].update(seen=1),
    },
    (ALL, AGAIN, "world/scenes.parquet has"): {
        "a row of the world": lambda data: data.scene("unseen").update(status="failed"),
    },
    (ALL, AGAIN, "all/notes.txt is not among the files"): {
        "a file that nothing writes": lambda data: (data.folder / "notes.txt").write_text(
            "see here"
        ),
    },
    (ALL, AGAIN, "'Proven by others.'; made again, it has 'Declared leaks: none.'"): {
        "a sentence of the card": lambda data: _rewrite(
            data, "README.md", "Declared leaks: none.", "Proven by others."
        ),
    },
}
"""Every file is compared byte by byte, so one change to each kind of file shows that all are."""


def _planted(change: Callable[[Planted], object], *expected: str) -> Plant:
    def plant(data: Planted) -> Fault:
        change(data)
        return expected

    return plant


FAULTS |= {
    f"{words}: {name}": (where, _planted(change, fault, words))
    for (where, fault, words), changes in (*ALWAYS.items(), *REPRODUCED.items())
    for name, change in changes.items()
}


# The tests


@pytest.fixture
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A dataset without fault by its name in JOBS, made once. Not to be changed."""

    def dataset(name: str) -> Path:
        return once(
            tmp_path_factory, f"faults-{name}", lambda root: _make(root, name, dict(JOBS[name]))
        )

    return dataset


@pytest.fixture
def copy_of(datasets: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of such a dataset that a test may change."""
    return lambda name: Path(shutil.copytree(datasets(name), tmp_path / "dataset"))


def _make(root: Path, name: str, job: dict[str, Any]) -> None:
    path = root.with_suffix(".toml")
    size = 6 if name == "rotation" else 5  # each of three groups needs two names
    path.write_text(family(size, size), encoding="utf-8")
    prepared = prepare(
        WorldOptions(
            family=job.pop("family", str(path)),
            holdout=job.pop("holdout"),
            scenes=job.pop("scenes", SMALL),
            resolution="64x48",
            **job,
        )
    )
    write_planned(root, prepared, 20_000 if name == "tars" else None)
    world = Dataset.open(root).world
    if name == "tars":
        describe_world(
            root, world, holdout=prepared.holdout, name=TARS[1], request=TextRequest(("binary",))
        )
    else:
        write_benchmarks(root, world, False)
    if name == "rotation":
        dosed = dosed_holdouts(world, prepared.vocabulary, prepared.holdouts, "0,1")
        describe_world(
            root, world, holdout=dosed[0], name=DOSED[1], request=TextRequest(("binary",))
        )
    if name == "files":
        describe_world(
            root, world, holdout=prepared.holdout, name=ALL[1], request=TextRequest(strict=False)
        )


@pytest.fixture(autouse=True)
def _planned_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Plans are functions of their arguments: each is made once."""

    def plan_once(*arguments: Any, **options: Any) -> Any:
        name = hashlib.sha256(repr((arguments, options)).encode()).hexdigest()
        plan_file = once(
            tmp_path_factory,
            name,
            lambda path: path.write_bytes(pickle.dumps(plan(*arguments, **options))),
        )
        return pickle.loads(plan_file.read_bytes())

    plan = minimal_pairs.plan_with_twins
    monkeypatch.setattr(minimal_pairs, "plan_with_twins", plan_once)


@pytest.mark.parametrize(
    "where",
    [
        FIRST,
        ALL,
        TARS,
        RELATIONS,
        TURN,
        DOSED,
        *(pytest.param(design, marks=pytest.mark.full) for design in (ATOMS, TWO, RELATED, THREE)),
    ],
)
def test_what_nobody_touched_is_clean_and_so_is_what_was_sealed_again(
    copy_of: Callable[[str], Path], where: tuple[str, str]
) -> None:
    root = copy_of(where[0])
    for sealed in (False, True):
        if sealed:
            Planted(root, where[1]).seal()
        certificate = verify_dataset(root, where[1], reproduce=Reproduction())[where[1]]
        assert (certificate["findings"], certificate["reproduced"], certificate["level"]) == (
            [],
            True,
            "records",
        )
        assert certificate["status"] == ("as declared" if where in (RELATED, DOSED) else "clean")


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_and_named(copy_of: Callable[[str], Path], name: str) -> None:
    (dataset, benchmark), plant = FAULTS[name]
    root = copy_of(dataset)
    data = Planted(root, benchmark, seed=len(name))
    fault, words = plant(data)
    data.seal()
    reproduction = Reproduction() if fault == AGAIN else None
    certificate = verify_dataset(root, benchmark, reproduce=reproduction)[benchmark]
    messages = [finding["what"] for finding in certificate["findings"] if finding["fault"] == fault]
    assert certificate["status"] == "failed"
    assert any(words in what for what in messages), (
        fault,
        words,
        certificate["sentence"],
        certificate["findings"][:9],
    )
    assert {"damaged file", "unlisted file", "another world"}.isdisjoint(
        {*certificate["faults"]} - {fault}
    )


def _exchange_images(data: Planted) -> None:
    one, two = (
        next(name for name, split in data.split.items() if split == split_name)
        for split_name in ("train", "unseen")
    )
    paths = [data.root / f"world/images/{scene_id}.png" for scene_id in (one, two)]
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, reversed(contents), strict=True):
        path.write_bytes(content)


def _rename_a_colour(data: Planted) -> None:
    """The values red and blue exchange their appearance in the vocabulary, as nobody who only reads
    records can see."""
    _vocabulary(data, r"(?m)^(red = .*)linear = \[\d+, 9, 9\]", r"\1linear = [9, 9, 99]")
    _write_plan(data, {"vocabulary": data.world["request"]["vocabulary"]})


@pytest.mark.parametrize("change", [_exchange_images, _rename_a_colour])
def test_what_only_pixels_tell_is_beyond_the_level_of_records(
    copy_of: Callable[[str], Path], change: Callable[[Planted], None]
) -> None:
    """docs/verify.md says so; a certificate of the level of records claims nothing about pixels."""
    root = copy_of("files")
    data = Planted(root, "all")
    change(data)
    data.seal()
    certificate = verify_dataset(root, "all")["all"]
    assert (certificate["status"], certificate["level"]) == ("clean", "records")
    assert "no pixel was compared" in certificate["sentence"]


@pytest.mark.parametrize("parts", [["world"], ["benchmarks/all"], ["world", "benchmarks/all"]])
def test_what_another_version_made_is_judged_alone(
    copy_of: Callable[[str], Path], parts: list[str]
) -> None:
    root = copy_of("files")
    for part in parts:
        _change_json(root / part / "manifest.json", version="0.0.1")
    certificate = verify_dataset(root, "all", reproduce=Reproduction())["all"]
    assert (certificate["status"], certificate["reproduced"]) == ("clean", False)
    assert (
        "not made again, since it was made by version 0.0.1, and this is "
        in certificate["sentence"]
    )
    assert certificate["sentence"].count("0.0.1") == 1


def test_a_process_that_is_ended_leaves_the_verdict_of_the_judge(
    datasets: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reproduction, "_LARGE", 0)
    making = Reproduction()(datasets("files"), ["all"])
    while len(processes := multiprocessing.active_children()) < 2:
        time.sleep(0.01)
    processes[0].kill()
    assert making() == {"all": Reproduced(False, (), "its process ended early")}


def test_benchmarks_may_be_made_before_their_world(
    datasets: Callable[[str], Path], tmp_path: Path
) -> None:
    for name in ("all", None):
        component = reproduction._Component(datasets("files"), name)
        assert component.reproduce(tmp_path) == Reproduced(True)
