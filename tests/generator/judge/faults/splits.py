"""Faults of splits and groups: scenes that are where other bindings belong."""

from collections import Counter

from tests.generator.judge.faults.catalogue import Plant, add_fault, fault
from tests.generator.judge.faults.edits import with_articles
from tests.generator.judge.faults.worlds import ALL, ATOMS, FIRST, THREE, TWO, UNDIVIDED, UNEVEN
from tests.generator.judge.planted import Fault, Planted, Row

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
"""By name of a fault: its benchmark, the splits that a scene is taken from, those that it is listed in,
and what the finding says that it shows."""


def _move_scene(old: set[str], new: set[str], shows: str) -> Plant:
    def plant(data: Planted) -> Fault:
        scene_id, split = data.move(old, new)
        return "wrong split", f"scene {scene_id} is in {split} and shows {shows}"

    return plant


for _name, (_benchmark, *_move) in MOVES.items():
    add_fault(_name, _benchmark, _move_scene(*_move))


def _split_row_with_group(data: Planted, *splits: str) -> Row:
    """A row of the splits, of a scene whose group has another scene in one of these splits."""
    rows = [row for row in data.tables["splits"] if row["split"] in splits]
    size_of_group = Counter(data.scene_of(row)["cluster_id"] for row in rows)
    return data.choose(row for row in rows if size_of_group[data.scene_of(row)["cluster_id"]] > 1)


@fault(UNEVEN)
def a_group_of_an_asymmetric_split_trains(data: Planted) -> Fault:
    row = _split_row_with_group(data, "asymmetric_seen", "asymmetric_unseen")
    row["split"] = "train"
    return (
        "shared group",
        f"scenes of {data.scene_of(row)['cluster_id']} are in asymmetric_seen and train",
    )


@fault(UNEVEN)
def a_foil_is_as_familiar_as_its_truth(data: Planted) -> Fault:
    row = data.candidate("binary", split="asymmetric_seen", truth=False)
    row["text_id"] = data.candidate("binary", split="seen", truth=False)["text_id"]
    return "wrong familiarity", f"item {row['item_id']} of asymmetric_seen: its false text"


@fault(UNDIVIDED)
def nothing_is_asked_where_nothing_is_held_out(data: Planted) -> Fault:
    data.tables["items"], data.tables["candidates"] = [], []
    data.tables["items"].append(
        {"item_id": "binary-x-0", "protocol": "binary", "kind": "swap", "split": "seen"}
    )
    return "no question", "all has scenes and no item asks about them"


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
    row["text_id"] = data.add_text(with_articles(f"a red {name}"))
    return "unknown word", f"a foil of item {row['item_id']} names {name}, which training lacks"


@fault()
def a_scene_stands_in_two_splits(data: Planted) -> Fault:
    row = data.choose(data.tables["splits"])
    data.tables["splits"].append({**row, "split": "seen"})
    return "repeated scene", f"scene {row['scene_id']} is in splits.parquet more than once"


@fault(FIRST)
def a_group_is_in_two_splits(data: Planted) -> Fault:
    row = _split_row_with_group(data, "train", "val", "seen")
    row["split"] = data.choose(sorted({"train", "val", "seen"} - {row["split"]}))
    return "shared group", f"scenes of {data.scene_of(row)['cluster_id']} are in "
