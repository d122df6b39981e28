"""Faults of texts, items and pools: truth, familiarity, and rows that are missing."""

import json
from collections import Counter

from tests.generator.designs import THINGS
from tests.generator.judge.faults.catalogue import fault
from tests.generator.judge.faults.edits import (
    CONVERSES,
    PHRASES,
    edited_record,
    triple_caption,
    with_articles,
)
from tests.generator.judge.faults.worlds import RELATED, RELATIONS, TWO
from tests.generator.judge.planted import Fault, Planted, Row


def _exchange_texts(data: Planted) -> Row:
    """Exchange the texts of a caption and its foil. Returns the row of the caption."""
    true, false = sorted(data.rows_of(next(data.items("binary"))), key=lambda row: not row["truth"])
    true["text_id"], false["text_id"] = false["text_id"], true["text_id"]
    return true


@fault()
def a_positive_is_false(data: Planted) -> Fault:
    row = _exchange_texts(data)
    return "false positive", data.name_candidate(row)


@fault()
def a_negative_is_true(data: Planted) -> Fault:
    return "true negative", f"item {_exchange_texts(data)['item_id']}, scene"


@fault()
def a_relation_is_undecided(data: Planted) -> Fault:
    row = data.candidate("binary", kind="order", truth=True)
    with edited_record(data.scene_of(row)) as scene:
        for obj in scene["objects"]:
            obj["position"] = scene["objects"][0]["position"]
    return "undecided text", data.name_candidate(row)


@fault(TWO)
def a_distractor_of_class_lists_is_true(data: Planted) -> Fault:
    row = data.candidate("gzsl", truth=False)
    obj = data.scene_of(row)["objects"][0]
    row["text_id"] = data.add_text(
        f"a photo of a {dict(obj['attributes'])['color']} {obj['category']}"
    )
    return "true negative", data.name_candidate(row)


@fault(RELATED)
def the_converse_of_the_truth_is_a_negative(data: Planted) -> Fault:
    row = data.candidate("gzsl", truth=False, slot="n")
    truth = next(candidate for candidate in data.rows_of(row) if candidate["truth"])
    form = json.loads(data.text[truth["text_id"]]["form"])
    ((s, relation, o, _),) = form["relations"]
    names = [obj["category"] for obj in form["objects"]]
    row["text_id"] = data.add_text(
        f"a photo of a {names[o]} {PHRASES[CONVERSES[relation]]} a {names[s]}"
    )
    return "true negative", data.name_candidate(row)


@fault()
def a_text_is_missing(data: Planted) -> Fault:
    uses_of_text = Counter(row["text_id"] for row in data.tables["candidates"])
    row = data.choose(row for row in data.tables["candidates"] if uses_of_text[row["text_id"]] == 1)
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
    row["text_id"] = data.add_text(
        with_articles(f"a {value} {category} and a {other[0]} {other[1]}")
    )
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
    row["text_id"] = data.add_text(with_articles(triple_caption(data.choose(free))))
    return "asymmetric familiarity", f"item {row['item_id']}: its true texts name"


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
