"""Planted faults of every design are found and named; clean jobs drawn at random raise no alarm."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from PIL import Image

from bench.worlds import write_planned
from generator.base.errors import UserError
from generator.base.files import write_json
from generator.dataset.reader import Dataset
from generator.describe.benchmark import write_benchmarks
from generator.inspection.sheets import draw_preview
from generator.judge.verify import verify_dataset
from generator.plan.job import Job, prepare
from tests.generator.designs import THINGS, family
from tests.generator.judge.planted import Fault, Planted, copy_of

PHRASES = {"left": "to the left of", "right": "to the right of", "front": "in front of", "behind": "behind"}

CONVERSES = {"left": "right", "right": "left", "front": "behind", "behind": "front"}


def made(root: Path, **job: Any) -> Path:
    """A dataset of a design without rendering, with the texts that `gen render` gives it."""
    path = root.parent / f"{root.name}.toml"
    path.write_text(family(*job.pop("size", (5, 5))), encoding="utf-8")
    prepared = prepare(
        Job(job.pop("family", str(path)), job.pop("holdout", ()), job.pop("scenes", "60"), 64, 48, **job)
    )
    write_planned(root, prepared)
    write_benchmarks(root, Dataset.open(root).world, False)
    return root


CLEAN: dict[str, dict[str, Any]] = {
    "relations": {"holdout": ["relation:pair=2x2"]},
    "relations without opposites": {"holdout": ["relation:pair=1x2"], "opposites": False},
    "relations among three": {"holdout": ["relation:pair=1x1"], "objects": (2, 3)},
    "distances and stacks": {"family": "clevr-relations", "holdout": ["relation:pair=2x3"], "block_seed": 1},
    "both blocks": {"holdout": ["2x2", "relation:pair=1x2"], "scenes": "40"},
    "coverage": {"holdout": ["k1..2"], "design": "coverage"},
    "systematicity": {"holdout": ["2x2", "atoms=1x1"], "design": "systematicity"},
    "class lists": {"design": "gzsl", "scenes": "600"},
    "three objects": {"design": "gzsl", "holdout": ["objects=3"], "scenes": "900"},
    "published": {"design": "gzsl", "family": "pearson2025", "holdout": ["pearson2025"], "scenes": "900"},
    "grid": {"holdout": ["2x2"], "scenes": "grid", "block_seed": (0, 1), "size": (4, 4)},
}


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The dataset of a clean design by name, made once. Not to be changed."""
    folder, done = tmp_path_factory.mktemp("designs"), {}

    def dataset(name: str) -> Path:
        if name not in done:
            done[name] = made(folder / name.replace(" ", "-"), **CLEAN[name])
        return done[name]

    return dataset


@pytest.mark.parametrize("name", CLEAN)
def test_previews_show_the_splits_that_have_scenes(datasets: Callable[[str], Path], name: str, tmp_path: Path) -> None:
    dataset = Dataset.open(datasets(name))
    benchmark = dataset.benchmark(dataset.benchmark_names()[0])
    splits = [split for split, n in benchmark.manifest["scenes"].items() if n]
    draw_preview(dataset.root, benchmark.name, (), 2, 0, tmp_path / "all.png")
    for split in splits:
        draw_preview(dataset.root, benchmark.name, (split,), 2, 0, tmp_path / f"{split}.png")
    with Image.open(tmp_path / "all.png") as sheet, Image.open(tmp_path / f"{splits[0]}.png") as row:
        assert sheet.height - row.height == pytest.approx((len(splits) - 1) * row.height, abs=12 * len(splits))
    for split in {"seen", "partial", "id_test"} - set(splits):
        with pytest.raises(UserError, match=f"no scene of a split '{split}'"):
            draw_preview(dataset.root, benchmark.name, (split,), 2, 0, tmp_path / "none.png")


@pytest.mark.parametrize("name", ["relations", "both blocks", "coverage"])
def test_training_speaks_of_relations(datasets: Callable[[str], Path], name: str) -> None:
    dataset = Dataset.open(datasets(name))
    benchmark = dataset.benchmark(dataset.benchmark_names()[0])
    ends = dict(zip(benchmark.texts["text_id"].to_pylist(), benchmark.texts["n_relations"].to_pylist(), strict=True))
    train = set(benchmark.items_of("train")["item_id"].to_pylist())
    said = [row for row in benchmark.candidates.to_pylist() if row["item_id"] in train and ends[row["text_id"]]]
    items = {row["item_id"] for row in said}
    assert len(items) >= len(train) / 4
    assert {row["kind"] for row in said if row["slot"] == "n"} == {"swap", "replace", "flip", "neg"}
    assert sum(row["kind"] == "flip" for row in said) >= len(items) / 4


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_design_has_no_finding(datasets: Callable[[str], Path], name: str) -> None:
    certificates = verify_dataset(datasets(name), None)
    for benchmark, certificate in certificates.items():
        assert certificate["findings"] == [], benchmark
        declared = name == "relations without opposites" or benchmark == "pearson2025-relational"
        assert certificate["status"] == ("as declared" if declared else "clean")
        symmetric = CLEAN[name].get("design") != "gzsl" and CLEAN[name].get("opposites", True)
        assert ("familiarity symmetric" in certificate["sentence"]) == symmetric
        assert "counts and balance as declared" in certificate["sentence"]
        assert all(leak in certificate["sentence"] for leak in certificate["declared_leaks"])


def test_the_published_class_lists_have_three_arrangements_twice(datasets: Callable[[str], Path]) -> None:
    """Protocols, section 2: three leaking arrangements, reported by name."""
    certificate = verify_dataset(datasets("published"), "pearson2025-relational")["pearson2025-relational"]
    assert certificate["declared_leaks"] == [
        "cylinder left sphere (train) = sphere right cylinder (ood_val)",
        "sphere left cylinder (ood_val) = cylinder right sphere (ood_test)",
        "cube right cone (ood_val) = cone left cube (ood_test)",
    ]


PLANTERS: dict[str, tuple[str, str, Callable[[Planted], Fault]]] = {}
"""By name: the design, its benchmark, and what plants the fault."""


def planter(design: str, benchmark: str) -> Callable[[Callable[[Planted], Fault]], Callable[[Planted], Fault]]:
    """Register a kind of fault under its name."""

    def register(plant: Callable[[Planted], Fault]) -> Callable[[Planted], Fault]:
        PLANTERS[plant.__name__] = (design, benchmark, plant)
        return plant

    return register


RELATIONS = planter("relations", "relation-pair-2x2-b0")

ATOMS = planter("systematicity", "systematicity-color-shape-2x2+atoms-1x1-b0")

TWO = planter("published", "pearson2025-two-object")

RELATED = planter("published", "pearson2025-relational")

THREE = planter("three objects", "gzsl-three-object-b0")


def _said(subject: str, relation: str, thing: str, words: dict[str, str] = PHRASES) -> str:
    articles = ["an" if noun[0] in "aeiou" else "a" for noun in (subject, thing)]
    return f"{articles[0]} {subject} that is {words[relation]} {articles[1]} {thing}"


def _train_text(planted: Planted, text: str, truth: bool = True) -> str:
    row = planted.choose(planted.candidates(protocol="train", truth=truth))
    row["text_id"] = planted.words(text)
    return f"training {'caption' if truth else 'negative'} '{text}' of item {row['item_id']} names"


@RELATIONS
def a_training_scene_shows_a_held_out_triple(planted: Planted) -> Fault:
    subject, relation, thing = planted.choose(planted.block["triples"])
    row = planted.choose(
        row for row in planted.scenes if planted.split[row["scene_id"]] == "train" and len(row["objects"]) == 2
    )
    scene = json.loads(row["scene"])
    holding = next(r for r in row["relations"] if r["relation"] == relation and r["holds"])
    for place, category in ((holding["subject"], subject), (holding["object"], thing)):
        scene["objects"][place]["category"] = row["objects"][place]["category"] = category
    row["scene"] = json.dumps(scene)
    return "leaked triple", f"training scene {row['scene_id']} shows the held-out {subject} {relation} {thing}"


@RELATIONS
def a_training_scene_takes_the_poses_of_an_unseen_one(planted: Planted) -> Fault:
    held = {tuple(triple) for triple in planted.block["triples"]}
    row = planted.choose(
        row for row in planted.scenes
        if planted.split[row["scene_id"]] == "unseen"
    )  # fmt: skip
    scene = json.loads(row["scene"])
    donor = planted.choose(each for each in planted.scenes if planted.split[each["scene_id"]] == "train")
    poses = json.loads(donor["scene"])
    for mine, theirs, listed in zip(scene["objects"], poses["objects"], donor["objects"], strict=True):
        mine["attributes"] = theirs["attributes"]
        listed["category"] = mine["category"]
    donor["scene"] = json.dumps(scene)
    shown = sorted(
        (scene["objects"][r["subject"]]["category"], r["relation"], scene["objects"][r["object"]]["category"])
        for r in row["relations"]
        if r["holds"]
    )
    triple = next(triple for triple in shown if triple in held)
    return "leaked triple", f"training scene {donor['scene_id']} shows the held-out {' '.join(triple)}"


@RELATIONS
def a_training_caption_names_the_converse_of_a_held_out_triple(planted: Planted) -> Fault:
    subject, relation, thing = planted.choose(planted.block["triples"])
    return "leaked triple", _train_text(planted, _said(thing, CONVERSES[relation], subject))


@RELATIONS
def a_training_negative_names_a_held_out_triple(planted: Planted) -> Fault:
    return "leaked triple", _train_text(planted, _said(*planted.choose(planted.block["triples"])), truth=False)


@RELATIONS
def a_training_caption_names_a_held_out_triple_by_synonyms(planted: Planted) -> Fault:
    sides = [triple for triple in planted.block["triples"] if triple[1] in ("left", "right")]
    words = {"left": "left of", "right": "right of"}
    subject, relation, thing = planted.choose(sides or planted.block["triples"])
    return "leaked triple", _train_text(
        planted, _said(THINGS[subject], relation, THINGS[thing], words if sides else PHRASES)
    )


@RELATIONS
def the_held_out_triples_are_not_closed(planted: Planted) -> Fault:
    triple = planted.choose(planted.block["triples"])
    planted.block["triples"].remove(triple)
    write_json(planted.folder / "holdout.json", planted.block)
    return "open holdout", f"holdout.json lacks {' '.join(triple)}"


@RELATIONS
def a_scene_is_listed_with_other_held_out_triples(planted: Planted) -> Fault:
    row = planted.choose(planted.tables["splits"])
    row["held_out_triples"] = row["held_out_triples"][1:] or [" ".join(planted.choose(planted.block["triples"]))]
    return "wrong familiarity", f"scene {row['scene_id']} is listed with the held-out triples"


@RELATIONS
def truth_and_foil_name_unequally_many_triples(planted: Planted) -> Fault:
    row = planted.choose(planted.candidates(protocol="binary", kind="flip", split="unseen", truth=False))
    things = list(THINGS)[:5]
    held = {tuple(triple) for triple in planted.block["triples"]}
    free = [(a, "left", b) for a in things for b in things if a != b and (a, "left", b) not in held]
    row["text_id"] = planted.words(_said(*planted.choose(free)))
    return "asymmetric familiarity", f"item {row['item_id']}: its true texts name"


@ATOMS
def a_training_negative_names_an_absent_object(planted: Planted) -> Fault:
    name = planted.choose(planted.block["absent_objects"])
    return "leaked atom", _train_text(planted, f"There is no {name}.", truth=False)


@ATOMS
def a_training_caption_names_an_absent_value(planted: Planted) -> Fault:
    value = planted.choose(planted.block["absent_values"])
    article = "an" if value[0] in "aeiou" else "a"
    return "leaked atom", _train_text(planted, f"{article} {value} object")


@ATOMS
def a_scene_with_an_absent_atom_is_seen(planted: Planted) -> Fault:
    scene_id, split = planted.move({"unseen_atoms"}, {"seen"})
    return "wrong split", f"scene {scene_id} is in {split} and shows"


@ATOMS
def unseen_atoms_are_asked_by_more_than_raw_retrieval(planted: Planted) -> Fault:
    item = planted.choose(row for row in planted.tables["items"] if row["split"] == "unseen_atoms")
    item["kind"] = "atom"
    return "wrong form of item", f"item {item['item_id']}: it is over a scene with unseen atoms"


@TWO
def a_distractor_of_class_lists_is_true(planted: Planted) -> Fault:
    row = planted.choose(planted.candidates(protocol="gzsl", truth=False))
    objects = next(each for each in planted.scenes if each["scene_id"] == row["scene_id"])["objects"]
    thing = planted.choose(objects)
    text = f"a photo of a {dict(thing['attributes'])['color']} {thing['category']}"
    row["text_id"] = planted.words(text)
    return "true negative", f"item {row['item_id']}, scene {row['scene_id']}: '{text}'"


def _of_another_list(
    planted: Planted, label: Callable[[dict[str, Any]], str], slot: str = "n", word: str = "distractor"
) -> Fault:
    row = planted.choose(
        row for row in planted.candidates(protocol="gzsl", truth=False, slot=slot, changed=["distractor"])
        if planted.item[row["item_id"]]["split"] == "ood_test"
    )  # fmt: skip
    text = (
        f"a photo of a {label(planted.choose(each for each in planted.block['classes'] if each['split'] == 'train'))}"
    )
    row["text_id"] = planted.words(text)
    return "wrong label", f"item {row['item_id']}: its {word} '"


@TWO
def a_distractor_is_a_label_of_another_list(planted: Planted) -> Fault:
    return _of_another_list(planted, lambda each: " ".join(each["bindings"][0]))


def _related(each: dict[str, Any]) -> str:
    return "{} {} a {}".format(each["triple"][0], PHRASES[each["triple"][1]], each["triple"][2])


@RELATED
def a_relation_of_another_list_is_a_distractor(planted: Planted) -> Fault:
    return _of_another_list(planted, _related)


@RELATED
def a_relation_of_another_list_is_a_zero_shot_label(planted: Planted) -> Fault:
    return _of_another_list(planted, _related, "zsl", "zero-shot label")


@TWO
def a_hard_negative_is_another_label(planted: Planted) -> Fault:
    row = planted.choose(planted.candidates(protocol="gzsl", truth=False, changed=["color"]))
    text = planted.text[row["text_id"]]["text"].rsplit(" ", 1)[0]
    shown = next(each for each in planted.scenes if each["scene_id"] == row["scene_id"])["objects"]
    absent = planted.choose(sorted({"cube", "sphere", "cone", "cylinder"} - {thing["category"] for thing in shown}))
    row["text_id"] = planted.words(f"{text} {absent}")
    return "wrong label", f"item {row['item_id']}: its hard negatives of the kind color are"


@TWO
def a_scene_of_class_lists_is_in_another_split(planted: Planted) -> Fault:
    scene_id, split = planted.move({"ood_test"}, {"id_val", "ood_val"})
    return "wrong split", f"scene {scene_id} is in {split} and shows"


@THREE
def a_hard_negative_of_three_objects_stands_twice(planted: Planted) -> Fault:
    """Both hard negatives of a kind are of the same other object, so that the item says nothing of the third."""
    kind = planted.choose(["color", "shape"])
    row = planted.choose(planted.candidates(protocol="gzsl", truth=False, changed=[kind]))
    other = next(
        each for each in planted.candidates(protocol="gzsl", truth=False, changed=[kind])
        if each["item_id"] == row["item_id"] and each["text_id"] != row["text_id"]
    )  # fmt: skip
    row["text_id"] = other["text_id"]
    return "wrong label", f"item {row['item_id']}: its hard negatives of the kind {kind} are"


@THREE
def a_training_scene_of_three_objects_shows_a_held_out_label(planted: Planted) -> Fault:
    row = planted.choose(row for row in planted.scenes if planted.split[row["scene_id"]] == "train")
    scene, at = json.loads(row["scene"]), planted.choose([0, 1, 2])
    thing = scene["objects"][at]["category"]
    value = planted.choose(sorted(value for value, other in planted.block["bindings"] if other == thing))
    scene["objects"][at]["attributes"]["color"] = value
    row["scene"] = json.dumps(scene)
    row["objects"][at]["attributes"] = [*{**dict(row["objects"][at]["attributes"]), "color": value}.items()]
    return "leaked binding", f"training scene {row['scene_id']} shows the held-out {value} {thing}"


@THREE
def a_scene_of_three_objects_is_in_another_split(planted: Planted) -> Fault:
    scene_id, split = planted.move({"ood_test"}, {"id_val", "ood_val"})
    return "wrong split", f"scene {scene_id} is in {split} and shows"


@RELATED
def an_arrangement_in_two_lists_is_not_declared(planted: Planted) -> Fault:
    leak = planted.choose(planted.manifest["declared_leaks"])
    planted.manifest["declared_leaks"].remove(leak)
    return "undeclared leak", f"one arrangement is in two lists: {leak}"


def check(datasets: Callable[[str], Path], name: str, data: st.DataObject) -> None:
    design, benchmark, plant = PLANTERS[name]
    with copy_of(datasets(design)) as root:
        planted = Planted(root, data, benchmark)
        fault, words = plant(planted)
        planted.seal()
        certificate = verify_dataset(root, benchmark)[benchmark]
    named = [finding["what"] for finding in certificate["findings"] if finding["fault"] == fault]
    assert certificate["status"] == "failed"
    assert any(words in what for what in named), (fault, words, certificate["sentence"], named[:5])
    assert certificate["faults"].keys().isdisjoint({"damaged file", "another world", "unreadable text"})


@pytest.mark.parametrize("name", PLANTERS)
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_planted_fault_is_found_and_named(datasets: Callable[[str], Path], name: str, data: st.DataObject) -> None:
    check(datasets, name, data)


@pytest.mark.full
@pytest.mark.parametrize("name", PLANTERS)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_planted_faults_are_found_and_named(datasets: Callable[[str], Path], name: str, data: st.DataObject) -> None:
    check(datasets, name, data)


@st.composite
def jobs(draw: st.DrawFn) -> dict[str, Any]:
    """A design drawn at random; some are impossible, and refused when they are made."""
    block = st.builds("{}x{}".format, st.integers(2, 3), st.integers(2, 3))
    relations = st.builds("relation:pair={}x{}".format, st.integers(1, 3), st.integers(1, 3))
    common = {"size": (draw(st.integers(4, 6)), draw(st.integers(4, 6))), "seed": draw(st.integers(0, 99))}
    common["block_seed"] = draw(st.sampled_from([0, 7, (0, 1)]))
    name = draw(st.sampled_from(["relations", "both", "coverage", "systematicity", "gzsl", "grid"]))
    if name == "gzsl":
        return {**common, "design": "gzsl", "scenes": "900", "holdout": draw(st.sampled_from([[], ["objects=3"]]))}
    if name == "coverage":
        return {**common, "design": "coverage", "holdout": [f"k{draw(st.integers(1, 5))}"], "scenes": "40"}
    if name == "systematicity":
        return {**common, "design": "systematicity", "holdout": [draw(block), "atoms=1x1"], "scenes": "40"}
    if name == "grid":
        return {**common, "holdout": [draw(block)], "scenes": "grid", "size": (4, 4)}
    holdout = [draw(relations)] if name == "relations" else [draw(block), draw(relations)]
    return {
        **common,
        "holdout": holdout,
        "opposites": draw(st.booleans()),
        "scenes": "40",
        "objects": (2, draw(st.integers(2, 3))),
    }


def judge_job(job: dict[str, Any]) -> None:
    """A dataset of a design has no finding; designs that cannot be made are left out."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            root = made(Path(folder) / "dataset", **job)
        except UserError:
            reject()
        certificates = verify_dataset(root, None)
    assert {name: each["findings"] for name, each in certificates.items() if each["findings"]} == {}


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(jobs())
@pytest.mark.full
def test_a_clean_design_drawn_at_random_raises_no_alarm(job: dict[str, Any]) -> None:
    judge_job(job)


@pytest.mark.full
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(jobs())
def test_clean_designs_drawn_at_random_raise_no_alarm(job: dict[str, Any]) -> None:
    judge_job(job)
