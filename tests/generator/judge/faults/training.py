"""Faults of training data: what it shows or names that is held out, and its own false negatives."""

from typing import Any

from tests.generator.designs import THINGS, VALUES
from tests.generator.judge.faults.catalogue import Plant, add_fault, fault
from tests.generator.judge.faults.edits import (
    CONVERSES,
    PHRASES,
    set_object,
    triple_caption,
    with_articles,
)
from tests.generator.judge.faults.worlds import ALL, ATOMS, RELATIONS, THREE
from tests.generator.judge.planted import Fault, Planted


def name_in_training(
    data: Planted, text: str, fault: str = "leaked binding", truth: bool = True, **having: Any
) -> Fault:
    """Replace a caption or a negative of training by a text that names what is held out."""
    row = data.candidate("train", truth=truth, **having)
    text = with_articles(text)
    row["text_id"] = data.add_text(text)
    role = "caption" if truth else "negative"
    return fault, f"training {role} '{text}' of item {row['item_id']} names"


@fault()
def a_training_scene_shows_a_held_out_binding(data: Planted) -> Fault:
    row, (value, category) = data.scene("train"), data.held_out()
    set_object(row, data.choose([0, 1]), category, color=value)
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
    set_object(row, holding["subject"], subject)
    set_object(row, holding["object"], object_)
    return (
        "leaked triple",
        f"training scene {row['scene_id']} shows the held-out {subject} {relation} {object_}",
    )


@fault()
def a_training_text_of_another_split_names_a_held_out_binding(data: Planted) -> Fault:
    item, text = next(data.items("train")), with_articles("a {} {}".format(*data.held_out()))
    item["split"] = "val"
    data.rows_of(item)[0]["text_id"] = data.add_text(text)
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
"""By name of a fault: a text, and what the training candidate has whose text it replaces."""


def _naming(text: str, having: dict[str, Any]) -> Plant:
    def plant(data: Planted) -> Fault:
        value, category = data.held_out()
        caption = text.format(
            value=value, thing=category, other_value=VALUES[value], other_thing=THINGS[category]
        )
        return name_in_training(data, caption, **having)

    return plant


for _name, (_text, _having) in NAMING.items():
    add_fault(_name, ALL, _naming(_text, _having))


@fault(RELATIONS)
def a_training_caption_names_the_converse_of_a_held_out_triple(data: Planted) -> Fault:
    subject, relation, object_ = data.choose(data.block["triples"])
    return name_in_training(
        data, triple_caption([object_, CONVERSES[relation], subject]), "leaked triple"
    )


@fault(RELATIONS)
def a_training_negative_names_a_held_out_triple(data: Planted) -> Fault:
    return name_in_training(
        data, triple_caption(data.choose(data.block["triples"])), "leaked triple", truth=False
    )


@fault(RELATIONS)
def a_training_caption_names_a_held_out_triple_by_synonyms(data: Planted) -> Fault:
    words = {**PHRASES, "left": "left of", "right": "right of"}
    return name_in_training(
        data, triple_caption(data.choose(data.block["triples"]), THINGS, words), "leaked triple"
    )


@fault(ATOMS)
def a_training_negative_names_an_absent_object(data: Planted) -> Fault:
    return name_in_training(
        data,
        f"There is no {data.choose(data.block['absent_objects'])}.",
        "leaked atom",
        truth=False,
    )


@fault(ATOMS)
def a_training_caption_names_an_absent_value(data: Planted) -> Fault:
    return name_in_training(
        data, f"a {data.choose(data.block['absent_values'])} object", "leaked atom"
    )


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
