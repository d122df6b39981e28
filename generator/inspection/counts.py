"""What a benchmark counts: questions and their texts, and the atoms and compounds that captions name (CREPE, appendix A)."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from generator.dataset.reader import Benchmark
from generator.vocabulary.schema import Vocabulary

TRAIN = "train"
Name = tuple[str, ...]
"""An atom: (kind, value), (category word, category) or ("relation", relation). A compound: (value, category) or (category,
relation, category), of a relation and its converse the first in alphabetical order."""


def count_benchmark(benchmark: Benchmark, vocabulary: Vocabulary) -> dict[str, Any]:
    """Counts of a benchmark, ready for JSON.

    `questions` (CREPE, tables 4 and 5): by protocol, kind and split the items, their different captions (slot c), their
    false texts, and the texts that an image is asked against; None where items differ. `names` (table 7): by split the
    different atoms and compounds that captions name, and how many of them no training caption names. `atoms` (figure 4):
    of each atom the captions of each split that name it. Captions are counted once for each image.
    """
    texts = benchmark.texts
    names = {
        text_id: _names(json.loads(form), vocabulary)
        for text_id, form in zip(texts["text_id"].to_pylist(), texts["form"].to_pylist(), strict=True)
        if form is not None
    }
    item_columns = ("item_id", "protocol", "kind", "split")
    items = {
        item_id: (str(protocol), str(kind), str(split))
        for item_id, protocol, kind, split in zip(
            *(benchmark.items[name].to_pylist() for name in item_columns), strict=True
        )
    }
    captions: dict[str, set[tuple[str, str]]] = defaultdict(set)
    questions: dict[tuple[str, str, str], _Questions] = defaultdict(_Questions)
    sizes: dict[str, Counter[bool]] = defaultdict(Counter)
    columns = ("item_id", "scene_id", "text_id", "slot", "truth")
    for item_id, scene, text_id, slot, truth in zip(
        *(benchmark.candidates[name].to_pylist() for name in columns), strict=True
    ):
        if item_id in items and slot in ("c", "n"):
            sizes[item_id][truth] += 1
            if truth:
                captions[items[item_id][2]].add((scene, text_id))
                questions[items[item_id]].captions.add((scene, text_id))
    for item_id, of in items.items():
        questions[of].add(sizes[item_id])
    return {
        "benchmark": benchmark.name,
        "questions": [
            {"protocol": protocol, "kind": kind, "split": split, **each.to_dict()}
            for (protocol, kind, split), each in sorted(questions.items())
            if protocol != TRAIN
        ],
        **_named(captions, names),
    }


class _Questions:
    def __init__(self) -> None:
        self.captions: set[tuple[str, str]] = set()
        self._items, self._false = 0, 0
        self._sizes: set[int] = set()

    def add(self, size: Mapping[bool, int]) -> None:
        self._items += 1
        self._false += size.get(False, 0)
        self._sizes.add(size.get(True, 0) + size.get(False, 0))

    def to_dict(self) -> dict[str, int | None]:
        size = next(iter(self._sizes)) if len(self._sizes) == 1 else None
        return {"items": self._items, "captions": len(self.captions), "false_texts": self._false, "set_size": size}


def _named(
    captions: Mapping[str, set[tuple[str, str]]], names: Mapping[str, tuple[frozenset[Name], frozenset[Name]]]
) -> dict[str, Any]:
    counts: dict[str, tuple[Counter[Name], Counter[Name]]] = {}
    for split, told in captions.items():
        counts[split] = (Counter(), Counter())
        for _, text_id in told:
            for counter, found in zip(counts[split], names.get(text_id, (frozenset(), frozenset())), strict=True):
                counter.update(found)
    shown = counts.get(TRAIN, (Counter(), Counter()))
    rows = [
        {
            "split": split,
            "captions": len(captions[split]),
            "atoms": len(atoms),
            "atoms_not_in_training": len(atoms.keys() - shown[0].keys()),
            "compounds": len(compounds),
            "compounds_not_in_training": len(compounds.keys() - shown[1].keys()),
        }
        for split, (atoms, compounds) in sorted(counts.items())
    ]
    every = sorted({atom for atoms, _ in counts.values() for atom in atoms})
    frequencies = [
        {"atom": " ".join(atom), "captions": {split: counts[split][0][atom] for split in sorted(counts)}}
        for atom in every
    ]
    return {"names": rows, "atoms": frequencies}


def _names(form: Mapping[str, Any], vocabulary: Vocabulary) -> tuple[frozenset[Name], frozenset[Name]]:
    """The atoms and the compounds that a form names, asserted or denied."""
    return frozenset(_atoms(form, vocabulary)), frozenset(_compounds(form, vocabulary))


def _atoms(form: Mapping[str, Any], vocabulary: Vocabulary) -> Iterator[Name]:
    for thing in form["objects"]:
        if thing["category"] is not None:
            yield vocabulary.category, thing["category"]
        yield from thing["attributes"].items()
        yield from thing.get("without", {}).items()
    for _, relation, _, _ in form.get("relations", ()):
        yield "relation", relation


def _compounds(form: Mapping[str, Any], vocabulary: Vocabulary) -> Iterator[Name]:
    categories = [thing["category"] for thing in form["objects"]]
    for thing in form["objects"]:
        if thing["category"] is not None:
            yield from ((value, thing["category"]) for value in thing["attributes"].values())
    for subject, relation, other, _ in form.get("relations", ()):
        if categories[subject] is not None and categories[other] is not None:
            said = categories[subject], relation, categories[other]
            back = categories[other], vocabulary.relations[relation].converse, categories[subject]
            yield min(said, back)
