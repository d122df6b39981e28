"""Checks assignments: scenes and groups to splits, labels to class lists, images to one scene,
items to the split of their scenes."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from generator.judge.benchmark import TRAIN, Benchmark
from generator.judge.certificate import Finding, finding
from generator.judge.columns import labels, repeated
from generator.judge.geometry import SceneGeometry
from generator.judge.held_out import ASYMMETRIC, CLASSES, Binding, Fact, HeldOut, Triple, facts

_FAMILIAR = ("val", "seen", "partial", *ASYMMETRIC)
"""The splits whose bindings training must show unless they are held out."""
_ALL = "all"
"""The split of all scenes if nothing is held out."""
_CLAIMS = ("seen", "unseen", "id_test", "ood_test", _ALL)
"""The splits whose accuracies, or their difference, a benchmark measures."""
_COMPARED_SPLITS = ("seen", "partial", "unseen", "id_test", "ood_test", _ALL)
"""The splits in which every question must occur that occurs in one of them."""
_EXEMPT_CELLS = {("systematicity", "partial")}
"""Protocols and splits that a paper leaves out: CREPE has no split in which some compounds are
seen."""


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
    splits_of_group: dict[str, set[str]] = defaultdict(set)
    for scene_id in repeated(benchmark.tables["splits"]["scene_id"]):
        yield finding("repeated scene", f"scene {scene_id} is in splits.parquet more than once")
    for scene_id, split in benchmark.split_of.items():
        if split is None:
            continue
        scene = benchmark.world.scenes.get(scene_id)
        if scene is None:
            yield finding(
                "missing scene", f"scene {scene_id} is in split {split} and was not rendered"
            )
        elif benchmark.held_out.design != CLASSES:
            group = benchmark.held_out.group_of(scene)
            # The two asymmetric splits share groups on purpose, so they count as one.
            splits_of_group[group].add(ASYMMETRIC[0] if split in ASYMMETRIC else split)
            yield from _wrong_split(scene_id, split, scene=scene, held_out=benchmark.held_out)
    yield from _untrained_bindings(benchmark)
    for group, splits in splits_of_group.items():
        if len(splits) > 1:
            yield finding(
                "shared group", f"scenes of {group} are in {' and '.join(sorted(splits))}"
            )


def _untrained_bindings(benchmark: Benchmark) -> Iterator[Finding]:
    """Scenes of familiar splits that show a binding which is not held out and which no training
    scene shows."""
    held_out = benchmark.held_out
    if held_out.design == CLASSES:
        return
    trained: set[Binding] = set()
    for _, scene in benchmark.scenes_of(TRAIN):
        trained.update(held_out.bindings_of(scene))
    # A benchmark without training claims nothing about what was trained.
    if not trained:
        return
    for scene_id, scene in benchmark.scenes_of(*_FAMILIAR):
        untrained = {*held_out.bindings_of(scene)} - trained - held_out.bindings
        for binding in sorted(untrained):
            yield finding(
                "untrained binding",
                f"scene {scene_id} of {benchmark.split_of[scene_id]} shows {' '.join(binding)}, "
                f"which is not held out and which no training scene shows",
            )


def image_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Images that belong to two scenes."""
    scenes_of_image: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for scene_id, digest in benchmark.world.image_digests.items():
        split = benchmark.split_of.get(scene_id)
        # Scenes in no split are not used, so their images may repeat.
        if split:
            scenes_of_image[digest].append((split, scene_id))
    for digest, scenes in scenes_of_image.items():
        splits = sorted({split for split, _ in scenes})
        ids = sorted({scene_id for _, scene_id in scenes})
        image = f"{digest[:12]}…"
        if len(splits) > 1:
            yield finding("shared image", f"one image ({image}) is in {' and '.join(splits)}")
        elif len(ids) > 1:
            yield finding(
                "repeated image",
                f"scenes {' and '.join(ids)} of {splits[0]} have the same image ({image})",
            )


def _wrong_split(
    scene_id: str, split: str, *, scene: SceneGeometry, held_out: HeldOut
) -> Iterator[Finding]:
    """A scene in the wrong split by its held-out facts. For training scenes leaks.py checks
    this."""
    bindings = held_out.held_out_bindings_of(scene)
    held_out_facts = held_out.held_out_facts_of(scene)
    absent = held_out.absent_names_of(scene)
    # Names that training lacks make a scene one of unseen_atoms, whatever else it shows.
    is_allowed_absent = not absent or split in (TRAIN, "unseen_atoms")
    fitting = _fitting_splits(scene, held_out, bindings=bindings, held_out_facts=held_out_facts)
    if split in fitting and is_allowed_absent:
        return
    triples = held_out.held_out_triples_of(scene)
    compounds = [*bindings, *triples]
    held_out_names = [*map(" ".join, compounds), *absent]
    yield finding(
        "wrong split",
        f"scene {scene_id} is in {split} and shows {len(bindings)} held-out bindings, "
        f"{len(held_out_facts)} held-out relations and {len(absent)} values or objects that "
        f"training lacks ({', '.join(held_out_names) or 'none'})",
    )


def _fitting_splits(
    scene: SceneGeometry, held_out: HeldOut, *, bindings: list[Binding], held_out_facts: list[Fact]
) -> set[str]:
    """The splits that a scene may be in by the held-out bindings and facts that it shows."""
    # Without a holdout there is nothing to divide scenes by.
    if held_out.is_empty:
        return {_ALL}
    splits = {TRAIN}
    if held_out.absent_names_of(scene):
        splits.add("unseen_atoms")
    if not bindings and not held_out_facts:
        splits |= {"val", "seen"}
    else:
        # Unseen: every object takes part in what is held out, in each respect in which something
        # is held out.
        related = {end for i, _, j in held_out_facts for end in (i, j)}
        all_bound = not held_out.bindings or len(bindings) == len(scene.objects)
        all_related = not held_out.triples or len(related) == len(scene.objects)
        splits.add(held_out.dose_split(bindings) if all_bound and all_related else "partial")
    # Added, not decided: such a scene may be in its usual split too, as clusters are dealt between
    # them.
    if held_out.asymmetric and not held_out_facts and held_out.is_uneven(scene):
        splits.add(ASYMMETRIC[1] if bindings else ASYMMETRIC[0])
    return splits


def cell_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Cells without questions that the manifest does not declare, and declared cells that have
    questions.

    A cell is a protocol, kind and skill that some question has, and a split of `_COMPARED_SPLITS`
    that has scenes.
    """
    items = benchmark.tables["items"]
    columns = (
        benchmark.protocols.tolist(),
        labels(items["kind"]).tolist(),
        labels(items["skill"]).tolist(),
        benchmark.item_split.tolist(),
    )
    written = set(zip(*columns, strict=True))
    splits = [split for split in _COMPARED_SPLITS if split in benchmark.split_of.values()]
    questions = {
        (protocol, kind, skill) for protocol, kind, skill, split in written if split in splits
    }
    empty = set()
    for protocol, kind, skill in questions:
        for split in splits:
            is_exempt = (protocol, split) in _EXEMPT_CELLS
            if not is_exempt and (protocol, kind, skill, split) not in written:
                empty.add(" ".join(filter(None, (protocol, kind, skill, split))))
    declared = set(map(str, benchmark.manifest.get("empty_cells", [])))
    for cell in sorted(empty - declared):
        yield finding(
            "empty cell", f"there is no question of {cell}, and the manifest does not declare it"
        )
    # A declaration of too much would hide a cell that gets lost later.
    for cell in sorted(declared - empty):
        yield finding("wrong declaration", f"the manifest says that there is no question of {cell}")


def item_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Items that occur twice, have no true text, or ask about scenes of another split; splits
    without questions."""
    items, rows = benchmark.tables["items"], benchmark.candidates
    for item_id in repeated(items["item_id"]):
        yield finding("repeated item", f"item {item_id} is in items.parquet more than once")

    with_scene = np.flatnonzero((rows.item >= 0) & (rows.scene >= 0))
    scene_splits = np.array(
        [benchmark.split_of.get(scene_id) for scene_id in benchmark.scene_ids], dtype=object
    )
    own_scene_splits = scene_splits[rows.scene[with_scene]]
    differs = own_scene_splits != benchmark.item_split[rows.item[with_scene]]
    for row in with_scene[differs].tolist():
        item = rows.item[row]
        yield finding(
            "wrong split",
            f"item {benchmark.item_id(item)} is in {benchmark.item_split[item]}, its scene "
            f"{benchmark.scene_id(row)} in {scene_splits[rows.scene[row]] or 'no split'}",
        )

    splits_with_items = {*benchmark.item_split.tolist()}
    # Benchmarks of training alone ask no questions.
    if not splits_with_items.isdisjoint(_CLAIMS):
        for split in _CLAIMS:
            if split in benchmark.split_of.values() and split not in splits_with_items:
                yield finding("no question", f"{split} has scenes and no item asks about them")

    items_of_true_texts = rows.item[(rows.item >= 0) & rows.truth]
    has_true_text = np.bincount(items_of_true_texts, minlength=len(items)) > 0
    for item in np.flatnonzero(~has_true_text).tolist():
        yield finding("missing row", f"item {benchmark.item_id(item)} has no true text")


def training_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Items of protocol train outside split train, items of other protocols inside it, and
    candidates of training items over scenes of another split. If there are none, selecting training
    data by protocol, split or scene is the same."""
    protocols = benchmark.protocols
    if not len(protocols):
        return
    by_protocol, by_split = protocols == TRAIN, benchmark.item_split == TRAIN
    for item in np.flatnonzero(by_protocol != by_split).tolist():
        yield finding(
            "training outside train",
            f"item {benchmark.item_id(item)} is of the protocol {protocols[item]} and in the split "
            f"{benchmark.item_split[item]}",
        )
    rows = benchmark.candidates
    is_training = (rows.item >= 0) & by_protocol[rows.item]
    of_train = [benchmark.split_of.get(scene_id) == TRAIN for scene_id in benchmark.scene_ids]
    # The last entry stands for a scene that does not exist, whose index is -1.
    in_train = np.array([*of_train, False])
    trains_elsewhere = is_training & ~in_train[rows.scene]
    for row in np.flatnonzero(trains_elsewhere).tolist():
        scene_id = benchmark.scene_id(row)
        yield finding(
            "training outside train",
            f"item {benchmark.item_id(rows.item[row])} trains on scene {scene_id}, which is in "
            f"{benchmark.split_of.get(scene_id) or 'no split'}",
        )


# Class lists (design gzsl)

Label = tuple[str, ...]
"""(value, object), or (subject, relation, object) in the relational dataset."""

LIST_OF_SPLIT = {
    "train": "train",
    "id_val": "train",
    "id_test": "train",
    "ood_val": "ood_val",
    "ood_test": "ood_test",
}
"""The class list from which the scenes of each split take their labels."""
_OBJECTS_OF_TASK = {"single": 1, "two-object": 2, "relational": 2, "three-object": 3}
"""Number of objects in each scene, by dataset."""
_RELATIONAL = "relational"


def class_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Labels in two lists, and scenes that show labels of another list than their split's."""
    held_out = benchmark.held_out
    if held_out.design != CLASSES:
        return
    if held_out.task != _RELATIONAL:
        yield from _repeated_labels(held_out)
    excepted = shared_triples(benchmark)
    for scene_id, split in benchmark.split_of.items():
        if split is None or scene_id not in benchmark.world.scenes:
            continue
        fault = _class_fault(benchmark.world.scenes[scene_id], split, held_out, excepted)
        if fault:
            yield finding("wrong split", f"scene {scene_id} is in {split} and {fault}")


def shared_arrangements(held_out: HeldOut) -> Iterator[tuple[str, str, frozenset[Triple]]]:
    """Arrangements that are labels of two lists: the two labels as a sentence, in both orders, and
    their triples."""
    labels_of_lists = []
    for name, listed in held_out.class_lists.items():
        for label in listed:
            if len(label) == 3:
                labels_of_lists.append((name, (label[0], label[1], label[2])))
    for (name, label), (other_name, other) in combinations(labels_of_lists, 2):
        subject, relation, object_ = label
        # A list may hold the arrangement by its converse: it is the same fact.
        converse = (object_, held_out.converses.get(relation, ""), subject)
        if name == other_name or other not in (label, converse):
            continue
        first = f"{' '.join(label)} ({name})"
        second = f"{' '.join(other)} ({other_name})"
        yield f"{first} = {second}", f"{second} = {first}", frozenset({label, converse})


def shared_triples(benchmark: Benchmark) -> frozenset[Triple]:
    """Triples, in both phrasings, of the arrangements that the manifest declares to be in two
    lists."""
    declared = benchmark.manifest.get("declared_leaks", [])
    excepted: set[Triple] = set()
    for sentence, reversed_sentence, triples in shared_arrangements(benchmark.held_out):
        if sentence in declared or reversed_sentence in declared:
            excepted |= triples
    return frozenset(excepted)


def _repeated_labels(held_out: HeldOut) -> Iterator[Finding]:
    class_lists = held_out.class_lists
    for name, other_name in combinations(class_lists, 2):
        for label in sorted({*class_lists[name]} & {*class_lists[other_name]}):
            yield finding(
                "shared label", f"'{' '.join(label)}' is a label of {name} and of {other_name}"
            )


def _class_fault(
    scene: SceneGeometry, split: str, held_out: HeldOut, excepted: frozenset[Triple]
) -> str | None:
    """Why a scene does not fit its split; None if it does."""
    objects = []
    for category, values in scene.objects:
        objects.append((values.get(held_out.kind, ""), category))
    number = _OBJECTS_OF_TASK.get(str(held_out.task))
    if number is None:
        return f"belongs to the unknown dataset '{held_out.task}'"
    n_categories = len({category for _, category in objects})
    if len(objects) != number or n_categories != number:
        return f"shows {len(objects)} objects, not {number} of {number} categories"
    own_list = LIST_OF_SPLIT.get(split, "")
    own_labels: set[Label] = {*held_out.class_lists.get(own_list, ())}
    # Relational scenes show labels between their objects, the others by object.
    if held_out.task == _RELATIONAL:
        return _relational_fault(
            scene, own_list, own_labels=own_labels, held_out=held_out, excepted=excepted
        )
    if len({value for value, _ in objects}) != number:
        return f"two of its objects share a {held_out.kind}"
    foreign = [" ".join(label) for label in objects if label not in own_labels]
    return f"shows {' and '.join(foreign)}, no label of its list" if foreign else None


def _relational_fault(
    scene: SceneGeometry,
    own_list: str,
    *,
    own_labels: set[Label],
    held_out: HeldOut,
    excepted: frozenset[Triple],
) -> str | None:
    # A scene shows many relations; only those that are labels of some list count.
    categories = [category for category, _ in scene.objects]
    holding = set()
    for i, name, j in facts(scene):
        holding.add((categories[i], name, categories[j]))
    # Arrangements that the manifest declares to be in two lists are no fault.
    judged = holding - excepted
    foreign = []
    for name, listed in held_out.class_lists.items():
        for label in listed:
            if name != own_list and label in judged:
                foreign.append(f"{' '.join(label)} ({name})")
    if foreign:
        return f"shows {' and '.join(foreign)}, labels of another list"
    return None if holding & own_labels else "shows no label of its list"
