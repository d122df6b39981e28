"""Counts of a benchmark: questions and their texts, and the atoms and compounds that captions name
(CREPE, appendix A)."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from generator.base.files import check_shape, read_toml
from generator.dataset.reader import Benchmark, World
from generator.dataset.records import RAW
from generator.dataset.relations import converse_of

TRAIN = "train"
_COUNTS = ("n_objects", "n_attributes", "n_relations")
Name = tuple[str, ...]
"""An atom: (kind, value), (category word, category) or ("relation", relation). A compound: (value,
category) or (category, relation, category); of a triple and its converse, the alphabetically
first."""


class Vocabulary(TypedDict):
    """The key of vocabulary.toml that is read here."""

    category: str


def vocabulary_of(world: World) -> Vocabulary:
    """The vocabulary of a world. Raises UserError where its file is damaged."""
    path = world.path("vocabulary.toml")
    found: Vocabulary = read_toml(path, "vocabulary")  # type: ignore[assignment]
    check_shape(found, Vocabulary, path)
    return found


def count_benchmark(benchmark: Benchmark, vocabulary: Vocabulary) -> dict[str, Any]:
    """Counts of a benchmark, ready for JSON.

    `questions` (CREPE, tables 4 and 5): count_questions by protocol, kind and split. `names` (table
    7):
    for each protocol and split the numbers of distinct atoms and compounds that captions name, and
    of
    those that no training caption names. `atoms` (figure 4): for each protocol and atom the number
    of
    captions of each split, and of training, that name it. A caption counts once for each image.

    `names` and `atoms` count captions with foils: CREPE's are of the hard negative sets (appendix
    A.6),
    not of raw retrieval.
    """
    texts = benchmark.texts
    names = {
        text_id: _names(json.loads(form), vocabulary)
        for text_id, form in zip(
            texts["text_id"].to_pylist(), texts["form"].to_pylist(), strict=True
        )
        if form is not None
    }
    columns = (
        benchmark.items[name].to_pylist() for name in ("item_id", "protocol", "kind", "split")
    )
    place_of = {
        item_id: (str(protocol), str(split))
        for item_id, protocol, kind, split in zip(*columns, strict=True)
        if kind != RAW
    }
    captions: dict[str, dict[str, set[tuple[str, str]]]] = defaultdict(lambda: defaultdict(set))
    for item_id, scene, text_id, truth in _candidates(benchmark):
        if truth and item_id in place_of:
            protocol, split = place_of[item_id]
            captions[protocol][split].add((scene, text_id))
    trained = captions.pop(TRAIN, {TRAIN: set()})
    counted = {TRAIN: _named(trained, names)}
    for protocol, of_protocol in sorted(captions.items()):
        counted[protocol] = _named({**trained, **of_protocol}, names)
        counted[protocol]["names"] = [
            row for row in counted[protocol]["names"] if row["split"] != TRAIN
        ]
    return {
        "benchmark": benchmark.name,
        "questions": count_questions(benchmark, [("protocol", "kind", "split")]),
        **{
            part: [
                {"protocol": protocol, **row}
                for protocol, found in counted.items()
                for row in found[part]
            ]
            for part in ("names", "atoms")
        },
    }


def count_questions(
    benchmark: Benchmark, groupings: Sequence[Sequence[str]]
) -> list[dict[str, Any]]:
    """Count the questions of a benchmark. For each grouping (a sequence of labels), returns a row
    for each combination of their values. Labels: protocol, kind, skill, split, and level and n (the
    number of atoms) of the caption.

    A row has its labels and the numbers of `items`, of their distinct `captions` (once for each
    image) and of their
    `false_texts`; and `set_size`, the number of candidates of an item, None if items differ. Only
    slots c and n count.
    Items of training are skipped.
    """
    columns = ("item_id", "protocol", "kind", "skill", "split")
    items = {
        item_id: {"protocol": protocol, "kind": kind, "skill": skill, "split": split}
        for item_id, protocol, kind, skill, split in zip(
            *(benchmark.items[name].to_pylist() for name in columns), strict=True
        )
        if protocol != TRAIN
    }
    told: dict[str, set[tuple[str, str]]] = defaultdict(set)
    sizes: dict[str, Counter[bool]] = defaultdict(Counter)
    for item_id, scene, text_id, truth in _candidates(benchmark):
        sizes[item_id][truth] += 1
        if truth:
            told[item_id].add((scene, text_id))
    graded = _graded(benchmark)
    counted = [
        (tuple(by), defaultdict[tuple[object, ...], _Questions](_Questions)) for by in groupings
    ]
    for item_id, labels in items.items():
        captions = told[item_id]
        known = {**labels, **(graded[min(captions)[1]] if captions else {"level": None, "n": None})}
        for by, found in counted:
            found[tuple(known[name] for name in by)].add(captions, sizes[item_id])
    return [
        {**dict(zip(by, of, strict=True)), **each.to_dict()}
        for by, found in counted
        for of, each in sorted(found.items(), key=lambda pair: tuple(map(str, pair[0])))
    ]


def _candidates(benchmark: Benchmark) -> Iterator[tuple[str, str, str, bool]]:
    """Yields item, scene, text and truth of all candidates in the slots c (captions) and n
    (foils)."""
    columns = ("item_id", "scene_id", "text_id", "truth", "slot")
    for *found, slot in zip(
        *(benchmark.candidates[name].to_pylist() for name in columns), strict=True
    ):
        if slot in ("c", "n"):
            item_id, scene, text_id, truth = found
            yield item_id, scene, text_id, truth


def _graded(benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """The level and the number of atoms of each text; None where they are unknown."""
    columns = [benchmark.texts[name].to_pylist() for name in ("text_id", "level", *_COUNTS)]
    return {
        text_id: {"level": level, "n": None if None in counts else sum(counts)}
        for text_id, level, *counts in zip(*columns, strict=True)
    }


class _Questions:
    def __init__(self) -> None:
        self._captions: set[tuple[str, str]] = set()
        self._items, self._false = 0, 0
        self._sizes: set[int] = set()

    def add(self, captions: set[tuple[str, str]], size: Mapping[bool, int]) -> None:
        self._items += 1
        self._captions |= captions
        self._false += size.get(False, 0)
        self._sizes.add(size.get(True, 0) + size.get(False, 0))

    def to_dict(self) -> dict[str, int | None]:
        size = next(iter(self._sizes)) if len(self._sizes) == 1 else None
        return {
            "items": self._items,
            "captions": len(self._captions),
            "false_texts": self._false,
            "set_size": size,
        }


def _named(
    captions: Mapping[str, set[tuple[str, str]]],
    names: Mapping[str, tuple[frozenset[Name], frozenset[Name]]],
) -> dict[str, Any]:
    counts: dict[str, tuple[Counter[Name], Counter[Name]]] = {}
    for split, told in captions.items():
        counts[split] = (Counter(), Counter())
        for _, text_id in told:
            for counter, found in zip(
                counts[split], names.get(text_id, (frozenset(), frozenset())), strict=True
            ):
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
        {
            "atom": " ".join(atom),
            "captions": {split: counts[split][0][atom] for split in sorted(counts)},
        }
        for atom in every
    ]
    return {"names": rows, "atoms": frequencies}


def _names(
    form: Mapping[str, Any], vocabulary: Vocabulary
) -> tuple[frozenset[Name], frozenset[Name]]:
    """The atoms and the compounds that a form names, asserted or denied."""
    return frozenset(_atoms(form, vocabulary)), frozenset(_compounds(form))


def _atoms(form: Mapping[str, Any], vocabulary: Vocabulary) -> Iterator[Name]:
    for thing in form["objects"]:
        if thing["category"] is not None:
            yield vocabulary["category"], thing["category"]
        yield from thing["attributes"].items()
        yield from thing.get("without", {}).items()
    for _, relation, *_ in form.get("relations", ()):
        yield "relation", relation


def _compounds(form: Mapping[str, Any]) -> Iterator[Name]:
    categories = [thing["category"] for thing in form["objects"]]
    for thing in form["objects"]:
        if thing["category"] is not None:
            yield from ((value, thing["category"]) for value in thing["attributes"].values())
    for subject, relation, other, *_ in form.get("relations", ()):
        if categories[subject] is not None and categories[other] is not None:
            compound = categories[subject], relation, categories[other]
            converse = converse_of(relation)
            if converse is None:
                yield compound
            else:
                yield min(compound, (categories[other], converse, categories[subject]))
