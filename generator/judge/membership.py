"""Checks assignments: scenes and groups to splits, labels to class lists, images to one scene,
items to the split of their scenes."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from generator.judge.benchmark import TRAIN, Benchmark
from generator.judge.certificate import Finding, finding
from generator.judge.files import labels, repeated
from generator.judge.geometry import SceneGeometry
from generator.judge.held_out import ASYMMETRIC, CLASSES, Binding, HeldOut, Triple, facts

_FAMILIAR = ("val", "seen", "partial", *ASYMMETRIC)
"""The splits whose bindings training must show unless they are held out."""
_ALL = "all"
"""The split of all scenes if nothing is held out."""
_CLAIMS = ("seen", "unseen", "id_test", "ood_test", _ALL)
"""The splits whose accuracies, or their difference, a benchmark measures."""


def world_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """A world that is not the world that the benchmark was made over."""
    if benchmark.manifest.get("world") != benchmark.world.digest:
        yield finding(
            "another world",
            "the benchmark was made over a world with other files; run `gen split` again",
        )


def split_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Scenes listed twice, not rendered, in the wrong split or with untrained bindings, and groups
    in two splits.

    Splits of class lists (design gzsl) are not checked by held-out facts: `class_findings` checks
    their labels.
    """
    clusters: dict[str, set[str]] = defaultdict(set)
    for scene_id in repeated(benchmark.tables["splits"]["scene_id"]):
        yield finding("repeated scene", f"scene {scene_id} is in splits.parquet more than once")
    for scene_id, split in benchmark.split_of.items():
        if split is None:
            continue
        if scene_id not in benchmark.world.shown:
            yield finding(
                "missing scene", f"scene {scene_id} is in split {split} and was not rendered"
            )
            continue
        shown = benchmark.world.shown[scene_id]
        if benchmark.held_out.design != CLASSES:
            clusters[benchmark.held_out.cluster(shown)].add(
                ASYMMETRIC[0] if split in ASYMMETRIC else split
            )
            yield from _misplaced(scene_id, split, shown, benchmark.held_out)
    yield from _untrained(benchmark)
    for cluster, splits in clusters.items():
        if len(splits) > 1:
            yield finding(
                "shared group", f"scenes of {cluster} are in {' and '.join(sorted(splits))}"
            )


def _untrained(benchmark: Benchmark) -> Iterator[Finding]:
    """Scenes of familiar splits that show a binding which is not held out and which no training
    scene shows."""
    held_out, trained = benchmark.held_out, set[Binding]()
    shown = {
        scene_id: set(held_out.bindings_of(benchmark.world.shown[scene_id]))
        for scene_id, split in benchmark.split_of.items()
        if held_out.design != CLASSES
        and split in (TRAIN, *_FAMILIAR)
        and scene_id in benchmark.world.shown
    }
    for scene_id, bindings in shown.items():
        if benchmark.split_of[scene_id] == TRAIN:
            trained |= bindings
    for scene_id, bindings in shown.items():
        for binding in sorted(bindings - trained - held_out.bindings) if trained else ():
            yield finding(
                "untrained binding",
                f"scene {scene_id} of {benchmark.split_of[scene_id]} shows {' '.join(binding)}, "
                f"which is not held out "
                "and which no training scene shows",
            )


def image_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Images that belong to two scenes."""
    scenes: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for scene_id, digest in benchmark.world.image_digests.items():
        if split := benchmark.split_of.get(scene_id):
            scenes[digest].append((split, scene_id))
    for digest, found in scenes.items():
        splits, ids = (sorted(set(each)) for each in zip(*found, strict=True))
        if len(splits) > 1:
            yield finding(
                "shared image", f"one image ({digest[:12]}…) is in {' and '.join(splits)}"
            )
        elif len(ids) > 1:
            yield finding(
                "repeated image",
                f"scenes {' and '.join(ids)} of {splits[0]} have the same image ({digest[:12]}…)",
            )


def _misplaced(
    scene_id: str, split: str, shown: SceneGeometry, held_out: HeldOut
) -> Iterator[Finding]:
    """A scene in the wrong split by its held-out facts. For training scenes leaks.py checks
    this."""
    bindings, facts = held_out.bindings_shown(shown), held_out.facts_shown(shown)
    absent = held_out.absent_shown(shown)
    ends = {end for i, _, j in facts for end in (i, j)}
    bound = not held_out.bindings or len(bindings) == len(shown.objects)
    related = not held_out.triples or len(ends) == len(shown.objects)
    whole = bool(bindings or facts) and bound and related
    uneven = held_out.asymmetric and not facts and held_out.uneven(shown)
    fits = {
        ASYMMETRIC[0]: uneven and not bindings,
        ASYMMETRIC[1]: uneven and bool(bindings),
        _ALL: held_out.is_empty,
        "train": not held_out.is_empty,
        "val": not bindings and not facts and not held_out.is_empty,
        "seen": not bindings and not facts and not held_out.is_empty,
        "partial": bool(bindings or facts) and not whole,
        "unseen": whole and held_out.dose_split(bindings) == "unseen",
        "unseen_atoms": bool(absent),
        **{
            f"dose{times}": whole and held_out.dose_split(bindings) == f"dose{times}"
            for times, _, _ in held_out.doses
        },
    }
    if not fits.get(split, False) or (absent and split not in ("train", "unseen_atoms")):
        told = [*map(" ".join, bindings), *map(" ".join, held_out.triples_shown(shown)), *absent]
        yield finding(
            "wrong split",
            f"scene {scene_id} is in {split} and shows {len(bindings)} held-out bindings, "
            f"{len(facts)} held-out relations and {len(absent)} values or objects that training "
            f"lacks ({', '.join(told) or 'none'})",
        )


_ASKED_SPLITS = ("seen", "partial", "unseen", "id_test", "ood_test", _ALL)
"""The splits in which every question must occur that occurs in one of them."""
_NEVER_ASKED = {("systematicity", "partial")}
"""Protocols and splits that a paper leaves out: CREPE has no split in which some compounds are
seen."""


def cell_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Cells without questions that the manifest does not declare, and declared cells that have
    questions.

    A cell is a protocol, kind and skill that some question has, and a split of _ASKED_SPLITS that
    has scenes.
    """
    items = benchmark.tables["items"]
    columns = (
        benchmark.protocols,
        labels(items["kind"]),
        labels(items["skill"]),
        benchmark.item_split,
    )
    written = set(zip(*(column.tolist() for column in columns), strict=True))
    with_scenes = [split for split in _ASKED_SPLITS if split in benchmark.split_of.values()]
    empty = {
        " ".join(filter(None, (protocol, kind, skill, split)))
        for protocol, kind, skill in {cell[:3] for cell in written if cell[3] in with_scenes}
        for split in with_scenes
        if (protocol, split) not in _NEVER_ASKED and (protocol, kind, skill, split) not in written
    }
    declared = set(map(str, benchmark.manifest.get("empty_cells", [])))
    for cell in sorted(empty - declared):
        yield finding(
            "empty cell", f"there is no question of {cell}, and the manifest does not declare it"
        )
    for cell in sorted(declared - empty):
        yield finding("wrong declaration", f"the manifest says that there is no question of {cell}")


def item_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Items that occur twice, have no true text, or ask about scenes of another split; splits
    without questions."""
    items, rows = benchmark.tables["items"], benchmark.candidates
    for item_id in repeated(items["item_id"]):
        yield finding("repeated item", f"item {item_id} is in items.parquet more than once")
    known = np.flatnonzero((rows.item >= 0) & (rows.scene >= 0))
    split_of = np.array(
        [benchmark.split_of.get(scene_id) for scene_id in benchmark.scene_ids], dtype=object
    )
    for row in known[
        split_of[rows.scene[known]] != benchmark.item_split[rows.item[known]]
    ].tolist():
        yield finding(
            "wrong split",
            f"item {benchmark.item_id(rows.item[row])} is in "
            f"{benchmark.item_split[rows.item[row]]}, its scene "
            f"{benchmark.scene_id(row)} in {split_of[rows.scene[row]] or 'no split'}",
        )
    asked = {*benchmark.item_split.tolist()}
    for split in _CLAIMS if asked & {*_CLAIMS} else ():
        if split in benchmark.split_of.values() and split not in asked:
            yield finding("no question", f"{split} has scenes and no item asks about them")
    true = np.bincount(rows.item[(rows.item >= 0) & rows.truth], minlength=len(items)) > 0
    for item in np.flatnonzero(~true).tolist():
        yield finding("missing row", f"item {benchmark.item_id(item)} has no true text")


def training_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Items of protocol train outside split train, items of other protocols inside it, and
    candidates of training items over scenes of another split. If there are none, selecting training
    data by protocol, split or scene is the same."""
    protocols = benchmark.protocols
    by_protocol, by_split = protocols == TRAIN, benchmark.item_split == TRAIN
    for item in np.flatnonzero(by_protocol != by_split).tolist():
        yield finding(
            "training outside train",
            f"item {benchmark.item_id(item)} is of the protocol {protocols[item]} and in the split "
            f"{benchmark.item_split[item]}",
        )
    rows = benchmark.candidates
    if not len(protocols):
        return
    trains = (rows.item >= 0) & by_protocol[rows.item]
    trained = np.array(
        [benchmark.split_of.get(each) == TRAIN for each in benchmark.scene_ids] + [False]
    )
    for row in np.flatnonzero(trains & ~trained[rows.scene]).tolist():
        scene_id = benchmark.scene_id(row)
        yield finding(
            "training outside train",
            f"item {benchmark.item_id(rows.item[row])} trains on scene {scene_id}, which is in "
            f"{benchmark.split_of.get(scene_id) or 'no split'}",
        )


Label = tuple[str, ...]
"""(value, object), or (subject, relation, object) in the relational dataset."""

LIST_OF = {
    "train": "train",
    "id_val": "train",
    "id_test": "train",
    "ood_val": "ood_val",
    "ood_test": "ood_test",
}
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
            fault = _scene_fault(
                benchmark.world.shown[scene_id], split, benchmark.held_out, excepted
            )
            if fault:
                yield finding("wrong split", f"scene {scene_id} is in {split} and {fault}")


def shared_arrangements(held_out: HeldOut) -> Iterator[tuple[str, str, frozenset[Triple]]]:
    """Arrangements that are labels of two lists: the two labels as a sentence, in both orders, and
    their triples."""
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
    """Triples, in both phrasings, of the arrangements that the manifest declares to be in two
    lists."""
    declared = benchmark.manifest.get("declared_leaks", [])
    found = [
        triples
        for one, other, triples in shared_arrangements(benchmark.held_out)
        if {one, other} & {*declared}
    ]
    return frozenset().union(*found)


def _repeated_labels(held_out: HeldOut) -> Iterator[Finding]:
    for (name, some), (other, others) in combinations(held_out.labels.items(), 2):
        for label in sorted({*some} & {*others}):
            yield finding(
                "shared label", f"'{' '.join(label)}' is a label of {name} and of {other}"
            )


def _scene_fault(
    shown: SceneGeometry, split: str, held_out: HeldOut, excepted: frozenset[Triple]
) -> str | None:
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
