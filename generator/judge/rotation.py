"""Checks the turns of a rotation against one another: together they hold out every binding, or
every own direction of every object, once, and no turn trains on an image that another turn
evaluates.

A single benchmark cannot show either, so the other turns are read from their files.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from generator.judge.benchmark import TRAIN, Benchmark
from generator.judge.certificate import Finding, finding
from generator.judge.files import StoredDataset
from generator.judge.held_out import ROTATION
from generator.judge.lexicon import FRAMES


@dataclass(frozen=True)
class Turn:
    """What the other turns of a rotation have to know of a benchmark."""

    name: str
    """Name of the benchmark."""
    holdout: Mapping[str, Any]
    """Contents of holdout.json."""
    split_of: Mapping[str, str | None]
    """Split of each scene by scene_id; None if the scene is in no split."""

    @property
    def training(self) -> set[str]:
        """The scenes that this turn trains on."""
        return {scene_id for scene_id, split in self.split_of.items() if split == TRAIN}

    @property
    def evaluation(self) -> set[str]:
        """The scenes that this turn validates or evaluates on."""
        return {scene_id for scene_id, split in self.split_of.items() if split not in (None, TRAIN)}


def read_turns(dataset: StoredDataset) -> list[Turn]:
    """The turns among all benchmarks of a dataset. Benchmarks that cannot be read are missing: they
    have findings of their own, and `rotation_findings` says which turn is missing."""
    turns = []
    for name, (holdout, splits) in dataset.turns.items():
        rows = zip(splits["scene_id"].to_pylist(), splits["split"].to_pylist(), strict=True)
        turns.append(Turn(name, holdout, dict(rows)))
    return turns


def rotation_findings(benchmark: Benchmark, name: str, turns: Sequence[Turn]) -> Iterator[Finding]:
    """Faults between a turn and the other turns of its rotation; none for other designs.

    Args:
        benchmark: The benchmark under judgement.
        name: Its name.
        turns: All turns of the dataset, from `read_turns`.

    Yields:
        "wrong turn": what is held out is not what groups and turn give.
        "incomplete rotation": a turn is missing, or the groups do not cover the vocabulary once.
        "shared evaluation": a scene is in one turn's training and in another turn's evaluation.
        "wrong split": in a rotation of own directions, an unseen scene has an object that shows
            none of its held-out directions.
    """
    holdout = benchmark.holdout
    # Only turns have siblings to be compared with.
    if holdout.get("design") != ROTATION:
        return
    yield from _group_findings(benchmark)
    if _rotates_directions(benchmark):
        yield from _half_unseen_findings(benchmark)
    own = Turn(name, holdout, benchmark.split_of)
    siblings = [
        turn for turn in turns if turn.name != name and _same_rotation(turn.holdout, holdout)
    ]
    yield from _missing_turns(own, siblings)
    for sibling in siblings:
        # Both directions: each turn is judged by itself, and a certificate must not miss half.
        yield from _shared_evaluation(own, sibling)
        yield from _shared_evaluation(sibling, own)


def _group_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Whether the groups partition the world's values (or own directions) and objects, and give
    what is listed."""
    holdout = benchmark.holdout
    value_groups = holdout["value_groups"]
    object_groups = holdout["object_groups"]
    turn = holdout["turn"]
    n_groups = len(value_groups)

    # The groups hold each name once.
    vocabulary = tomllib.loads(benchmark.world.vocabulary)
    values = ("values", [*vocabulary["attributes"][holdout["kind"]]])
    if _rotates_directions(benchmark):
        relations = vocabulary.get("relations", {})
        values = ("own directions", [name for name in FRAMES["object"] if name in relations])
    objects = ("objects", [*vocabulary["objects"]])
    for (role, names), groups in ((values, value_groups), (objects, object_groups)):
        grouped = [name for group in groups for name in group]
        if sorted(grouped) != sorted(names):
            yield finding(
                "incomplete rotation",
                f"the groups of holdout.json do not hold each of the world's {role} once",
            )

    # What is held out follows from them and from the number of the turn.
    if not isinstance(turn, int) or not 0 <= turn < n_groups or len(object_groups) != n_groups:
        yield finding("wrong turn", f"holdout.json names turn {turn} of {n_groups} groups")
        return
    # Turn t holds out the values (or directions) of group i with the objects of group i + t.
    expected: set[tuple[str, str]] = set()
    for i, values in enumerate(value_groups):
        expected.update(product(values, object_groups[(i + turn) % n_groups]))
    listed: set[tuple[str, str]] = {*benchmark.held_out.bindings}
    for _, direction, category in benchmark.held_out.triples:
        listed.add((direction, category))
    for value, category in sorted(listed - expected):
        yield finding(
            "wrong turn",
            f"holdout.json lists {value} {category}, which turn {turn} of its groups does not hold "
            f"out",
        )
    for value, category in sorted(expected - listed):
        yield finding(
            "wrong turn",
            f"holdout.json lacks {value} {category}, which turn {turn} of its groups holds out",
        )


def _rotates_directions(benchmark: Benchmark) -> bool:
    """Whether the turns hold out own directions of objects. Other turns hold out no relation."""
    return bool(benchmark.held_out.triples)


def _half_unseen_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Unseen scenes with an object that shows no held-out direction. The next turn would hold out
    the other axis of that object, so the scene would be seen in no turn."""
    turn = benchmark.holdout["turn"]
    for scene_id, scene in benchmark.scenes_of("unseen"):
        grounds = {ground for _, _, ground in benchmark.held_out.held_out_facts_of(scene)}
        for number, (category, _) in enumerate(scene.objects):
            if number not in grounds:
                yield finding(
                    "wrong split",
                    f"scene {scene_id} is in unseen, and its {category} shows no direction that "
                    f"turn {turn} holds out",
                )


def _missing_turns(own: Turn, siblings: Sequence[Turn]) -> Iterator[Finding]:
    present = {turn.holdout.get("turn") for turn in (own, *siblings)}
    for turn in range(len(own.holdout["value_groups"])):
        if turn not in present:
            yield finding(
                "incomplete rotation",
                f"no benchmark of this dataset is turn {turn}, so its bindings are never unseen",
            )


def _shared_evaluation(trains: Turn, evaluates: Turn) -> Iterator[Finding]:
    for scene_id in sorted(trains.training & evaluates.evaluation):
        split = evaluates.split_of[scene_id]
        yield finding(
            "shared evaluation",
            f"{trains.name} trains on scene {scene_id}, which {evaluates.name} has in {split}",
        )


def _same_rotation(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    keys = ("kind", "value_groups", "object_groups")
    return all(one.get(key) == other.get(key) for key in keys)
