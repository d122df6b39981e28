"""Turns tables and lists of labels into tasks. Each distinct label is read once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generator.base.errors import UserError, did_you_mean
from generator.judge.foreign.column_roles import Columns
from generator.judge.foreign.labels import UnreadableLabelError, meaning_of, plain, read_label, thing_of, words_of
from generator.judge.foreign.relations import relation_name
from generator.judge.foreign.task import Task
from generator.judge.meaning import Meaning, Thing

_TRAINING = ("train", "training")


@dataclass(frozen=True)
class SplitRoles:
    """Which splits train (None: those called train or training), and which may show the same arrangements (`familiar`)."""

    training: tuple[str, ...] | None = None
    familiar: tuple[str, ...] = ()

    def of(self, splits: list[str], where: str) -> tuple[frozenset[str], frozenset[str]]:
        """The training and the familiar splits among `splits`. Raises UserError if a named one is not there."""
        for option, names in (("--train", self.training or ()), ("--familiar", self.familiar)):
            for name in names:
                if name not in splits:
                    raise UserError(f"{option} {name}: {where} has no such split; {did_you_mean(name, splits)}")
        training = [name for name in splits if name.casefold() in _TRAINING] if self.training is None else self.training
        return frozenset(training), frozenset(self.familiar)


class _Labels:
    """Collects distinct labels, ignoring case and spaces."""

    def __init__(self) -> None:
        self.place: dict[tuple[str, Meaning], int] = {}
        self.unreadable: list[str] = []

    def add(self, read: Callable[[], tuple[Meaning, str]]) -> int:
        """The index of a label, new or known; -1 if it cannot be read."""
        try:
            meaning, words = read()
        except UnreadableLabelError as error:
            self.unreadable.append(str(error))
            return -1
        return self.place.setdefault((words, meaning), len(self.place))

    @property
    def meanings(self) -> list[Meaning]:
        """The meanings of the labels, by index."""
        return [meaning for _, meaning in self.place]

    @property
    def words(self) -> list[str]:
        """The words of the labels, by index."""
        return [words for words, _ in self.place]


def table_task(name: str, table: pa.Table, columns: Columns, roles: SplitRoles, unit: str, start: int) -> Task:
    """The task of a table of strings. `unit`, `start`: what the file calls a row, and the first row's number."""
    distinct_labels = _Labels()
    label = (
        _in_words(table[columns.label], distinct_labels)
        if columns.label
        else _in_parts(table, columns, distinct_labels)
    )
    negatives = [_in_words(table[column], distinct_labels) for column in columns.negatives]
    split, splits = _coded(table[columns.split]) if columns.split else (np.zeros(len(table), np.int64), ["all"])
    image, images = _coded(table[columns.image]) if columns.image else (None, [])
    training, familiar = roles.of(splits, name)
    return Task(
        name, distinct_labels.meanings, distinct_labels.words, label, splits, split,
        np.stack(negatives, axis=1) if negatives else np.zeros((len(table), 0), np.int64),
        image, images, distinct_labels.unreadable, training, familiar, unit, start,
    )  # fmt: skip


def _coded(column: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    """A column as int64 indices into its distinct values, -1 for null; and these values in order of appearance."""
    distinct = pc.unique(column.drop_null())
    codes = pc.fill_null(pc.index_in(column, value_set=distinct), -1)
    return np.asarray(codes.to_numpy(), np.int64), distinct.to_pylist()


def _in_words(column: pa.ChunkedArray, distinct_labels: _Labels) -> np.ndarray:
    codes, texts = _coded(column)
    places = [distinct_labels.add(lambda text=text: (read_label(text), plain(text))) for text in texts]  # type: ignore[misc]
    return np.array([*places, -1], np.int64)[codes]


def _in_parts(table: pa.Table, columns: Columns, distinct_labels: _Labels) -> np.ndarray:
    """The labels of rows that have their objects in separate columns."""
    parts = [_coded(table[column]) for column in columns.label_columns]
    code = np.zeros(len(table), np.int64)
    for codes, distinct in parts:
        _, code = np.unique(code * (len(distinct) + 1) + codes + 1, return_inverse=True)
    _, first, back = np.unique(code, return_index=True, return_inverse=True)
    cells = [[None if codes[row] < 0 else distinct[codes[row]] for row in first.tolist()] for codes, distinct in parts]
    places = [distinct_labels.add(lambda row=row: _said_by(columns, iter(row))) for row in zip(*cells, strict=True)]  # type: ignore[misc]
    return np.array(places, np.int64)[back] if len(places) else code


def _said_by(columns: Columns, cells: Any) -> tuple[Meaning, str]:
    """A label from the cells of its row, in the order of `columns.label_columns`."""
    things: list[Thing] = []
    for _, values in columns.things:
        category = next(cells)
        pairs = sorted((kind, plain(cell)) for kind, _ in values if (cell := next(cells)))
        if category:
            things.append(Thing(plain(category), tuple(pairs)))
    relation = next(cells) if columns.relation else None
    if not things:
        raise UnreadableLabelError("a row names no object")
    meaning = meaning_of(things, [(0, relation_name(relation), 1, True)] if relation and len(things) > 1 else [])
    return meaning, words_of(meaning)


def listed_task(name: str, data: Mapping[str, Sequence[Any]], roles: SplitRoles, where: str) -> Task:
    """The task of labels by split. A label is a text, a list of objects, or a list of object, relation, object."""
    distinct_labels = _Labels()
    rows = [(split, label) for split, listed in data.items() for label in listed]
    lists = [label for _, label in rows if isinstance(label, list)]
    linked = _are_triples(lists)
    for _, label in rows:
        if not (isinstance(label, str) or (isinstance(label, list) and all(isinstance(part, str) for part in label))):
            raise UserError(
                f"{where}, task '{name}': expected every label to be a text such as \"red cube\" or a list of them, got "
                f"{str(label)[:60]}."
            )
    places = [distinct_labels.add(lambda label=label: _listed(label, linked)) for _, label in rows]  # type: ignore[misc]
    splits = list(data)
    training, familiar = roles.of(splits, name)
    return Task(
        name, distinct_labels.meanings, distinct_labels.words, np.array(places, np.int64), splits,
        np.array([splits.index(split) for split, _ in rows], np.int64), np.zeros((len(rows), 0), np.int64), None, [],
        distinct_labels.unreadable, training, familiar, "label", 1,
    )  # fmt: skip


def _are_triples(lists: list[Any]) -> bool:
    """Whether all lists are object, relation, object: no middle ever occurs at an end."""
    if not lists or any(len(label) != 3 for label in lists):
        return False
    ends = {plain(str(label[n])) for label in lists for n in (0, 2)}
    return ends.isdisjoint(plain(str(label[1])) for label in lists)


def _listed(label: str | list[str], linked: bool) -> tuple[Meaning, str]:
    if isinstance(label, str):
        return read_label(label), plain(label)
    if linked:
        meaning = meaning_of([thing_of(label[0]), thing_of(label[2])], [(0, relation_name(label[1]), 1, True)])
    else:
        meaning = meaning_of(map(thing_of, label))
    return meaning, words_of(meaning)
