"""Checks benchmarks of class lists (design gzsl): labels of scenes and texts are of the list of their split."""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations

import numpy as np

from generator.judge.benchmark import Benchmark
from generator.judge.files import labels
from generator.judge.findings import Finding, finding
from generator.judge.geometry import SceneGeometry
from generator.judge.held_out import CLASSES, HeldOut, Triple, facts
from generator.judge.meaning import Meaning

Label = tuple[str, ...]
"""(value, object), or (subject, relation, object) in the relational dataset."""

LIST_OF = {"train": "train", "id_val": "train", "id_test": "train", "ood_val": "ood_val", "ood_test": "ood_test"}
_OBJECTS = {"single": 1, "two-object": 2, "relational": 2, "three-object": 3}
_DISTRACTORS = 2


def class_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Labels in two lists, scenes and texts of another list than their split's, and foils that do not fit their kind."""
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
    yield from _items(benchmark)


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


def _items(benchmark: Benchmark) -> Iterator[Finding]:
    rows, protocol = benchmark.candidates, labels(benchmark.tables["items"]["protocol"])
    kinds = labels(benchmark.tables["candidates"]["kind"])
    captions_are_labels = benchmark.manifest.get("texts", {}).get("train") is None
    asked = np.flatnonzero((protocol == "gzsl") | ((protocol == "train") & captions_are_labels))
    chosen = np.flatnonzero(np.isin(rows.item, asked) & (rows.text >= 0) & (rows.scene >= 0))
    chosen = chosen[np.argsort(rows.item[chosen], kind="stable")]
    for group in np.split(chosen, np.flatnonzero(np.diff(rows.item[chosen])) + 1):
        if not len(group):
            continue
        item = int(rows.item[group[0]])
        told: list[tuple[str, Label]] = []
        true: list[Label] = []
        zero_shot: list[Label] = []
        for row in group.tolist():
            label = _label(benchmark.meanings[rows.text[row]], benchmark.held_out)
            if rows.truth[row]:
                true.append(label)
            elif rows.slot[row] == "zsl":
                zero_shot.append(label)
            else:
                told.append((str(kinds[row]), label))
        true = list(dict.fromkeys(true))  # the zero-shot question repeats the label
        own = {*benchmark.held_out.labels.get(LIST_OF.get(benchmark.item_split[item], ""), ())}
        asks = protocol[item] == "gzsl"
        shown = benchmark.shown[rows.scene[group[0]]]
        for fault in _item_faults(true, told, zero_shot, own, shown, benchmark.held_out, asks):
            yield finding("wrong label", f"item {benchmark.item_id(item)}: {fault}")


def _label(meaning: Meaning | None, held_out: HeldOut) -> Label:
    """The label that a text names; () if it is not a label."""
    if (
        meaning is None
        or meaning.denied
        or meaning.environment
        or any(thing.without or thing.number != 1 for thing in meaning.things)
    ):
        return ()
    ends = [thing.category or "" for thing in meaning.things]
    if held_out.task == "relational":
        bare = len(ends) == 2 and len(meaning.links) == 1 and not any(thing.attributes for thing in meaning.things)
        s, name, o, holds = meaning.links[0] if meaning.links else (0, "", 0, False)
        return (ends[s], name, ends[o]) if bare and holds else ()
    pairs = meaning.things[0].attributes
    bound = len(ends) == 1 and not meaning.links and len(pairs) == 1 and pairs[0][0] == held_out.kind
    return (pairs[0][1], ends[0]) if bound else ()


def _item_faults(
    true: Sequence[Label],
    told: Sequence[tuple[str, Label]],
    zero_shot: Sequence[Label],
    own: set[Label],
    shown: SceneGeometry,
    held_out: HeldOut,
    asks: bool,
) -> Iterator[str]:
    if len(true) != 1 or true[0] not in own:
        yield f"its true texts are {_words(true)}, not one label of its split's list"
        return
    if not asks:
        if told:
            yield "a training example of class lists has no false texts"
        return
    (truth,) = true
    if held_out.task == "single":
        others = {label for each in held_out.labels.values() for label in each} - {truth}
        if sorted(label for _, label in told) != sorted(others):
            yield f"its {len(told)} false texts are not the {len(others)} other labels"
        return
    hard = _hard(truth, shown, held_out)
    for kind, expected in hard.items():
        given = sorted(each for of, each in told if of == kind)
        if given != expected:
            yield f"its hard negatives of the kind {kind} are {_words(given)}, expected {_words(expected)}"
    drawn = [label for kind, label in told if kind not in hard]
    if len(drawn) != _DISTRACTORS or len({*drawn}) != len(drawn):
        yield f"it has the distractors {_words(drawn)}, expected {_DISTRACTORS} different ones"
    for label in drawn:
        if label not in own:
            yield f"its distractor {_words([label])} is no label of its split's list"
        elif label in (truth, *chain(*hard.values())):
            yield f"its distractor {_words([label])} is the truth or a hard negative"
    for label in zero_shot:
        if label not in own or label == truth:
            yield f"its zero-shot label {_words([label])} is the truth or no label of its split's list"
        elif label not in (*drawn, *chain(*hard.values())):
            yield f"its zero-shot label {_words([label])} is not among its other wrong labels"


def _hard(truth: Label, shown: SceneGeometry, held_out: HeldOut) -> dict[str, list[Label]]:
    """The expected hard negatives of a label by kind, sorted: of bindings one of each kind for each other object."""
    if held_out.task == "relational":
        subject, name, thing = truth
        return {"flip": [(subject, held_out.opposites[name], thing)], "order": [(thing, name, subject)]}
    value, thing = truth
    objects = [(values.get(held_out.kind, ""), category) for category, values in shown.objects]
    others = [each for each in objects if each != truth]
    return {
        held_out.kind: sorted((other, thing) for other, _ in others),
        held_out.category: sorted((value, other) for _, other in others),
    }


def _words(found: Sequence[Label]) -> str:
    return " and ".join(f"'{' '.join(label)}'" if label else "no label" for label in found) or "missing"
