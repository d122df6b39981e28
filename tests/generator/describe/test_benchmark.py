"""Benchmarks over rendered images: their splits, tables and texts, and what is refused."""

import contextlib
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from generator.api import describe_texts
from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark, Dataset
from generator.dataset.writer import BenchmarkWriter
from generator.describe.benchmark import describe_world, read_assigned_splits, write_benchmarks
from generator.describe.captioner import Candidate, Item, Text
from generator.describe.protocol import Protocol
from generator.describe.protocols import protocol_names
from generator.describe.request import TextRequest, first_request
from generator.describe.scenes import (
    DescribedScene,
    RenderedScene,
    _salience,
    evaluated_scenes,
    most_objects,
    rendered_scenes,
)
from generator.describe.tables import BenchmarkTables
from generator.holdout.blocks import draw_block
from generator.holdout.holdout import Holdout
from generator.holdout.membership import SplitPlan
from generator.holdout.request import draw_holdouts
from generator.inspection.reproduction import Reproduction
from generator.judge.verify import verify_dataset
from generator.language.form import Form, Mention
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.plan.store import Assigned
from generator.scene.layouts import can_carry
from generator.vocabulary.schema import parse_vocabulary
from tests.conftest import run_process, succeed
from tests.generator.designs import Design, make
from tests.generator.relations import BENCHMARK as RELATED
from tests.generator.relations import VOCABULARY as RELATIONS
from tests.generator.scenes import HOLDOUT, VOCABULARY, captioner, scene_of
from tests.generator.unrendered import write_planned


@pytest.fixture(scope="module")
def dataset(rendered: Path) -> Dataset:
    return Dataset.open(rendered)


@pytest.fixture(scope="module")
def benchmark(dataset: Dataset) -> Benchmark:
    return dataset.benchmark()


def test_splits_have_the_requested_numbers_of_scenes(benchmark: Benchmark) -> None:
    counts = Counter(benchmark.splits["split"].to_pylist())
    assert (
        counts
        == {"train": 110, "val": 4, "seen": 20, "partial": 20, "unseen": 20}
        == benchmark.manifest["scenes"]
    )
    held = {row["split"]: len(row["held_out_bindings"]) for row in benchmark.splits.to_pylist()}
    assert held == {"train": 0, "val": 0, "seen": 0, "partial": 1, "unseen": 2}


@pytest.mark.full
def test_exposed_negatives_need_the_option_and_are_declared(copied: Path) -> None:
    succeed("gen split", copied, "--exposed-negatives", "--name", "exposed")
    dataset = Dataset.open(copied)
    plain, exposed = dataset.benchmark("color-shape-3x3-b0"), dataset.benchmark("exposed")
    swaps = [
        sum(row["kind"] == "swap" for row in benchmark.candidates.to_pylist())
        for benchmark in (plain, exposed)
    ]
    assert swaps[0] < swaps[1]
    assert exposed.manifest["declared_leaks"]
    verified = succeed("gen verify", copied, "--benchmark", "exposed")
    assert verified.stdout.strip() == "exposed: as declared"
    assert "train negatives show held-out bindings" in verified.stderr


def world_bytes(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (root / "world").iterdir() if path.is_file()}


def test_a_split_without_scenes_is_refused_and_nothing_written(copied: Path) -> None:
    dataset = Dataset.open(copied)
    vocabulary = parse_vocabulary(dataset.world.vocabulary_text, "vocabulary.toml")
    refusals = 0
    for seed in range(1, 6):
        before = sorted(path.name for path in (copied / "benchmarks").iterdir())
        # a 2x2 block has one unseen group of 1,848, which a world planned for another block hardly
        # ever shows
        with contextlib.suppress(UserError):
            holdout = draw_block("2x2", vocabulary, seed)
            describe_world(
                copied,
                dataset.world,
                holdout=holdout,
                name=f"unlikely{seed}",
                request=first_request(holdout),
            )
            continue
        refusals += 1
        assert sorted(path.name for path in (copied / "benchmarks").iterdir()) == before
    assert refusals >= 3


@pytest.mark.full
def test_split_and_describe_write_verified_benchmarks_without_rendering(
    copied: Path,
) -> None:
    before, first = world_bytes(copied), "color-shape-3x3-b0"
    succeed("gen split", copied, "--holdout", "4x6", "--block-seed", "3")
    printed = json.loads(succeed("gen describe", copied, "--seed", "3", "--json").stdout)
    assert before == world_bytes(copied)
    dataset = Dataset.open(copied)
    assert dataset.benchmark_names() == [first, printed["benchmark"], "color-shape-4x6-b3"]
    assert dataset.benchmark().name == first  # the one made with the world
    benchmark = dataset.benchmark(printed["benchmark"])
    assert benchmark.holdout == dataset.benchmark(first).holdout
    need_other_worlds = {"frames", "views", "steps"}
    written = {name.split()[0] for name in printed["items"]}
    assert written == {*protocol_names(), "train"} - need_other_worlds
    assert benchmark.manifest["texts"]["reports"]["systematicity"]
    assert (
        succeed("gen verify", copied, "--benchmark", benchmark.name).stdout.strip()
        == f"{benchmark.name}: clean"
    )


@pytest.mark.full
def test_the_same_seed_gives_the_same_texts_whatever_the_hash_seed(copied: Path) -> None:
    digests = set()
    elsewhere = run_process(
        "gen", "describe", copied, "--name", "again", env={**os.environ, "PYTHONHASHSEED": "1"}
    )
    assert elsewhere.returncode == 0, elsewhere.stderr
    digests.add(Dataset.open(copied).benchmark("again").digest)
    succeed("gen describe --name again --replace", copied)  # of a hash seed by chance
    digests.add(Dataset.open(copied).benchmark("again").digest)
    assert len(digests) == 1
    succeed("gen describe --name again --seed 1 --replace", copied)
    assert Dataset.open(copied).benchmark("again").digest not in digests


def test_graded_captions_have_the_requested_complexity(copied: Path) -> None:
    options = (
        "--protocol skill --level OAR --complexity 5..7 --counts O=2,R=1 --template "
        "list-then-relate"
    )
    succeed("gen describe", copied, "--name", "graded", *options.split())
    benchmark = Dataset.open(copied).benchmark("graded")
    skill = set(benchmark.items_of("skill")["item_id"].to_pylist())
    used = {
        row["text_id"]
        for row in benchmark.candidates.to_pylist()
        if row["item_id"] in skill and row["slot"] == "c"
    }
    rows = [row for row in benchmark.texts.to_pylist() if row["text_id"] in used]
    assert rows
    assert {
        (row["level"], row["n_objects"], row["n_relations"], row["template"]) for row in rows
    } == {("OAR", 2, 1, "list-then-relate")}
    assert {row["n_attributes"] for row in rows} <= {2, 3, 4}


def test_statistics_of_training_captions_are_in_the_manifest(copied: Path) -> None:
    options = "--name sparse --protocol binary --captions density=0.5,completeness=0.5"
    succeed("gen describe", copied, *options.split())
    realised = Dataset.open(copied).benchmark("sparse").manifest["texts"]["reports"]["train"]
    assert realised["captions"] == 110
    assert realised["completeness"] == 0.5
    assert abs(realised["density"] - 0.5) < 0.1


def test_every_protocol_of_a_world_of_all_relations_is_certified_clean(
    relations_world: Path,
) -> None:
    items = Counter(Dataset.open(relations_world).benchmark(RELATED).items["protocol"].to_pylist())
    need_twins = {"pairs", "frames", "views", "steps"}
    assert set(protocol_names()) - need_twins <= set(items)
    certificate = verify_dataset(relations_world, None)[RELATED]
    assert certificate["status"] == "clean", certificate["findings"][:5]


Links = list[tuple[dict[str, Any], dict[str, Any], list[Any]]]


@pytest.fixture(scope="module")
def links(relations_world: Path) -> Links:
    """Every relation of every candidate's text: (candidate, form, link)."""
    benchmark = Dataset.open(relations_world).benchmark(RELATED)
    forms = {row["text_id"]: json.loads(row["form"]) for row in benchmark.texts.to_pylist()}
    return [
        (row, forms[row["text_id"]], link)
        for row in benchmark.candidates.to_pylist()
        for link in forms[row["text_id"]].get("relations", [])
    ]


def test_all_relations_occur_in_true_and_in_false_texts(links: Links) -> None:
    n_texts = Counter((link[1], row["truth"]) for row, _, link in links)
    assert {name for name, _ in n_texts} == set(RELATIONS.relations)
    assert all(n_texts[name, True] and n_texts[name, False] for name in RELATIONS.relations)


def test_no_text_names_a_stack_that_no_scene_can_have(links: Links) -> None:
    """True or false: a foil that is true of no scene could be told from the words."""
    checked = 0
    for _, form, (subject, name, other, _) in links:
        if name in ("on", "beneath"):
            upper, lower = (subject, other) if name == "on" else (other, subject)
            names = [mention["category"] for mention in form["objects"]]
            assert can_carry(RELATIONS, names[lower], names[upper])
            checked += 1
    assert checked > 50


def test_no_relation_of_a_text_follows_from_another(links: Links) -> None:
    """What rests on another is near it: a text says at most one of the two of an object."""
    for _, form, _ in links:
        near = [
            frozenset(link[0:3:2])
            for link in form["relations"]
            if RELATIONS.relations[link[1]].name in ("near", "far", "on", "beneath")
        ]
        assert len(near) == len(set(near))
        assert sum(map(len, near)) == len(frozenset().union(*near))


def test_near_is_replaced_by_far_as_often_as_far_by_near(
    links: Links, relations_world: Path
) -> None:
    """Within what chance allows; a direction is replaced by directions only."""
    changed = Counter(
        tuple(what.split(":")[2].split(">"))
        for row in Dataset.open(relations_world).benchmark(RELATED).candidates.to_pylist()
        for what in row["changed"] or []
        if ":relation:" in what and "not " not in what
    )
    directions = {"left", "right", "front", "behind"}
    for old, new in changed:
        assert RELATIONS.relations[old].opposite == new or {old, new} <= directions
    near, far = changed["near", "far"], changed["far", "near"]
    assert abs(near - far) < 0.25 * (near + far)
    # with their ends exchanged, near and far say the same
    assert {"near", "far"}.isdisjoint(link[1] for row, _, link in links if row["kind"] == "order")


def test_texts_keep_the_splits_of_the_benchmark_that_is_named(tmp_path: Path) -> None:
    """Not those of another one with the same holdout."""
    root = make(Design(), tmp_path / "world")
    world, first = Dataset.open(root).world, Dataset.open(root).benchmark()
    holdout, assigned = (
        Holdout.from_dict(first.holdout_block()),
        read_assigned_splits(tmp_path, first),
    )
    del assigned[next(scene for scene, place in assigned.items() if place.split == "train")]
    describe_world(
        root,
        world,
        holdout=holdout,
        name="a",
        request=replace(first_request(holdout), protocols=("binary",)),
        assigned=assigned,
    )
    describe_texts(root, benchmark=first.name, name="texts", protocols=("binary",))
    assert Dataset.open(root).benchmark("texts").splits["split"].equals(first.splits["split"])


@pytest.mark.full
def test_labels_name_the_same_objects_in_other_texts(tmp_path: Path) -> None:
    prepared = prepare(
        WorldOptions(
            family="pearson2025",
            holdout=["pearson2025"],
            scenes="210",
            resolution="64x48",
            design="gzsl",
        )
    )
    write_planned(tmp_path / "world", prepared)
    write_benchmarks(
        tmp_path / "world", Dataset.open(tmp_path / "world").world, exposed_negatives=False
    )
    name = "pearson2025-two-object"
    describe_texts(tmp_path / "world", benchmark=name, name="texts", protocols=("gzsl",), seed=1)
    first, second = (
        Dataset.open(tmp_path / "world").benchmark(benchmark_name)
        for benchmark_name in (name, "texts")
    )
    assert len(_labels(first)) > 20
    assert _labels(first) == _labels(second)
    assert first.digest != second.digest  # distractors
    report = verify_dataset(tmp_path / "world", "texts", reproduce=Reproduction())["texts"]
    assert (report["status"], report["findings"]) == ("clean", [])


def _labels(benchmark: Benchmark) -> set[tuple[str, str]]:
    """The scene of each question and its true label."""
    texts = dict(
        zip(*(benchmark.texts[column].to_pylist() for column in ("text_id", "text")), strict=True)
    )
    return {
        (row["scene_id"], texts[row["text_id"]])
        for row in benchmark.candidates.to_pylist()
        if row["truth"] and row["slot"] == "c"
    }


def test_options_of_training_captions_are_refused_without_training(tmp_path: Path) -> None:
    root = make(Design(), tmp_path / "world")
    world = Dataset.open(root).world
    vocabulary = parse_vocabulary(world.vocabulary_text, "vocabulary.toml")
    with pytest.raises(UserError, match="--exposed-negatives is about training captions"):
        describe_world(
            root,
            world,
            holdout=draw_block("none", vocabulary, 0),
            name="none",
            request=TextRequest(exposed_negatives=True),
        )
    single = draw_holdouts((), "gzsl", vocabulary=vocabulary, block_seed=0)[0]
    with pytest.raises(
        UserError, match=r"single needs scenes for the task single \(objects in each: 1\)"
    ):
        describe_world(root, world, holdout=single, name="single", request=first_request(single))


def test_a_world_of_two_blocks_has_a_benchmark_of_each_with_scenes_of_its_own(
    tmp_path: Path,
) -> None:
    job = WorldOptions(
        family="clevr",
        holdout="2x2",
        scenes={"train": 14, "val": 2, "seen": 4, "partial": 4, "unseen": 4},
        resolution="64x48",
        block_seed=(0, 1),
    )
    write_planned(tmp_path, prepare(job))
    done = write_benchmarks(tmp_path, Dataset.open(tmp_path).world, exposed_negatives=False)
    dataset = Dataset.open(tmp_path)
    assert list(done) == dataset.benchmark_names()
    assert len(done) == 2
    used = [
        {
            row["scene_id"]
            for row in dataset.benchmark(name).splits.to_pylist()
            if row["split"] is not None
        }
        for name in done
    ]
    assert used[0].isdisjoint(used[1])
    assert all(dataset.benchmark(name).manifest["with_world"] for name in done)
    assert all(
        sum(summary.scenes.values()) == len(scenes)
        for summary, scenes in zip(done.values(), used, strict=True)
    )


@pytest.mark.full
def test_scenes_with_untrained_bindings_are_in_no_split_and_splits_without_items_are_refused(
    tmp_path: Path,
) -> None:
    prepared = prepare(
        WorldOptions(family="clevr", holdout="3x3", scenes="160", resolution="64x48", pairs=False)
    )
    write_planned(tmp_path, prepared)
    world, holdout = Dataset.open(tmp_path).world, draw_block("4x6", prepared.vocabulary, 1)
    describe_world(tmp_path, world, holdout=holdout, name="another", request=first_request(holdout))
    split_of = {
        row["scene_id"]: row["split"]
        for row in Dataset.open(tmp_path).benchmark("another").splits.to_pylist()
    }
    rule = SplitPlan(prepared.vocabulary, holdout)
    arrangement_of = {
        planned.scene_id: planned.arrangement(holdout.kind) for planned in prepared.planned
    }
    trained = {
        binding
        for scene, split in split_of.items()
        if split == "train"
        for binding in arrangement_of[scene]
    }
    left_out = 0
    for scene, arrangement in arrangement_of.items():
        lacking = [
            binding
            for binding in arrangement
            if not holdout.holds_out(*binding) and binding not in trained
        ]
        familiar = rule.place(arrangement).split in ("val", "seen", "partial")
        left_out += bool(lacking) and familiar
        assert split_of[scene] == (None if lacking and familiar else rule.place(arrangement).split)
    assert left_out > 3
    assert verify_dataset(tmp_path, "another")["another"]["status"] == "clean"
    with pytest.raises(
        UserError, match="No item asks about seen or unseen"
    ):  # the world has no twins
        describe_world(
            tmp_path,
            world,
            holdout=holdout,
            name="silent",
            request=replace(first_request(holdout), protocols=("pairs",)),
        )
    describe_world(
        tmp_path,
        world,
        holdout=holdout,
        name="trains",
        request=replace(first_request(holdout), protocols=()),
    )


def test_evaluated_scenes_are_those_of_the_benchmark(rendered: Path) -> None:
    dataset = Dataset.open(rendered)
    benchmark = dataset.benchmark()
    vocabulary = parse_vocabulary(dataset.world.vocabulary_text, "vocabulary.toml")
    holdout = Holdout.from_dict(benchmark.holdout or {})
    (evaluated,) = evaluated_scenes(dataset.world, vocabulary, [holdout])
    unseen = [row for row in benchmark.splits.to_pylist() if row["split"] == "unseen"]
    items = [row for row in benchmark.items.to_pylist() if row["split"] == "unseen"]
    assert (evaluated.split, len(evaluated)) == ("unseen", len(unseen))
    assert evaluated.cluster_count == len({row["cluster_id"] for row in items})
    assert evaluated.binding_count == len(
        {binding for row in unseen for binding in row["held_out_bindings"]}
    )


CUBE = Form((Mention("cube"),))
SCENE = scene_of(("cube", {}), ("cone", {}))


class Fixed(Protocol):
    """Asks whether there is a cube."""

    name, kinds = "fixed", ("cube",)
    item = Item("fixed", "cube", None, (Candidate(Text(CUBE, "there-is"), "c", True),), pool="used")

    def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
        yield self.item


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[BenchmarkTables]:
    with BenchmarkWriter(tmp_path, "b") as writer:
        assigned = {"0": Assigned("seen", ()), "1": Assigned("train", ())}
        yield BenchmarkTables(
            writer, captioner(), SplitPlan(VOCABULARY, HOLDOUT), seed=0, assigned=assigned
        )


def add(
    tables: BenchmarkTables, scene_id: str, protocol: Protocol, twin_of: str | None = None
) -> None:
    class Silent(Fixed):
        def items(self, scene: DescribedScene, stream: Stream) -> Iterator[Item]:
            return iter(())

    tables.add_scene(RenderedScene(scene_id, twin_of, SCENE, ()), Silent(captioner()), [protocol])


def test_scenes_go_to_the_split_that_they_were_made_for(tables: BenchmarkTables) -> None:
    for scene_id in ("0", "1", "2"):
        add(tables, scene_id, Fixed(captioner()))
    assert {split: n for split, n in tables.scenes.items() if n} == {"seen": 1, "train": 1}
    assert tables.items == {"fixed cube": 1}  # the training scene has training captions only


def test_a_text_is_counted_once_and_unused_pools_are_not_written(tables: BenchmarkTables) -> None:
    add(tables, "0", Fixed(captioner()))
    add(tables, "0", Fixed(captioner()))
    cone = Text(Form((Mention("cone"),)), "there-is")
    tables.add_pools("fixed", {"unused": [cone]})
    assert len(tables._text_numbers) == 1
    tables.add_pools("fixed", {"used": [cone]})
    assert len(tables._text_numbers) == 2


class Training(Fixed):
    """Trains on a caption."""

    name = "train"
    item = Item("train", "cube", None, (Candidate(Text(CUBE, "a-and-a"), "c", True),))


def test_unknown_words_are_listed_by_protocol(tables: BenchmarkTables) -> None:
    tables.add_scene(RenderedScene("1", None, SCENE, ()), Training(captioner()), [])  # "a cube"
    assert tables.unknown_words() == {}
    add(tables, "0", Fixed(captioner()))  # "There is a cube."
    tables.add_pools("fixed", {"used": [Text(Form((Mention("cone"),)), "a-and-a")]})
    assert tables.unknown_words() == {"fixed": ["cone", "is", "there"]}


def test_wrong_truths_stop_the_writing(tables: BenchmarkTables) -> None:
    protocol = Fixed(captioner())
    protocol.item = Item("fixed", "cube", None, (Candidate(Text(CUBE, "there-is"), "n", False),))  # type: ignore[misc]
    with pytest.raises(AssertionError, match="should be False"):
        add(tables, "0", protocol)


def test_every_rendered_scene_is_read_in_the_order_of_the_table(rendered: Path) -> None:
    world = Dataset.open(rendered).world
    rows = list(rendered_scenes(world, with_salience=True))
    assert [scene.scene_id for scene in rows] == world.scenes["scene_id"].to_pylist()
    assert all(len(scene.salience) == len(scene.scene.objects) for scene in rows)
    assert {scene.salience for scene in rendered_scenes(world, with_salience=False)} == {()}
    assert most_objects(world) == 2


def test_large_central_visible_objects_are_salient() -> None:
    rows = [
        {"amodal_box": box, "visible_fraction": visible}
        for box, visible in (
            ([0, 0, 100, 100], 1.0),
            ([25, 25, 75, 75], 1.0),
            ([25, 25, 75, 75], 0.25),
            ([100, 100, 100, 100], 1.0),
        )
    ]
    assert _salience({"width": 100, "height": 100, "objects": rows}) == pytest.approx(
        (1.0, 0.5, 0.25, -1.0)
    )
