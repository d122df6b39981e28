"""Planted faults of fifty kinds are found and named; clean designs raise no alarm."""

import hashlib
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from bench.worlds import BENCHMARK
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.judge.verify import verify_dataset
from tests.generator.designs import THINGS, VALUES, Design, designs, make
from tests.generator.judge.planted import Fault, Planted, Row, copy_of

PLANTERS: dict[str, Callable[[Planted], Fault]] = {}


def planter(plant: Callable[[Planted], Fault]) -> Callable[[Planted], Fault]:
    """Register a kind of fault under its name."""
    PLANTERS[plant.__name__] = plant
    return plant


@planter
def a_training_scene_shows_a_held_out_binding(planted: Planted) -> Fault:
    row = planted.choose(row for row in planted.scenes if planted.split[row["scene_id"]] == "train")
    value, thing = planted.held_out()
    scene, at = json.loads(row["scene"]), planted.choose([0, 1])
    scene["objects"][at]["category"] = thing
    scene["objects"][at]["attributes"]["color"] = value
    row["scene"] = json.dumps(scene)
    attributes = {**dict(row["objects"][at]["attributes"]), "color": value}
    row["objects"][at].update(category=thing, attributes=list(attributes.items()))
    return "leaked binding", f"training scene {row['scene_id']} shows the held-out {value} {thing}"


def _leaked_text(planted: Planted, truth: bool, text: str) -> Fault:
    row = planted.choose(planted.candidates(protocol="train", truth=truth))
    row["text_id"] = planted.words(text)
    return "leaked binding", f"training {'caption' if truth else 'negative'} '{text}' of item {row['item_id']}"


@planter
def a_training_caption_names_a_held_out_binding(planted: Planted) -> Fault:
    return _leaked_text(planted, True, "a {} {}".format(*planted.held_out()))


@planter
def a_training_negative_names_a_held_out_binding(planted: Planted) -> Fault:
    return _leaked_text(planted, False, "There is no {} {}.".format(*planted.held_out()))


@planter
def a_training_caption_names_a_held_out_binding_by_a_synonym(planted: Planted) -> Fault:
    value, thing = planted.held_out()
    article = "an" if VALUES[value][0] in "aeiou" else "a"
    return _leaked_text(planted, True, f"{article} {VALUES[value]} {THINGS[thing]}")


def _row(planted: Planted, slot: str, kind: str, **having: Any) -> Row:
    return planted.choose(
        row for row in planted.candidates(protocol="train", slot=slot, **having) if row["kind"] == kind
    )


@planter
def a_training_positive_names_a_held_out_binding_by_a_synonym(planted: Planted) -> Fault:
    row = planted.choose(planted.candidates(protocol="train", slot="p"))
    value, thing = planted.held_out()
    text = f"There is no {VALUES[value]} {THINGS[thing]}."
    row["text_id"] = planted.words(text)
    return "leaked binding", f"training caption '{text}' of item {row['item_id']}"


@planter
def a_training_negative_denies_a_held_out_binding(planted: Planted) -> Fault:
    row = _row(planted, "n", "neg")
    value, thing = planted.held_out()
    text = _articled(f"There is a {thing} that is not {value}.")
    row["text_id"] = planted.words(text)
    return "leaked binding", f"training negative '{text}' of item {row['item_id']}"


@planter
def a_training_negative_is_true(planted: Planted) -> Fault:
    row = planted.choose(planted.candidates(protocol="train", slot="n"))
    row["text_id"] = row["of"]
    return "true negative", f"item {row['item_id']}, scene"


@planter
def a_training_positive_is_false(planted: Planted) -> Fault:
    row = planted.choose(planted.candidates(protocol="train", slot="p"))
    of = planted.choose(planted.candidates(item_id=row["item_id"], slot="n"))
    row["text_id"] = of["text_id"]
    return "false positive", f"item {row['item_id']}, scene"


@planter
def a_training_positive_says_something_else_that_is_true(planted: Planted) -> Fault:
    row = planted.choose(planted.candidates(protocol="train", slot="p"))
    shown = next(each for each in planted.scenes if each["scene_id"] == row["scene_id"])
    seen = {dict(thing["attributes"])["color"] for thing in shown["objects"]}
    text = f"There is an object that is not {planted.choose(sorted(set(list(VALUES)[:5]) - seen))}."
    row["text_id"] = planted.words(text)
    return "wrong positive", f"item {row['item_id']}: '{text}': it is listed as '{row['kind']}'"


@planter
def a_training_positive_is_listed_as_another_kind(planted: Planted) -> Fault:
    row = planted.choose(planted.candidates(protocol="train", slot="p"))
    row["kind"] = planted.choose(sorted({"swap", "replace", "converse", "flip"} - {row["kind"]}))
    return "wrong positive", f"item {row['item_id']}: "


@planter
def a_training_positive_belongs_to_no_caption(planted: Planted) -> Fault:
    row = planted.choose(planted.candidates(protocol="train", slot="p"))
    row["of"] = planted.choose([None, row["text_id"]])
    return "wrong positive", f"item {row['item_id']}: "


@planter
def a_training_negative_is_listed_as_another_kind(planted: Planted) -> Fault:
    row = _row(planted, "n", planted.choose(["flip", "neg"]))
    row["kind"] = planted.choose(sorted({"swap", "flip", "neg"} - {row["kind"]}))
    return "wrong foil", f"item {row['item_id']}: "


@planter
def a_training_item_has_two_captions(planted: Planted) -> Fault:
    row = planted.choose(planted.candidates(protocol="train", slot="p"))
    row.update(slot="c", kind=None, of=None)
    return "wrong form of item", f"item {row['item_id']}: it has 2 true in c"


@planter
def an_evaluation_text_has_a_word_that_training_lacks(planted: Planted) -> Fault:
    row = planted.choose(planted.candidates(protocol="binary", truth=False))
    row["text_id"] = planted.words("ten cubes")
    return "unknown word", "protocol binary: evaluation words that no training text has, undeclared: "


@planter
def a_word_is_declared_unknown_that_training_has(planted: Planted) -> Fault:
    planted.manifest["unknown_words"].setdefault("binary", []).append("and")
    return "unknown word", "protocol binary: declared as unknown to training, and not so: and"


@planter
def an_unseen_scene_trains(planted: Planted) -> Fault:
    scene_id, _ = planted.move({"unseen"}, {"train"})
    return "leaked binding", f"training scene {scene_id} shows"


@planter
def a_scene_is_in_the_split_of_other_bindings(planted: Planted) -> Fault:
    scene_id, split = planted.move(tested := {"seen", "partial", "unseen"}, tested)
    return "wrong split", f"scene {scene_id} is in {split} and shows"


@planter
def a_scene_stands_in_two_splits(planted: Planted) -> Fault:
    row = planted.choose(planted.tables["splits"])
    planted.tables["splits"].append({**row, "split": planted.choose(["train", "val", "seen"])})
    return "repeated scene", f"scene {row['scene_id']} is in splits.parquet more than once"


@planter
def a_group_is_in_two_splits(planted: Planted) -> Fault:
    cluster = {row["scene_id"]: row["cluster_id"] for row in planted.scenes}
    familiar = [row for row in planted.tables["splits"] if row["split"] in ("train", "val", "seen")]
    often = Counter(cluster[row["scene_id"]] for row in familiar)
    row = planted.choose(row for row in familiar if often[cluster[row["scene_id"]]] > 1)
    row["split"] = planted.choose(sorted({"train", "val", "seen"} - {row["split"]}))
    return "shared group", f"scenes of {cluster[row['scene_id']]} are in "


@planter
def one_image_stands_for_two_scenes(planted: Planted) -> Fault:
    first, second = (
        planted.choose(name for name, split in planted.split.items() if split == which) for which in ("train", "seen")
    )
    shutil.copyfile(planted.root / f"world/images/{first}.png", planted.root / f"world/images/{second}.png")
    digest = hashlib.sha256((planted.root / f"world/images/{first}.png").read_bytes()).hexdigest()
    return "shared image", f"one image ({digest[:12]}…) is in seen and train"


def _exchanged(planted: Planted) -> Row:
    item = planted.choose(row for row in planted.tables["items"] if row["protocol"] == "binary")
    true, false = (next(row for row in planted.tables["candidates"] if row["item_id"] == item["item_id"] and row["truth"] is truth)
                   for truth in (True, False))  # fmt: skip
    true["text_id"], false["text_id"] = false["text_id"], true["text_id"]
    return true


@planter
def a_positive_is_false(planted: Planted) -> Fault:
    row = _exchanged(planted)
    return "false positive", f"item {row['item_id']}, scene {row['scene_id']}: '{planted.text[row['text_id']]['text']}'"


@planter
def a_negative_is_true(planted: Planted) -> Fault:
    return "true negative", f"item {_exchanged(planted)['item_id']}, scene"


@planter
def a_relation_is_undecided(planted: Planted) -> Fault:
    told = [row for row in planted.candidates(protocol="binary", kind="flip") if row["truth"]]
    row = planted.choose(told)
    scene_row = next(each for each in planted.scenes if each["scene_id"] == row["scene_id"])
    scene = json.loads(scene_row["scene"])
    x, y, z = scene["objects"][0]["position"]
    scene["objects"][1]["position"] = [x + planted.choose([-0.1, 0.05, 0.1]), y, z]
    scene_row["scene"] = json.dumps(scene)
    return "undecided text", f"item {row['item_id']}, scene {row['scene_id']}: '{planted.text[row['text_id']]['text']}'"


@planter
def truth_and_foil_are_unequally_familiar(planted: Planted) -> Fault:
    row = planted.choose(row for row in planted.candidates(protocol="binary", kind="swap", truth=False)
                         if planted.item[row["item_id"]]["split"] in ("seen", "partial"))  # fmt: skip
    (value, thing), other = planted.held_out(), planted.held_out()
    row["text_id"] = planted.words(f"a {value} {thing} and a {other[0]} {other[1]}")
    return "asymmetric familiarity", f"item {row['item_id']}: its true texts name"


@planter
def a_number_of_held_out_bindings_is_wrong(planted: Planted) -> Fault:
    column = planted.choose(["held_out_positive", "held_out_negative"])
    row = planted.choose(row for row in planted.tables["items"] if row["split"] != "train" and row[column] is not None)
    row[column] = planted.choose(sorted({0, 1, 2, 7} - {row[column]}))
    return "wrong familiarity", f"item {row['item_id']} is listed with {row[column]} held-out bindings"


@planter
def a_scene_is_listed_with_other_held_out_bindings(planted: Planted) -> Fault:
    row = planted.choose(planted.tables["splits"])
    listed = row["held_out_bindings"]
    row["held_out_bindings"] = listed[1:] if listed else [" ".join(planted.held_out())]
    return "wrong familiarity", f"scene {row['scene_id']} is listed with the held-out bindings"


@planter
def a_form_says_something_else(planted: Planted) -> Fault:
    row = planted.choose(row for row in planted.tables["texts"] if json.loads(row["form"])["objects"][0]["attributes"])
    form = json.loads(row["form"])
    kind = planted.choose(sorted(form["objects"][0]["attributes"]))
    form["objects"][0]["attributes"][kind] += "ish"
    row["form"] = json.dumps(form)
    return "wrong form", f"text {row['text_id']} '{row['text']}'"


@planter
def a_count_of_atoms_is_wrong(planted: Planted) -> Fault:
    row = planted.choose(planted.tables["texts"])
    row[planted.choose(["n_objects", "n_attributes", "n_relations"])] += planted.choose([1, 2])
    return "wrong form", f"text {row['text_id']} '{row['text']}'"


@planter
def a_text_has_another_id(planted: Planted) -> Fault:
    old, new = planted.choose(planted.text), f"{planted.choose(range(1000)):016x}"
    for name in ("texts", "candidates", "pools"):
        for row in planted.tables[name]:
            if row["text_id"] == old:
                row["text_id"] = new
    return "wrong text id", f"text {new} '{planted.text[old]['text']}'"


@planter
def a_distractor_is_true(planted: Planted) -> Fault:
    row = planted.choose(planted.candidates(protocol="gzsl", kind="two-object", truth=False, changed=["distractor"]))
    objects = next(each for each in planted.scenes if each["scene_id"] == row["scene_id"])["objects"]
    thing = planted.choose(objects)
    text = f"{dict(thing['attributes'])['color']} {thing['category']}"
    row["text_id"] = planted.words(f"a photo of a {text}")
    return "true negative", f"item {row['item_id']}, scene {row['scene_id']}: 'a photo of a {text}'"


@planter
def the_converse_of_the_truth_is_a_negative(planted: Planted) -> Fault:
    item = planted.choose(
        row for row in planted.tables["items"] if (row["protocol"], row["kind"]) == ("gzsl", "relational")
    )
    rows = [row for row in planted.tables["candidates"] if row["item_id"] == item["item_id"]]
    truth = planted.text[next(row for row in rows if row["truth"])["text_id"]]
    (subject, thing), ((s, relation, _, _),) = (json.loads(truth["form"])[key] for key in ("objects", "relations"))
    first, second = (subject, thing) if s == 0 else (thing, subject)
    converse = {"left": "to the right of", "right": "to the left of", "front": "behind", "behind": "in front of"}[
        relation
    ]
    text = f"a photo of a {second['category']} {converse} a {first['category']}"
    planted.choose(row for row in rows if not row["truth"])["text_id"] = planted.words(_articled(text))
    return "true negative", f"item {item['item_id']}, scene {rows[0]['scene_id']}: '{_articled(text)}'"


def _articled(text: str) -> str:
    return text.replace("a arch", "an arch")


@planter
def a_pool_lacks_the_truth(planted: Planted) -> Fault:
    row = planted.choose(planted.candidates(protocol="retrieval", truth=True))
    planted.tables["pools"] = [each for each in planted.tables["pools"] if each["text_id"] != row["text_id"]]
    return "wrong pool truth", f"item {row['item_id']}: 1 texts of the pool are true, 2 are listed"


@planter
def a_pool_names_a_text_twice(planted: Planted) -> Fault:
    planted.tables["pools"].append(planted.choose(planted.tables["pools"]))
    return "repeated text", "pool grid names 1 texts twice"


@planter
def the_manifest_counts_other_scenes(planted: Planted) -> Fault:
    split = planted.choose(sorted(planted.manifest["scenes"]))
    planted.manifest["scenes"][split] += planted.choose([-1, 1, 5])
    return "wrong count", f"split {split} has "


@planter
def the_manifest_counts_other_items(planted: Planted) -> Fault:
    name = planted.choose(sorted(planted.manifest["texts"]["items"]))
    planted.manifest["texts"]["items"][name] += planted.choose([-1, 1, 5])
    return "wrong count", f"items of {name}, the manifest says {planted.manifest['texts']['items'][name]}"


@planter
def an_item_is_in_another_group(planted: Planted) -> Fault:
    row = planted.choose(planted.tables["items"])
    row["cluster_id"] = planted.choose(sorted({each["cluster_id"] for each in planted.scenes} - {row["cluster_id"]}))
    return "wrong group", f"item {row['item_id']} is listed in group {row['cluster_id']}"


@planter
def a_relation_is_recorded_that_the_poses_deny(planted: Planted) -> Fault:
    row = planted.choose(planted.scenes)
    relation = planted.choose(row["relations"])
    relation["holds"] = planted.choose([None, not relation["holds"]])
    return "wrong record", f"scene {row['scene_id']}: object {relation['subject']} {relation['relation']} of object"


@planter
def a_scene_is_missing(planted: Planted) -> Fault:
    row = planted.choose(row for row in planted.scenes if planted.split[row["scene_id"]])
    planted.scenes.remove(row)
    return "missing scene", f"scene {row['scene_id']} is in split {planted.split[row['scene_id']]} and was not rendered"


@planter
def a_text_is_missing(planted: Planted) -> Fault:
    # at most twenty findings of a fault are named one by one
    often = Counter(row["text_id"] for row in planted.tables["candidates"])
    few = (row for row in planted.tables["candidates"] if often[row["text_id"]] <= 20)
    row = planted.choose(few)
    planted.tables["texts"] = [each for each in planted.tables["texts"] if each["text_id"] != row["text_id"]]
    return "missing row", f"item {row['item_id']}, scene {row['scene_id']}: its text, scene or item does not exist"


@planter
def an_item_asks_nothing(planted: Planted) -> Fault:
    item = planted.choose(row["item_id"] for row in planted.tables["items"] if row["protocol"] == "binary")
    truth = planted.choose([True, False])
    planted.tables["candidates"] = [
        row for row in planted.tables["candidates"] if (row["item_id"], row["truth"]) != (item, truth)
    ]
    return "missing row", f"item {item} has " + ("no true text" if truth else "neither a false text nor a pool")


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset with items of every protocol that two-object scenes can have. Not to be changed: see `copy_of`."""
    return make(Design(values=5, things=5, block="2x2", scenes=8), tmp_path_factory.mktemp("faults") / "clean")


def found(root: Path) -> dict[str, Any]:
    return verify_dataset(root, None)[BENCHMARK]


def test_the_dataset_without_a_fault_is_clean(clean: Path) -> None:
    certificate = found(clean)
    assert (certificate["status"], certificate["findings"]) == ("clean", [])
    manifest = read_json(clean / "benchmarks" / BENCHMARK / "manifest.json")
    assert {
        "gzsl relational",
        "gzsl two-object",
        "retrieval grid",
        "binary flip",
        "binary swap",
        "train plain",
        "train relations",
        "train graded",
        "train synonyms",
    } <= set(manifest["texts"]["items"])


def check(clean: Path, plant: Callable[[Planted], Fault], data: st.DataObject) -> None:
    with copy_of(clean) as root:
        planted = Planted(root, data)
        fault, words = plant(planted)
        planted.seal()
        certificate = found(root)
    named = [finding["what"] for finding in certificate["findings"] if finding["fault"] == fault]
    assert certificate["status"] == "failed"
    assert any(words in what for what in named), (fault, words, certificate["sentence"], named)
    assert (
        certificate["faults"].keys().isdisjoint({"damaged file", "unlisted file", "another world", "unreadable text"})
    )


@pytest.mark.parametrize("name", PLANTERS)
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_planted_fault_is_found_and_named(clean: Path, name: str, data: st.DataObject) -> None:
    check(clean, PLANTERS[name], data)


@pytest.mark.full
@pytest.mark.parametrize("name", PLANTERS)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_planted_faults_are_found_and_named(clean: Path, name: str, data: st.DataObject) -> None:
    check(clean, PLANTERS[name], data)


def check_bit(clean: Path, data: st.DataObject) -> None:
    with copy_of(clean) as root:
        files = sorted(
            path.relative_to(root) for path in (*root.glob("world/*/*"), *root.glob("**/*.parquet")) if path.is_file()
        )
        path = root / data.draw(st.sampled_from(files))
        content = bytearray(path.read_bytes())
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
        path.write_bytes(content)
        certificate = found(root)
    assert any(
        path.name in finding["what"] for finding in certificate["findings"] if finding["fault"] == "damaged file"
    )


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_flipped_bit_is_found(clean: Path, data: st.DataObject) -> None:
    check_bit(clean, data)


@pytest.mark.full
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_flipped_bit_of_any_file_is_found(clean: Path, data: st.DataObject) -> None:
    check_bit(clean, data)


def judge_design(design: Design) -> None:
    """A dataset of a design has no finding; designs that cannot be made are left out."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            root = make(design, Path(folder) / "dataset")
        except UserError:
            reject()
        certificate = found(root)
    assert certificate["findings"] == []
    declared = design.request.exposed_negatives or not design.request.equal_familiarity
    assert certificate["status"] == ("as declared" if declared else "clean")


NO_CHECKS = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@pytest.mark.full
@settings(max_examples=12, deadline=None, suppress_health_check=NO_CHECKS)
@given(designs())
def test_clean_designs_raise_no_alarm(design: Design) -> None:
    judge_design(design)


@pytest.mark.full
@settings(max_examples=1000, deadline=None, suppress_health_check=NO_CHECKS)
@given(designs())
def test_a_thousand_clean_designs_raise_no_alarm(design: Design) -> None:
    judge_design(design)
