"""Texts and judge over a world of all eight relations."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from bench.worlds import write_planned
from generator.dataset.reader import Dataset
from generator.dataset.streams import Stream
from generator.describe.benchmark import PROTOCOLS, Request, describe
from generator.holdout.membership import SplitPlan
from generator.judge.verify import verify_dataset
from generator.placement.scenes import place_scenes
from generator.plan.minimal_pairs import WithTwins
from generator.plan.record import Planned
from generator.render.run import Job, prepare
from generator.scene.graph import scene_graph
from generator.scene.layouts import draw_layout
from generator.scene.stacks import can_carry
from generator.vocabulary.schema import read_vocabulary
from tests.generator.judge.test_verify import Rows, edit

VOCABULARY = read_vocabulary("clevr-relations")
COUNTS = {"train": 40, "val": 5, "seen": 60, "partial": 60, "unseen": 40}


def laid_out(planned: Planned) -> Planned:
    layout = draw_layout([name for name, _ in planned.objects], Stream("lay", planned.scene_id), VOCABULARY)
    return replace(planned, depth_order=layout.depth_order, rests_on=layout.rests_on, clumps=layout.clumps)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("relations") / "dataset"
    prepared = prepare(Job("clevr-relations", "3x3", COUNTS, 64, 48, "draft", 0, 0, (2, 4)))
    write_planned(root, replace(prepared, planned=[laid_out(each) for each in prepared.planned]))
    describe(root, Dataset.open(root).world, prepared.holdout, "b", Request(strict=False))
    return root


def rows(dataset: Path, table: str) -> Rows:
    return pq.read_table(dataset / "benchmarks/b" / f"{table}.parquet").to_pylist()


def test_every_protocol_is_written_and_certified_clean(dataset: Path) -> None:
    items = Counter(row["protocol"] for row in rows(dataset, "items"))
    assert set(PROTOCOLS) - {"pairs"} <= set(items)  # pairs need twins
    certificate = verify_dataset(dataset, None)["b"]
    assert certificate["status"] == "clean", certificate["findings"][:5]


def links(dataset: Path) -> list[tuple[dict[str, Any], dict[str, Any], list[Any]]]:
    """Every relation of every text of every candidate: candidate, form, link."""
    forms = {row["text_id"]: json.loads(row["form"]) for row in rows(dataset, "texts")}
    return [
        (row, forms[row["text_id"]], link)
        for row in rows(dataset, "candidates")
        for link in forms[row["text_id"]].get("relations", [])
    ]


def test_all_relations_are_said_as_truth_and_as_foil(dataset: Path) -> None:
    said = Counter((link[1], row["truth"]) for row, _, link in links(dataset))
    assert {name for name, _ in said} == set(VOCABULARY.relations)
    assert all(said[name, True] and said[name, False] for name in VOCABULARY.relations)


def test_no_text_says_that_something_rests_on_what_cannot_carry_it(dataset: Path) -> None:
    """True or false: a foil that is true of no scene could be told from the words."""
    checked = 0
    for _, form, (subject, name, other, _) in links(dataset):
        if name in ("on", "beneath"):
            upper, lower = (subject, other) if name == "on" else (other, subject)
            names = [mention["category"] for mention in form["objects"]]
            assert can_carry(VOCABULARY, names[lower], names[upper])
            checked += 1
    assert checked > 50


def test_nothing_said_follows_from_the_rest_of_the_text(dataset: Path) -> None:
    """What rests on another is near it: of the same two objects a text says one of the two."""
    for _, form, _ in links(dataset):
        near = [
            frozenset(link[0:3:2]) for link in form["relations"] if VOCABULARY.relations[link[1]].rule in ("near", "far", "on", "beneath")
        ]  # fmt: skip
        assert len(near) == len(set(near))
        assert sum(map(len, near)) == len(frozenset().union(*near))


def test_foils_of_relations_are_as_often_the_truth(dataset: Path) -> None:
    """Near for far as often as far for near, within what chance allows; directions never for other rules."""
    changed = Counter(
        tuple(what.split(":")[2].split(">"))
        for row in rows(dataset, "candidates")
        for what in row["changed"] or []
        if ":relation:" in what and "not " not in what
    )
    directions = {"left", "right", "front", "behind"}
    for old, new in changed:
        assert VOCABULARY.relations[old].opposite == new or {old, new} <= directions
    near, far = changed["near", "far"], changed["far", "near"]
    assert abs(near - far) < 0.25 * (near + far)
    assert {"near", "far"}.isdisjoint(
        link[1] for row, _, link in links(dataset) if row["kind"] == "order"
    )  # ends exchanged, it says the same


def test_twins_leave_stacks_as_they_are() -> None:
    prepared = prepare(
        Job("clevr-relations", "3x3", {split: 3 * n for split, n in COUNTS.items()}, 64, 48, "draft", 0, 0, (2, 4))
    )
    plan = [laid_out(each) for each in prepared.planned]
    stacked = twins = 0
    for each in WithTwins(plan, SplitPlan(VOCABULARY, prepared.holdout), 0):
        if each.exchange is not None:
            stack = {i for pair in enumerate(each.rests_on) if pair[1] is not None for i in pair}
            assert stack.isdisjoint((each.exchange.first, each.exchange.second))
            scenes = place_scenes(each, VOCABULARY, 0, 0, 96, 96)
            stacks = [{(i, j) for i, name, j, edge in scene_graph(scene, VOCABULARY).edges(keys=True, data=True) if name == "on" and edge["holds"]}
                      for scene in scenes]  # fmt: skip
            assert stacks[0] == stacks[1]
            stacked += bool(stack)
            twins += 1
    assert twins > 50
    assert stacked > 3


def test_wrong_margins_and_what_hovers_are_found(dataset: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(dataset, tmp_path / "dataset"))
    planted: dict[str, str] = {}

    def spoil(found: Rows) -> None:
        for name in ("near", "far", "on", "beneath"):
            row = next(
                row for row in found if row["scene_id"] not in planted and any(r["relation"] == name and r["holds"] for r in row["relations"])
            )  # fmt: skip
            relation = next(r for r in row["relations"] if r["relation"] == name and r["holds"])
            if name in ("near", "on"):
                relation["margin"] += 0.001
            else:
                relation["holds"] = None
            planted[row["scene_id"]] = f" {name} of object"
        row = next(
            row for row in found if row["scene_id"] not in planted and any(r["relation"] == "on" and r["holds"] for r in row["relations"])
        )  # fmt: skip
        scene = json.loads(row["scene"])
        upper = next(r["subject"] for r in row["relations"] if r["relation"] == "on" and r["holds"])
        scene["objects"][upper]["position"][2] += 0.02
        row["scene"] = json.dumps(scene)
        planted[row["scene_id"]] = "above the ground and rests on nothing"

    edit(copied / "world", "scenes", spoil)
    findings = verify_dataset(copied, None)["b"]["findings"]
    for scene_id, told in planted.items():
        assert any(scene_id in finding["what"] and told in finding["what"] for finding in findings), (scene_id, told)
