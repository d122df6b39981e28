"""Checks benchmarks of class lists (design gzsl): labels of scenes and texts are of the list of their split."""

from collections.abc import Iterator
from itertools import combinations

from generator.judge.benchmark import Benchmark
from generator.judge.findings import Finding, finding
from generator.judge.geometry import SceneGeometry
from generator.judge.held_out import CLASSES, HeldOut, Triple, facts

Label = tuple[str, ...]
"""(value, object), or (subject, relation, object) in the relational dataset."""

LIST_OF = {"train": "train", "id_val": "train", "id_test": "train", "ood_val": "ood_val", "ood_test": "ood_test"}
_OBJECTS = {"single": 1, "two-object": 2, "relational": 2, "three-object": 3}


def class_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Labels in two lists, and scenes that show labels of another list than their split's."""
    if benchmark.held_out.design != CLASSES:
        return
    if benchmark.held_out.task != "relational":
        yield from _repeated_labels(benchmark.held_out)
    excepted = shared_triples(benchmark)
    for scene_id, split in benchmark.split_of.items():
        if split is not None and scene_id in benchmark.world.shown:
            fault = _scene_fault(benchmark.world.shown[scene_id], split, benchmark.held_out, excepted)
            if fault:
                yield finding("wrong split", f"scene {scene_id} is in {split} and {fault}")


def shared_arrangements(held_out: HeldOut) -> Iterator[tuple[str, str, frozenset[Triple]]]:
    """Arrangements that are labels of two lists: two ways to describe the pair, and its triples in both phrasings."""
    listed = [
        (name, (label[0], label[1], label[2]))
        for name, each in held_out.labels.items()
        for label in each
        if len(label) == 3
    ]
    for (name, one), (other, two) in combinations(listed, 2):
        converse = (one[2], held_out.converses.get(one[1], ""), one[0])
        if name != other and two in (one, converse):
            meaning = [f"{' '.join(label)} ({of})" for of, label in ((name, one), (other, two))]
            yield " = ".join(meaning), " = ".join(reversed(meaning)), frozenset({one, converse})


def shared_triples(benchmark: Benchmark) -> frozenset[Triple]:
    """Triples, in both phrasings, of the arrangements that the manifest declares to be in two lists."""
    declared = benchmark.manifest.get("declared_leaks", [])
    found = [triples for one, other, triples in shared_arrangements(benchmark.held_out) if {one, other} & {*declared}]
    return frozenset().union(*found)


def _repeated_labels(held_out: HeldOut) -> Iterator[Finding]:
    for (name, some), (other, others) in combinations(held_out.labels.items(), 2):
        for label in sorted({*some} & {*others}):
            yield finding("shared label", f"'{' '.join(label)}' is a label of {name} and of {other}")


def _scene_fault(shown: SceneGeometry, split: str, held_out: HeldOut, excepted: frozenset[Triple]) -> str | None:
    """Why a scene does not fit its split; None if it does."""
    own: set[Label] = {*held_out.labels.get(LIST_OF.get(split, ""), ())}
    objects = [(values.get(held_out.kind, ""), category) for category, values in shown.objects]
    number = _OBJECTS.get(str(held_out.task))
    if number is None:
        return f"belongs to the unknown dataset '{held_out.task}'"
    if len(objects) != number or len({category for _, category in objects}) != number:
        return f"shows {len(objects)} objects, not {number} of {number} categories"
    if held_out.task != "relational":
        if len({value for value, _ in objects}) != number:
            return f"two of its objects share a {held_out.kind}"
        strange = [" ".join(label) for label in objects if label not in own]
        return f"shows {' and '.join(strange)}, no label of its list" if strange else None
    holding = {(objects[i][1], name, objects[j][1]) for i, name, j in facts(shown)}
    strange = [
        f"{' '.join(label)} ({name})"
        for name, each in held_out.labels.items()
        for label in each
        if name != LIST_OF.get(split) and label in holding - excepted
    ]
    if strange:
        return f"shows {' and '.join(strange)}, labels of another list"
    return None if holding & own else "shows no label of its list"
