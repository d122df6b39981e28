"""Counts of a benchmark: questions and their texts, and the atoms and compounds that captions name
(CREPE, appendix A)."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

from generator.base.files import check_shape, read_toml
from generator.dataset.reader import Benchmark, World
from generator.dataset.records import RAW, TRAIN
from generator.dataset.relations import converse_of

_COUNTS = ("n_objects", "n_attributes", "n_relations")
"""The columns of texts.parquet whose sum is the number of atoms of a text."""
_LABELS_OF_ITEM = ["item_id", "protocol", "kind", "skill", "split"]
"""The columns of items.parquet by which questions are counted, and the item's id."""
Name = tuple[str, ...]
"""An atom: (kind, value), (category word, category) or ("relation", relation). A compound: (value,
category) or (category, relation, category); of a triple and its converse, the alphabetically
first."""
Caption = tuple[str, str]
"""scene_id and text_id: a text counts once for each image."""


class VocabularyRecord(TypedDict):
    """The key of vocabulary.toml that is read here."""

    category: str
    """The vocabulary's word for categories, such as shape."""


class _Names(NamedTuple):
    """What a text names, asserted or denied."""

    atoms: frozenset[Name]
    """Values, categories and relations."""
    compounds: frozenset[Name]
    """Values of categories, and relations between categories."""


_NO_NAMES = _Names(frozenset(), frozenset())
"""Of a text without a form, such as an imported one."""


def read_vocabulary_record(world: World) -> VocabularyRecord:
    """Read the vocabulary of a world.

    Args:
        world: The world.

    Returns:
        The part of vocabulary.toml that counting needs.

    Raises:
        UserError: The file is damaged.
    """
    path = world.path("vocabulary.toml")
    vocabulary: VocabularyRecord = read_toml(path, "vocabulary")  # type: ignore[assignment]
    check_shape(vocabulary, VocabularyRecord, path)
    return vocabulary


def count_benchmark(benchmark: Benchmark, vocabulary: VocabularyRecord) -> dict[str, Any]:
    """Count the questions of a benchmark, and what its captions name.

    `names` and `atoms` count captions with foils: CREPE's are of the hard negative sets (appendix
    A.6), not of raw retrieval.

    Args:
        benchmark: The benchmark.
        vocabulary: That of its world.

    Returns:
        Counts that are ready for JSON:

        - `benchmark`: its name.
        - `questions` (CREPE, tables 4 and 5): `count_questions` by protocol, kind and split.
        - `names` (table 7): for each protocol and split the numbers of distinct atoms and compounds
          that captions name, and of those that no training caption names.
        - `atoms` (figure 4): for each protocol and atom the number of captions of each split, and
          of training, that name it.

    Raises:
        UserError: A table of the benchmark is damaged.
    """
    names_of_text = _names_of_texts(benchmark, vocabulary)
    # Captions are read once and counted by protocol, since table 7 and figure 4 are about each
    # protocol.
    captions = _captions_with_foils(benchmark)
    training = captions.pop(TRAIN, {TRAIN: set()})

    counts = {TRAIN: _count_names(training, names_of_text)}
    for protocol, captions_of_split in sorted(captions.items()):
        counts[protocol] = _count_names({**training, **captions_of_split}, names_of_text)
        # Training was counted along for comparison, and has a row of its own already.
        rows = counts[protocol]["names"]
        counts[protocol]["names"] = [row for row in rows if row["split"] != TRAIN]

    result: dict[str, Any] = {
        "benchmark": benchmark.name,
        "questions": count_questions(benchmark, [("protocol", "kind", "split")]),
    }
    for part in ("names", "atoms"):
        result[part] = []
        for protocol, counts_of_protocol in counts.items():
            for row in counts_of_protocol[part]:
                result[part].append({"protocol": protocol, **row})
    return result


def count_questions(
    benchmark: Benchmark, groupings: Sequence[Sequence[str]]
) -> list[dict[str, Any]]:
    """Count the questions of a benchmark. Items of training are skipped, and of the candidates only
    those in the slots c and n count.

    Args:
        benchmark: The benchmark.
        groupings: For each, the labels by which questions are counted: protocol, kind, skill,
            split, and level and n (the number of atoms) of the caption.

    Returns:
        For each grouping a row for each combination of its labels, sorted by them. A row has the
        labels and the numbers of `items`, of their distinct `captions` (once for each image) and of
        their `false_texts`; and `set_size`, the number of candidates of an item, None if items
        differ.

    Raises:
        UserError: A table of the benchmark is damaged.
    """
    captions_of_item: dict[str, set[Caption]] = defaultdict(set)
    candidates_by_truth: dict[str, Counter[bool]] = defaultdict(Counter)
    for item_id, scene, text_id, truth in _candidates(benchmark):
        candidates_by_truth[item_id][truth] += 1
        if truth:
            captions_of_item[item_id].add((scene, text_id))

    # One pass over the items counts them for all groupings.
    labels_of_text = _labels_of_texts(benchmark)
    tallies = [defaultdict[tuple[object, ...], _Tally](_Tally) for _ in groupings]
    for item_id, labels in _labels_of_items(benchmark).items():
        captions = captions_of_item[item_id]
        if captions:
            # The first caption stands for all captions of an item.
            _, text_id = min(captions)
            labels = {**labels, **labels_of_text[text_id]}
        else:
            labels = {**labels, "level": None, "n": None}
        for grouping, tally_by_values in zip(groupings, tallies, strict=True):
            values = tuple(labels[label] for label in grouping)
            tally_by_values[values].add(captions, candidates_by_truth[item_id])

    rows = []
    for grouping, tally_by_values in zip(groupings, tallies, strict=True):
        # None and numbers are sorted among texts.
        for values in sorted(tally_by_values, key=lambda values: tuple(map(str, values))):
            labels = dict(zip(grouping, values, strict=True))
            rows.append({**labels, **tally_by_values[values].to_dict()})
    return rows


def _labels_of_items(benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """Protocol, kind, skill and split of each item that is not of training."""
    labels_of_item: dict[str, dict[str, Any]] = {}
    for item in benchmark.items.select(_LABELS_OF_ITEM).to_pylist():
        item_id = item.pop("item_id")
        if item["protocol"] != TRAIN:
            labels_of_item[item_id] = item
    return labels_of_item


def _captions_with_foils(benchmark: Benchmark) -> dict[str, dict[str, set[Caption]]]:
    """The captions of each protocol and split, without those of raw retrieval."""
    names = ("item_id", "protocol", "kind", "split")
    columns = [benchmark.items[name].to_pylist() for name in names]
    place_of_item = {}
    for item_id, protocol, kind, split in zip(*columns, strict=True):
        if kind != RAW:
            place_of_item[item_id] = (str(protocol), str(split))

    captions: dict[str, dict[str, set[Caption]]] = defaultdict(lambda: defaultdict(set))
    for item_id, scene, text_id, truth in _candidates(benchmark):
        if truth and item_id in place_of_item:
            protocol, split = place_of_item[item_id]
            captions[protocol][split].add((scene, text_id))
    return captions


def _candidates(benchmark: Benchmark) -> Iterator[tuple[str, str, str, bool]]:
    """Yield item, scene, text and truth of all candidates in the slots c (captions) and n
    (foils)."""
    names = ("slot", "item_id", "scene_id", "text_id", "truth")
    columns = [benchmark.candidates[name].to_pylist() for name in names]
    for slot, item_id, scene, text_id, truth in zip(*columns, strict=True):
        if slot in ("c", "n"):
            yield item_id, scene, text_id, truth


def _labels_of_texts(benchmark: Benchmark) -> dict[str, dict[str, Any]]:
    """The level and the number of atoms of each text; None where they are unknown."""
    labels_of_text = {}
    for text in benchmark.texts.select(["text_id", "level", *_COUNTS]).to_pylist():
        counts = [text[name] for name in _COUNTS]
        n_atoms = None if None in counts else sum(counts)
        labels_of_text[text["text_id"]] = {"level": text["level"], "n": n_atoms}
    return labels_of_text


class _Tally:
    """Counts questions with the same labels."""

    def __init__(self) -> None:
        self._captions: set[Caption] = set()
        self._items = 0
        self._false_texts = 0
        self._sizes: set[int] = set()

    def add(self, captions: set[Caption], candidates_by_truth: Mapping[bool, int]) -> None:
        self._items += 1
        self._captions |= captions
        self._false_texts += candidates_by_truth.get(False, 0)
        self._sizes.add(sum(candidates_by_truth.values()))

    def to_dict(self) -> dict[str, int | None]:
        is_same_size = len(self._sizes) == 1
        return {
            "items": self._items,
            "captions": len(self._captions),
            "false_texts": self._false_texts,
            "set_size": next(iter(self._sizes)) if is_same_size else None,
        }


def _count_names(
    captions_of_split: Mapping[str, set[Caption]], names_of_text: Mapping[str, _Names]
) -> dict[str, Any]:
    """The rows `names` and `atoms` of a protocol, whose splits include training."""
    # How many captions of each split name each atom and compound.
    atom_counts: dict[str, Counter[Name]] = defaultdict(Counter)
    compound_counts: dict[str, Counter[Name]] = defaultdict(Counter)
    for split, captions in captions_of_split.items():
        for _, text_id in captions:
            names = names_of_text.get(text_id, _NO_NAMES)
            atom_counts[split].update(names.atoms)
            compound_counts[split].update(names.compounds)

    # Table 7: how many different ones, and how many of them are new to a model.
    splits = sorted(captions_of_split)
    training_atoms = atom_counts[TRAIN].keys()
    training_compounds = compound_counts[TRAIN].keys()
    rows = []
    for split in splits:
        atoms = atom_counts[split].keys()
        compounds = compound_counts[split].keys()
        rows.append(
            {
                "split": split,
                "captions": len(captions_of_split[split]),
                "atoms": len(atoms),
                "atoms_not_in_training": len(atoms - training_atoms),
                "compounds": len(compounds),
                "compounds_not_in_training": len(compounds - training_compounds),
            }
        )

    # Figure 4: how often each atom is named.
    atoms_of_all: set[Name] = set()
    for counter in atom_counts.values():
        atoms_of_all |= counter.keys()
    frequencies = []
    for atom in sorted(atoms_of_all):
        by_split = {split: atom_counts[split][atom] for split in splits}
        frequencies.append({"atom": " ".join(atom), "captions": by_split})
    return {"names": rows, "atoms": frequencies}


def _names_of_texts(benchmark: Benchmark, vocabulary: VocabularyRecord) -> dict[str, _Names]:
    """What each text with a form names, by text_id."""
    text_ids = benchmark.texts["text_id"].to_pylist()
    forms = benchmark.texts["form"].to_pylist()
    names_of_text = {}
    for text_id, json_form in zip(text_ids, forms, strict=True):
        if json_form is not None:
            form = json.loads(json_form)
            atoms = frozenset(_atoms(form, vocabulary))
            compounds = frozenset(_compounds(form))
            names_of_text[text_id] = _Names(atoms, compounds)
    return names_of_text


def _atoms(form: Mapping[str, Any], vocabulary: VocabularyRecord) -> Iterator[Name]:
    """The atoms that a form names; a name that it denies is one too."""
    for obj in form["objects"]:
        if obj["category"] is not None:
            yield vocabulary["category"], obj["category"]
        yield from obj["attributes"].items()
        yield from obj.get("without", {}).items()
    for _, relation, *_ in form.get("relations", ()):
        yield "relation", relation


def _compounds(form: Mapping[str, Any]) -> Iterator[Name]:
    """The compounds that a form names. A word for all categories, such as "object", makes none."""
    categories = [obj["category"] for obj in form["objects"]]
    for obj in form["objects"]:
        if obj["category"] is not None:
            for value in obj["attributes"].values():
                yield value, obj["category"]
    for first, relation, second, *_ in form.get("relations", ()):
        subject, other = categories[first], categories[second]
        if subject is None or other is None:
            continue
        compound = subject, relation, other
        converse = converse_of(relation)
        if converse is None:
            yield compound
        else:
            # "Cube left of cone" and "cone right of cube" are one compound.
            yield min(compound, (other, converse, subject))
