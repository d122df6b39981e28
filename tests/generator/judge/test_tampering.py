"""Datasets that someone changed and sealed again, with every digest and card recomputed: each kind has its finding.

docs/verify.md lists these kinds by category. Faults that a mistake of ours would make are in test_planted_faults.py.
"""

import io
import json
import re
import shutil
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from bench.worlds import write_planned
from generator.base.files import read_json, sha256, write_json
from generator.dataset.reader import Dataset
from generator.dataset.records import PACKED, PLAN, plan_schema
from generator.dataset.writer import write_index
from generator.describe.benchmark import describe, write_benchmarks
from generator.describe.request import Request
from generator.judge.verify import verify_dataset
from generator.plan.job import Job, prepare
from tests.generator.designs import family
from tests.generator.judge.datasets import seal
from tests.generator.judge.planted import Fault, Planted, Row
from tests.paths import CHECKOUT

FIRST, ALL, TARS = "color-shape-2x2-b0", "all", "tars"
"""Benchmarks: the one that is made with its world, one of every protocol, and one over a world in tars."""


class Tampered(Planted):
    """A dataset that someone changes. Choices are the first that fit; `after` runs when all is sealed."""

    def __init__(self, root: Path, name: str):
        super().__init__(root, None, name)  # type: ignore[arg-type]
        self.world = read_json(root / "world/manifest.json")
        self.after: Callable[[], object] = lambda: None

    def choose(self, rows: Any) -> Any:
        return next(iter(rows))

    def items(self, protocol: str, kind: str | None = None, **having: Any) -> Iterator[Row]:
        """The items of a protocol."""
        for row in self.tables["items"]:
            fits = row["protocol"] == protocol and kind in (None, row["kind"])
            if fits and all(row[name] == value for name, value in having.items()):
                yield row

    def rows_of(self, item: Row) -> list[Row]:
        """The candidates of an item."""
        return [row for row in self.tables["candidates"] if row["item_id"] == item["item_id"]]

    def foil(self, protocol: str, kind: str | None = None, **having: Any) -> Row:
        """The first false candidate of a protocol."""
        return next(
            row for item in self.items(protocol, kind) for row in self.rows_of(item)
            if not row["truth"] and all(row[name] == value for name, value in having.items())
        )  # fmt: skip

    def recount(self) -> None:
        """State the numbers of scenes and items that the tables have."""
        items: dict[str, int] = {}
        for row in self.tables["items"]:
            name = f"{row['protocol']} {row['kind']}"
            items[name] = items.get(name, 0) + 1
        self.manifest["texts"]["items"] = items
        self.manifest["scenes"] = {
            split: sum(row["split"] == split for row in self.tables["splits"]) for split in self.manifest["scenes"]
        }

    def seal(self) -> None:
        write_json(self.root / "world/manifest.json", self.world)
        super().seal()
        self.after()


TAMPERINGS: dict[str, tuple[str, Callable[[Tampered], Fault]]] = {}
"""By name: the benchmark, and what changes it and says which finding is expected."""


def tampering(benchmark: str = ALL) -> Callable[[Callable[[Tampered], Fault]], Callable[[Tampered], Fault]]:
    """Register a kind of tampering under its name."""

    def register(change: Callable[[Tampered], Fault]) -> Callable[[Tampered], Fault]:
        TAMPERINGS[change.__name__] = (benchmark, change)
        return change

    return register


# Training data


@tampering()
def an_evaluation_item_becomes_training_by_its_protocol(data: Tampered) -> Fault:
    item = next(row for row in data.items("binary", "swap") if row["split"] == "seen")
    rows = data.rows_of(item)
    item.update(protocol="train", kind="plain", item_id=f"train-{rows[0]['scene_id']}-0")
    for row in rows:
        row["item_id"] = item["item_id"]
    data.recount()
    return "training outside train", f"item {item['item_id']} is of the protocol train and in the split seen"


@tampering()
def a_training_item_gets_an_evaluation_scene(data: Tampered) -> Fault:
    item = next(data.items("train"))
    scene = next(name for name, split in data.split.items() if split == "unseen")
    for row in data.rows_of(item):
        row["scene_id"] = scene
    return "training outside train", f"item {item['item_id']} trains on scene {scene}, which is in unseen"


@tampering()
def an_unseen_scene_moves_into_the_split_train(data: Tampered) -> Fault:
    scene_id, _ = data.move({"unseen"}, {"train"})
    data.recount()
    return "leaked binding", f"training scene {scene_id} shows the held-out"


@tampering()
def an_evaluation_item_is_put_into_the_split_train(data: Tampered) -> Fault:
    item = next(data.items("binary", "swap"))
    item["split"] = "train"
    return "training outside train", f"item {item['item_id']} is in the split train and of the protocol binary"


@tampering()
def a_training_text_of_another_split_names_a_held_out_binding(data: Tampered) -> Fault:
    item = next(data.items("train"))
    item["split"] = "val"
    text = "a {} {}".format(*data.held_out())
    data.rows_of(item)[0]["text_id"] = data.words(text)
    return "leaked binding", f"training caption '{text}' of item {item['item_id']} names a held-out binding"


# Manifests, formats and the index


@tampering()
def the_format_of_the_world_is_another(data: Tampered) -> Fault:
    data.world["format"] = "nope"
    return "wrong format", "world/manifest.json has the format 'nope'"


@tampering()
def the_format_of_the_benchmark_is_another(data: Tampered) -> Fault:
    data.manifest["format"] = "jackalope/0"
    return "wrong format", "all/manifest.json has the format 'jackalope/0'"


@tampering()
def the_format_of_the_index_is_another(data: Tampered) -> Fault:
    data.after = partial(_change_json, data.root / "dataset.json", format="jackalope/0")
    return "wrong format", "dataset.json has the format 'jackalope/0'"


@tampering()
def the_format_of_the_plan_is_another(data: Tampered) -> Fault:
    _write_plan(data, {}, b"jackalope/0")
    return "wrong format", "is not a plan of this version"


@tampering()
def the_index_names_another_world(data: Tampered) -> Fault:
    data.after = partial(_change_json, data.root / "dataset.json", world="0" * 64)
    return "wrong index", "dataset.json names another world"


@tampering()
def the_index_leaves_a_benchmark_out(data: Tampered) -> Fault:
    data.after = partial(_change_json, data.root / "dataset.json", benchmarks={})
    return "wrong index", "dataset.json does not name the benchmarks that are there: all"


@tampering()
def the_index_is_missing(data: Tampered) -> Fault:
    data.after = (data.root / "dataset.json").unlink
    return "wrong index", "dataset.json cannot be read"


@tampering()
def the_index_repeats_a_key(data: Tampered) -> Fault:
    path = data.root / "dataset.json"
    data.after = lambda: path.write_text(path.read_text().replace("{", '{"world": null, ', 1))
    return "wrong index", "the key 'world' is repeated"


@tampering()
def the_manifest_calls_the_benchmark_otherwise(data: Tampered) -> Fault:
    data.manifest["name"] = "pearson2025"
    return "wrong manifest", "all/manifest.json calls the benchmark 'pearson2025'"


@tampering()
def the_world_counts_more_scenes(data: Tampered) -> Fault:
    data.world["scenes"] += 1000
    return "wrong count", f"its manifest says {data.world['scenes']}"


@tampering()
def the_world_hides_failed_scenes(data: Tampered) -> Fault:
    data.world["failed"] = 7
    return "wrong count", "the world has 0 failed, its manifest says 7"


@tampering()
def the_manifest_states_another_resolution(data: Tampered) -> Fault:
    data.world["request"]["width"] = 512
    return "wrong manifest", "scenes are of 64 x 48 pixels, the manifest says 512 x 48"


@tampering()
def the_request_was_for_other_holdouts_than_the_benchmark_made_with_it(data: Tampered) -> Fault:
    data.world["request"]["holdouts"][0]["block_seed"] = 99
    data.manifest["with_world"] = True
    return "wrong manifest", "it was made with its world, which was asked for other holdouts"


@tampering()
def the_manifest_lacks_the_counts_of_scenes(data: Tampered) -> Fault:
    data.manifest["scenes"] = {}
    return "wrong count", "scenes, the manifest says nothing"


@tampering()
def the_manifest_lacks_the_counts_of_items(data: Tampered) -> Fault:
    del data.manifest["texts"]["items"]
    return "wrong count", "items of binary swap, the manifest says 0"


@tampering()
def a_flag_of_the_manifest_is_neither_true_nor_false(data: Tampered) -> Fault:
    data.manifest["exposed_negatives"] = None
    return "wrong manifest", "the manifest says exposed_negatives: None"


@tampering()
def exposed_negatives_are_allowed_and_not_declared(data: Tampered) -> Fault:
    data.manifest["exposed_negatives"] = True
    return "undeclared leak", "training negatives may name what is held out"


@tampering()
def a_strange_file_is_listed_in_the_sums(data: Tampered) -> Fault:
    (data.folder / "notes.txt").write_text("see here")
    return "stray file", "all/notes.txt is no file of a benchmark"


@tampering()
def a_path_is_in_the_sums_twice(data: Tampered) -> Fault:
    def double() -> None:
        path = data.folder / "SHA256SUMS"
        lines = path.read_text().splitlines()
        path.write_text("\n".join([lines[0], *lines]) + "\n")
        _change_json(data.folder / "manifest.json", sums=sha256(path))
        write_index(data.root)

    data.after = double
    return "damaged file", "all/SHA256SUMS lists 1 paths twice"


# Cards


@tampering()
def the_readme_says_something_else(data: Tampered) -> Fault:
    path = data.root / "README.md"
    data.after = lambda: path.write_text(path.read_text().replace("Declared leaks: none.", "Proven by others."))
    return "wrong card", "it says 'Proven by others.', the manifests give 'Declared leaks: none.'"


@tampering()
def croissant_names_another_digest(data: Tampered) -> Fault:
    path = data.root / "croissant.json"
    data.after = lambda: path.write_text(
        re.sub(r'"sha256": "\w{64}"', f'"sha256": "{"0" * 64}"', path.read_text(), count=1)
    )
    return "wrong card", f'"sha256": "{"0" * 64}"'


@tampering()
def the_readme_is_missing(data: Tampered) -> Fault:
    data.after = (data.root / "README.md").unlink
    return "wrong card", "README.md cannot be read"


# Holdout and vocabulary


@tampering()
def the_manifest_spells_out_a_smaller_holdout(data: Tampered) -> Fault:
    data.manifest["holdout"] = {**data.block, "bindings": data.block["bindings"][1:]}
    return "another holdout", "another holdout than holdout.json"


@tampering()
def the_summary_names_other_values(data: Tampered) -> Fault:
    data.manifest["held_out"] = data.manifest["held_out"].replace(data.block["values"][0], "plaid")
    return "wrong manifest", "is held out, holdout.json"


@tampering()
def the_design_is_another(data: Tampered) -> Fault:
    data.manifest["design"] = "systematicity"
    return "wrong manifest", "the manifest has the design 'systematicity', holdout.json 'bindsplit'"


@tampering()
def a_block_is_said_to_be_coverage(data: Tampered) -> Fault:
    data.block["design"], data.block["asked"] = "coverage", ["k4"]
    data.manifest["design"], data.manifest["holdout"] = "coverage", data.block
    write_json(data.folder / "holdout.json", data.block)
    return "wrong manifest", "is held out, holdout.json 'all but 4 of"


@tampering()
def the_holdout_names_what_no_scene_can_show(data: Tampered) -> Fault:
    data.block["bindings"] = [["plaid", thing] for _, thing in data.block["bindings"]]
    data.block["values"] = ["plaid"]
    data.manifest["holdout"] = data.block
    write_json(data.folder / "holdout.json", data.block)
    return "wrong holdout", "the value 'plaid', which the vocabulary does not have"


@tampering()
def the_holdout_has_another_category(data: Tampered) -> Fault:
    data.block["category"] = "animal"
    data.manifest["holdout"] = data.block
    write_json(data.folder / "holdout.json", data.block)
    return "wrong holdout", "the category 'animal', which the vocabulary does not have"


@tampering()
def the_vocabulary_is_not_the_one_asked_for(data: Tampered) -> Fault:
    path = data.root / "world/vocabulary.toml"
    path.write_text(path.read_text() + "\n# cleaned\n")
    return "another vocabulary", "world/vocabulary.toml is not the vocabulary"


@tampering()
def a_relation_gets_a_smaller_margin_in_file_and_manifest(data: Tampered) -> Fault:
    path = data.root / "world/vocabulary.toml"
    text = path.read_text().replace("margin = 0.2", "margin = 0.9")
    path.write_text(text)
    data.world["request"]["vocabulary"] = text
    return "wrong record", "is listed as"


# Scenes


@tampering()
def a_scene_has_another_group(data: Tampered) -> Fault:
    row = data.scenes[0]
    row["cluster_id"] = "blue+red|arch+star"
    return "wrong group", f"scene {row['scene_id']} is listed in group blue+red|arch+star, its objects give"


@tampering()
def groups_of_items_are_made_finer(data: Tampered) -> Fault:
    item = next(data.items("binary"))
    item["cluster_id"] += "|1"
    return "wrong group", f"item {item['item_id']} is listed in group"


@tampering()
def groups_of_items_are_left_out(data: Tampered) -> Fault:
    item = next(data.items("binary"))
    item["cluster_id"] = None
    return "wrong group", f"item {item['item_id']} is listed in group None"


@tampering()
def a_scene_stands_in_the_table_under_two_ids(data: Tampered) -> Fault:
    one, two = (row for row in data.scenes[:2])
    two.update({name: one[name] for name in ("cluster_id", "objects", "relations", "scene")})
    return "repeated scene", f"scenes {one['scene_id']} and {two['scene_id']} have one record"


@tampering()
def two_scenes_of_a_split_have_one_image(data: Tampered) -> Fault:
    one, two = [name for name, split in data.split.items() if split == "train"][:2]
    images = data.root / "world/images"
    shutil.copyfile(images / f"{one}.png", images / f"{two}.png")
    return "repeated image", f"scenes {one} and {two} of train have one image"


@tampering()
def one_image_stands_in_two_splits(data: Tampered) -> Fault:
    one, two = (next(name for name, split in data.split.items() if split == each) for each in ("train", "unseen"))
    images = data.root / "world/images"
    shutil.copyfile(images / f"{one}.png", images / f"{two}.png")
    return "shared image", "is in train and unseen"


@tampering()
def an_object_has_a_value_that_no_vocabulary_knows(data: Tampered) -> Fault:
    row = data.scenes[0]
    scene = json.loads(row["scene"])
    scene["objects"][0]["attributes"]["material"] = "gold"
    row["scene"] = json.dumps(scene)
    row["objects"][0]["attributes"] = list(scene["objects"][0]["attributes"].items())
    return (
        "wrong record",
        f"scene {row['scene_id']}: object 0 has the material 'gold', which the vocabulary does not have",
    )


@tampering()
def an_object_lacks_a_kind_of_value(data: Tampered) -> Fault:
    row = data.scenes[0]
    scene = json.loads(row["scene"])
    del scene["objects"][0]["attributes"]["size"]
    row["scene"] = json.dumps(scene)
    row["objects"][0]["attributes"] = list(scene["objects"][0]["attributes"].items())
    return "wrong record", f"scene {row['scene_id']}: object 0 has values of"


@tampering()
def an_environment_is_unknown(data: Tampered) -> Fault:
    row = data.scenes[0]
    row["scene"] = json.dumps({**json.loads(row["scene"]), "environment": "moon"})
    return "wrong record", "it is in the environment 'moon'"


@tampering()
def a_record_has_a_number_that_is_none(data: Tampered) -> Fault:
    row = data.scenes[0]
    scene = json.loads(row["scene"])
    scene["objects"][0]["heading"] = float("nan")
    row["scene"] = json.dumps(scene)
    return "wrong record", "it has a number that is not finite"


@tampering()
def a_record_says_one_thing_twice(data: Tampered) -> Fault:
    row = data.scenes[0]
    row["scene"] = row["scene"].replace('"category":', '"category":"star","category":', 1)
    return "wrong record", "the key 'category' is repeated"


@tampering()
def a_box_lies_outside_the_image(data: Tampered) -> Fault:
    data.scenes[0]["objects"][0]["amodal_box"] = [0, 0, 640, 48]
    return "wrong record", "object 0 has the box [0, 0, 640, 48], which is none within the image"


@tampering()
def an_object_is_visible_by_more_than_its_whole(data: Tampered) -> Fault:
    data.scenes[0]["objects"][0]["visible_fraction_estimate"] = 1.5
    return "wrong record", "object 0 is listed as visible by 1.5"


@tampering()
def objects_are_numbered_otherwise(data: Tampered) -> Fault:
    data.scenes[0]["objects"][0]["index"] = 1
    return "wrong record", "object 0 has the index 1"


@tampering()
def a_rendered_scene_is_said_to_have_failed(data: Tampered) -> Fault:
    row = next(row for row in data.scenes if data.split[row["scene_id"]] == "unseen")
    row["status"] = "failed"
    return "wrong record", f"scene {row['scene_id']} failed, and has a record or no reason"


@tampering()
def a_scene_has_an_unknown_status(data: Tampered) -> Fault:
    data.scenes[0]["status"] = "fine"
    return "wrong record", "has the status 'fine'"


@tampering()
def a_scene_is_not_what_was_planned(data: Tampered) -> Fault:
    rows = data.scenes
    one = next(row for row in rows if not row["twin_of"] and data.split[row["scene_id"]] == "train")
    scene = json.loads(one["scene"])
    first = scene["objects"][0]["attributes"]
    first["material"] = {"metal": "rubber", "rubber": "metal"}[first["material"]]
    one["scene"] = json.dumps(scene)
    one["objects"][0]["attributes"] = list(first.items())
    return "not as planned", f"1 scenes show other objects than planned: {one['scene_id']}"


@tampering()
def the_plan_was_asked_for_otherwise(data: Tampered) -> Fault:
    _write_plan(data, {"seed": 12345})
    return "not as planned", "plan.parquet was asked for another seed than the world"


@tampering(FIRST)
def a_scene_is_in_another_split_than_it_was_planned_for(data: Tampered) -> Fault:
    scene_id, split = data.move({"val"}, {"seen"})
    data.recount()
    return "wrong split", f"scene {scene_id} is in {split} and was planned for val"


@tampering()
def an_image_without_a_scene_is_added(data: Tampered) -> Fault:
    Image.new("RGB", (64, 48)).save(data.root / "world/images/999999.png")
    return "stray file", "world/images/999999.png belongs to no scene"


@tampering()
def pixel_outputs_are_claimed_that_are_not_there(data: Tampered) -> Fault:
    data.world["request"]["outputs"] = ["masks"]
    return "missing file", "has no masks/000000.png"


# Items and candidates


@tampering()
def an_item_stands_twice_under_two_ids(data: Tampered) -> Fault:
    item = next(data.items("binary", "swap"))
    scene = data.rows_of(item)[0]["scene_id"]
    number = sum(row["item_id"].startswith(f"binary-{scene}-") for row in data.tables["items"])
    twin = {**item, "item_id": f"binary-{scene}-{number}"}
    data.tables["candidates"] += [{**row, "item_id": twin["item_id"]} for row in data.rows_of(item)]
    data.tables["items"].append(twin)
    data.recount()
    return "repeated item", f"items {item['item_id']} and {twin['item_id']} ask the same question"


@tampering()
def a_candidate_stands_twice(data: Tampered) -> Fault:
    row = next(data.candidates(protocol="binary"))
    data.tables["candidates"].append(dict(row))
    return "repeated candidate", f"item {row['item_id']} has"


@tampering()
def an_item_has_another_id(data: Tampered) -> Fault:
    item = next(data.items("binary"))
    for row in data.rows_of(item):
        row["item_id"] = "binary-easy-0"
    item["item_id"] = "binary-easy-0"
    return "wrong item id", "item binary-easy-0: expected binary, its scene"


@tampering()
def a_hard_item_is_left_out(data: Tampered) -> Fault:
    item = next(row for row in data.items("binary") if row["item_id"].endswith("-0"))
    data.tables["candidates"] = [row for row in data.tables["candidates"] if row["item_id"] != item["item_id"]]
    data.tables["items"].remove(item)
    data.recount()
    return "wrong item id", "not from 0 on"


@tampering()
def an_item_has_a_kind_that_its_protocol_lacks(data: Tampered) -> Fault:
    item = next(data.items("binary", "swap"))
    item["kind"] = "impossible"
    data.recount()
    return "wrong form of item", f"item {item['item_id']}: the protocol binary has no kind 'impossible'"


@tampering()
def an_item_tests_another_skill(data: Tampered) -> Fault:
    item = next(data.items("binary", "swap"))
    item["skill"] = "relation"
    return "wrong form of item", f"item {item['item_id']}: it is listed with the skill relation"


@tampering()
def a_foil_is_left_out_of_a_set(data: Tampered) -> Fault:
    row = data.foil("confusion")
    data.tables["candidates"].remove(row)
    return "wrong form of item", "13 false in n, expected 2 true in c, 14 false in n"


@tampering()
def a_foil_is_moved_to_another_slot(data: Tampered) -> Fault:
    row = data.foil("binary", "swap")
    row["slot"] = "d1"
    return "wrong form of item", f"item {row['item_id']}: it has 1 true in c, 1 false in d1"


@tampering()
def a_foil_is_named_another_kind(data: Tampered) -> Fault:
    row = data.foil("binary", "swap")
    row["kind"] = "atom"
    return "wrong foil", "its kind of foil is 'atom', which its item cannot have"


@tampering()
def a_hard_foil_is_replaced_by_an_easy_one(data: Tampered) -> Fault:
    row = data.foil("binary", "flip")
    text = "There is no object."
    row["text_id"] = data.words(text)
    return "wrong foil", f"item {row['item_id']}: '{text}'"


@tampering()
def what_was_changed_is_listed_otherwise(data: Tampered) -> Fault:
    row = data.foil("binary", "swap")
    row["changed"] = row["changed"][:1]
    return "wrong foil", "it is listed as changed by"


@tampering()
def a_foil_is_made_from_a_text_of_another_item(data: Tampered) -> Fault:
    row = data.foil("binary", "swap")
    row["of"] = next(each["of"] for each in data.tables["candidates"] if each["of"] not in (None, row["of"]))
    return "wrong foil", "the text that it was made from is no true text of its item"


@tampering()
def a_foil_is_made_from_nothing(data: Tampered) -> Fault:
    row = data.foil("binary", "swap")
    row["of"] = None
    return "wrong foil", "the text that it was made from is no true text of its item"


@tampering()
def a_true_text_is_listed_as_a_foil(data: Tampered) -> Fault:
    row = next(data.candidates(protocol="binary", truth=True))
    row["kind"] = "swap"
    return "wrong foil", "it is true, and is listed as a foil"


@tampering()
def a_foil_changes_another_skill_than_its_item_tests(data: Tampered) -> Fault:
    item = next(data.items("skill", "targeted"))
    item["skill"] = "attribute" if item["skill"] == "relation" else "relation"
    return "wrong foil", f"item {item['item_id']}: "


@tampering()
def numbers_of_held_out_bindings_are_left_out(data: Tampered) -> Fault:
    item = next(row for row in data.items("binary", "swap") if row["held_out_negative"] is not None)
    item["held_out_negative"] = None
    return "wrong familiarity", f"item {item['item_id']} is listed with no held-out bindings"


@tampering()
def held_out_bindings_of_a_scene_are_left_out(data: Tampered) -> Fault:
    row = data.tables["splits"][0]
    row["held_out_bindings"] = None
    return "wrong familiarity", f"scene {row['scene_id']} is listed with the held-out bindings none"


# Pools and texts


def _unlisted_pool_text(data: Tampered) -> Row:
    """A text of the grid that no item names."""
    named = {row["text_id"] for row in data.tables["candidates"]}
    return next(row for row in data.tables["pools"] if row["text_id"] not in named)


@tampering()
def a_hard_text_is_taken_out_of_the_pool(data: Tampered) -> Fault:
    data.tables["pools"].remove(_unlisted_pool_text(data))
    return "wrong pool", "captions of the grid, which has"


@tampering()
def an_easy_text_is_put_into_the_pool(data: Tampered) -> Fault:
    _unlisted_pool_text(data)["text_id"] = data.words("There is no object.")
    return "wrong pool", "the pool grid has 1 texts that are not of the grid"


@tampering()
def items_are_asked_against_another_pool(data: Tampered) -> Fault:
    item = next(data.items("retrieval"))
    true = [row["text_id"] for row in data.rows_of(item)]
    item["pool_id"] = "easy"
    data.tables["pools"] += [{"pool_id": "easy", "text_id": each} for each in true]
    return "wrong pool", f"item {item['item_id']} is asked against the pool easy, not grid"


@tampering()
def a_pool_is_added_that_no_item_asks(data: Tampered) -> Fault:
    data.tables["pools"].append({"pool_id": "spare", "text_id": data.tables["pools"][0]["text_id"]})
    return "wrong pool", "no item is asked against the pool spare"


@tampering()
def a_text_has_an_id_that_is_not_its_hash(data: Tampered) -> Fault:
    old = data.tables["texts"][0]["text_id"]
    for table in ("texts", "candidates", "pools"):
        for row in data.tables[table]:
            for name in ("text_id", "of"):
                if row.get(name) == old:
                    row[name] = "f" * 16
    return "wrong text id", f"text {'f' * 16}"


@tampering()
def a_text_is_listed_twice(data: Tampered) -> Fault:
    data.tables["texts"].append(dict(data.tables["texts"][0]))
    return "repeated text", "more than one text is"


@tampering()
def a_table_has_a_column_more(data: Tampered) -> Fault:
    def add() -> None:
        path = data.folder / "items.parquet"
        table = pq.read_table(path)
        pq.write_table(table.append_column("hint", pa.nulls(len(table), pa.string())), path)
        seal(data.folder)

    data.after = add
    return "damaged file", "items.parquet cannot be read: it has the column hint, which the format does not have"


def _change_json(path: Path, **changes: Any) -> None:
    write_json(path, {**read_json(path), **changes})


def _write_plan(data: Tampered, changes: dict[str, Any], version: bytes | None = None) -> None:
    path = data.root / "world/plan.parquet"
    request = json.loads(pq.read_schema(path).metadata[b"request"])
    schema = plan_schema({**request, **changes})
    if version:
        schema = PLAN.with_metadata({**schema.metadata, b"format": version})
    pq.write_table(pq.read_table(path).cast(PLAN).replace_schema_metadata(schema.metadata), path)


# Tars


def _repack(data: Tampered, change: Callable[[list[tuple[tarfile.TarInfo, bytes]]], object]) -> None:
    """Change the members of the first tar, and list their places and digests as they are."""
    path = data.root / "world/shards/000000.tar"
    with tarfile.open(path) as tar:
        members = [(each, tar.extractfile(each).read()) for each in tar.getmembers()]  # type: ignore[union-attr]
    change(members)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for info, content in members:
            info.size = len(content) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(content))
    with tarfile.open(path) as tar:
        places = {each.name: each.offset_data for each in tar.getmembers()}
    rows = pq.read_table(data.root / "world/packed.parquet").to_pylist()
    for row in rows:
        name = row["path"].rpartition("/")[2]
        if row["tar"] == "shards/000000.tar" and name in places:
            row["offset"] = places[name]
    pq.write_table(pa.Table.from_pylist(rows, schema=PACKED), data.root / "world/packed.parquet")


@tampering(TARS)
def a_file_is_added_to_a_tar(data: Tampered) -> Fault:
    _repack(data, lambda members: members.append((tarfile.TarInfo("000000.txt"), b"the answer")))
    return "damaged file", "shards/000000.tar: it has 000000.txt 1 times, packed.parquet gives 0"


@tampering(TARS)
def a_sample_of_a_tar_says_something_else(data: Tampered) -> Fault:
    def change(members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
        n = next(n for n, (info, _) in enumerate(members) if info.name == "000000.json")
        members[n] = (members[n][0], members[n][1].replace(b"rubber", b"metal"))

    _repack(data, change)
    return "damaged file", "shards/000000.tar: 000000.json is not the row of scenes.parquet"


@tampering(TARS)
def a_sample_of_a_tar_is_left_out(data: Tampered) -> Fault:
    _repack(data, lambda members: members.pop(next(n for n, (i, _) in enumerate(members) if i.name == "000000.json")))
    return "damaged file", "it has 000000.json 0 times, packed.parquet gives 1"


@tampering(TARS)
def a_tar_holds_a_link(data: Tampered) -> Fault:
    link = tarfile.TarInfo("000000.link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    _repack(data, lambda members: members.append((link, b"")))
    return "damaged file", "000000.link is no plain file"


@tampering(TARS)
def a_file_in_a_tar_lies_in_a_folder_too(data: Tampered) -> Fault:
    (data.root / "world/images").mkdir()
    Image.new("RGB", (64, 48)).save(data.root / "world/images/000000.png")
    return "stray file", "world/images/000000.png lies in a tar and in a folder"


@tampering(TARS)
def the_manifest_denies_the_tars(data: Tampered) -> Fault:
    del data.world["request"]["tar_bytes"]
    return "wrong manifest", "whether the files of scenes lie in tars"


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The dataset of a benchmark by the benchmark's name: of few scenes and every protocol. Not to be changed."""
    folder = tmp_path_factory.mktemp("tampering")
    made: dict[bool, Path] = {}

    def dataset(name: str) -> Path:
        tars = name == TARS
        if tars not in made:
            made[tars] = _make(folder / ("tars" if tars else "files"), tars)
        return made[tars]

    return dataset


def _make(root: Path, tars: bool) -> Path:
    path = root.with_suffix(".toml")
    path.write_text(family(5, 5), encoding="utf-8")
    scenes = {"train": 6, "val": 3, "seen": 5, "partial": 5, "unseen": 5}
    prepared = prepare(Job(str(path), "2x2", scenes, 64, 48, objects=(2, 4), pairs=True))
    write_planned(root, prepared, 20_000 if tars else None)
    world = Dataset.open(root).world
    if tars:
        describe(root, world, prepared.holdout, TARS, Request(("binary",)))
    else:
        write_benchmarks(root, world, False)
        describe(root, world, prepared.holdout, ALL, Request(strict=False))
    return root


@pytest.mark.parametrize("name", [FIRST, ALL, TARS])
def test_what_nobody_touched_is_clean_and_so_is_what_was_sealed_again(
    clean: Callable[[str], Path], name: str, tmp_path: Path
) -> None:
    assert verify_dataset(clean(name), name)[name]["findings"] == []
    root = Path(shutil.copytree(clean(name), tmp_path / "dataset"))
    Tampered(root, name).seal()
    certificate = verify_dataset(root, name)[name]
    assert (certificate["status"], certificate["level"], certificate["findings"]) == ("clean", "records", [])


def test_the_dataset_has_items_of_every_protocol(clean: Callable[[str], Path]) -> None:
    items = read_json(clean(ALL) / "benchmarks" / ALL / "manifest.json")["texts"]["items"]
    assert {"binary denial", "confusion assignments", "pairs attribute", "skill targeted", "gzsl relational"} <= {
        *items
    }


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_found(clean: Callable[[str], Path], name: str, tmp_path: Path) -> None:
    benchmark, change = TAMPERINGS[name]
    root = Path(shutil.copytree(clean(benchmark), tmp_path / "dataset"))
    data = Tampered(root, benchmark)
    fault, words = change(data)
    data.seal()
    certificate = verify_dataset(root, benchmark)[benchmark]
    found = [each["what"] for each in certificate["findings"] if each["fault"] == fault]
    assert certificate["status"] == "failed"
    assert any(words in what for what in found), (fault, words, certificate["sentence"], certificate["findings"][:9])
    assert {"damaged file", "unlisted file", "another world"}.isdisjoint({*certificate["faults"]} - {fault})


def _exchange_images(data: Tampered) -> None:
    one, two = (next(name for name, split in data.split.items() if split == each) for each in ("train", "unseen"))
    paths = [data.root / f"world/images/{each}.png" for each in (one, two)]
    contents = [path.read_bytes() for path in paths]
    for path, content in zip(paths, reversed(contents), strict=True):
        path.write_bytes(content)


def _rename_a_colour(data: Tampered) -> None:
    """The values red and blue exchange their appearance in the vocabulary, as nobody who only reads records can see."""
    path = data.root / "world/vocabulary.toml"
    lines = path.read_text().splitlines()
    text = "\n".join(
        line.replace("linear = [99, 99, 99]", "linear = [9, 9, 9]") if line.startswith("red = ") else line
        for line in lines
    )
    path.write_text(text)
    data.world["request"]["vocabulary"] = text
    _write_plan(data, {"vocabulary": text})


@pytest.mark.parametrize("change", [_exchange_images, _rename_a_colour])
def test_what_only_pixels_tell_is_beyond_the_level_of_records(
    clean: Callable[[str], Path], change: Callable[[Tampered], None], tmp_path: Path
) -> None:
    """docs/verify.md says so; a certificate of the level of records claims nothing about pixels."""
    root = Path(shutil.copytree(clean(ALL), tmp_path / "dataset"))
    data = Tampered(root, ALL)
    change(data)
    data.seal()
    certificate = verify_dataset(root, ALL)[ALL]
    assert (certificate["status"], certificate["level"]) == ("clean", "records")
    assert "no pixel was compared" in certificate["sentence"]


def test_there_are_fifty_kinds_and_the_page_lists_each() -> None:
    page = (CHECKOUT / "docs" / "verify.md").read_text(encoding="utf-8")
    assert len(TAMPERINGS) >= 50
    assert [name for name in TAMPERINGS if name.replace("_", " ") not in page] == []
