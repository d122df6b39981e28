"""Rows of labels as a task: each distinct label is read once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generator.dataset.errors import UserError, did_you_mean
from generator.judge.foreign.columns import Columns
from generator.judge.foreign.labels import UnreadableLabelError, plain, read_label, said_of, thing_of, words_of
from generator.judge.foreign.relations import relation_name
from generator.judge.foreign.task import Task
from generator.judge.meaning import Said, Thing

_TRAINING = ("train", "training")


@dataclass(frozen=True)
class Marks:
    """What the user says of splits: the ones that train (None: those called train), and those meant to show the same."""

    training: tuple[str, ...] | None = None
    familiar: tuple[str, ...] = ()

    def of(self, splits: list[str], where: str) -> tuple[frozenset[str], frozenset[str]]:
        """The training and the familiar ones of some splits. Raises UserError where one that is named is not there."""
        for option, names in (("--train", self.training or ()), ("--familiar", self.familiar)):
            for name in names:
                if name not in splits:
                    raise UserError(f"{option} {name}: {where} has no such split; {did_you_mean(name, splits)}")
        training = [name for name in splits if name.casefold() in _TRAINING] if self.training is None else self.training
        return frozenset(training), frozenset(self.familiar)


class _Said:
    """The distinct labels met so far; case and spaces do not tell labels apart."""

    def __init__(self) -> None:
        self.place: dict[tuple[str, Said], int] = {}
        self.unreadable: list[str] = []

    def add(self, read: Callable[[], tuple[Said, str]]) -> int:
        """The place of a label, -1 where it cannot be read."""
        try:
            said, words = read()
        except UnreadableLabelError as error:
            self.unreadable.append(str(error))
            return -1
        return self.place.setdefault((words, said), len(self.place))

    @property
    def said(self) -> list[Said]:
        """What the labels say, by place."""
        return [said for _, said in self.place]

    @property
    def words(self) -> list[str]:
        """The words of the labels, by place."""
        return [words for words, _ in self.place]


def table_task(name: str, table: pa.Table, columns: Columns, marks: Marks, unit: str, start: int) -> Task:
    """The task of a table of strings."""
    said = _Said()
    label = _in_words(table[columns.label], said) if columns.label else _in_parts(table, columns, said)
    negatives = [_in_words(table[column], said) for column in columns.negatives]
    split, splits = _coded(table[columns.split]) if columns.split else (np.zeros(len(table), np.int64), ["all"])
    image, images = _coded(table[columns.image]) if columns.image else (None, [])
    training, familiar = marks.of(splits, name)
    return Task(
        name, said.said, said.words, label, splits, split,
        np.stack(negatives, axis=1) if negatives else np.zeros((len(table), 0), np.int64),
        image, images, said.unreadable, training, familiar, unit, start,
    )  # fmt: skip


def _coded(column: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    """A column by the place of each value among the distinct ones, -1 for null, in the order of appearance."""
    distinct = pc.unique(column.drop_null())
    codes = pc.fill_null(pc.index_in(column, value_set=distinct), -1)
    return np.asarray(codes.to_numpy(), np.int64), distinct.to_pylist()


def _in_words(column: pa.ChunkedArray, said: _Said) -> np.ndarray:
    codes, texts = _coded(column)
    places = [said.add(lambda text=text: (read_label(text), plain(text))) for text in texts]  # type: ignore[misc]
    return np.array([*places, -1], np.int64)[codes]


def _in_parts(table: pa.Table, columns: Columns, said: _Said) -> np.ndarray:
    """The labels of rows that name their things column by column."""
    parts = [_coded(table[column]) for column in columns.said]
    code = np.zeros(len(table), np.int64)
    for codes, distinct in parts:
        _, code = np.unique(code * (len(distinct) + 1) + codes + 1, return_inverse=True)
    _, first, back = np.unique(code, return_index=True, return_inverse=True)
    cells = [[None if codes[row] < 0 else distinct[codes[row]] for row in first.tolist()] for codes, distinct in parts]
    places = [said.add(lambda row=row: _said_by(columns, iter(row))) for row in zip(*cells, strict=True)]  # type: ignore[misc]
    return np.array(places, np.int64)[back] if len(places) else code


def _said_by(columns: Columns, cells: Any) -> tuple[Said, str]:
    """A label from the cells of its row, in the order of `columns.said`."""
    things: list[Thing] = []
    for _, values in columns.things:
        category = next(cells)
        pairs = sorted((kind, plain(cell)) for kind, _ in values if (cell := next(cells)))
        if category:
            things.append(Thing(plain(category), tuple(pairs)))
    relation = next(cells) if columns.relation else None
    if not things:
        raise UnreadableLabelError("a row names no object")
    said = said_of(things, [(0, relation_name(relation), 1, True)] if relation and len(things) > 1 else [])
    return said, words_of(said)


def listed_task(name: str, data: Mapping[str, Sequence[Any]], marks: Marks, where: str) -> Task:
    """The task of labels by split: each a text, or a list of things, or thing, relation, thing."""
    said = _Said()
    rows = [(split, label) for split, labels in data.items() for label in labels]
    lists = [label for _, label in rows if isinstance(label, list)]
    linked = _are_triples(lists)
    for _, label in rows:
        if not (isinstance(label, str) or (isinstance(label, list) and all(isinstance(part, str) for part in label))):
            raise UserError(
                f"{where}, task '{name}': expected every label to be a text such as \"red cube\" or a list of them, got "
                f"{str(label)[:60]}."
            )
    places = [said.add(lambda label=label: _listed(label, linked)) for _, label in rows]  # type: ignore[misc]
    splits = list(data)
    training, familiar = marks.of(splits, name)
    return Task(
        name, said.said, said.words, np.array(places, np.int64), splits,
        np.array([splits.index(split) for split, _ in rows], np.int64), np.zeros((len(rows), 0), np.int64), None, [],
        said.unreadable, training, familiar, "label", 1,
    )  # fmt: skip


def _are_triples(lists: list[Any]) -> bool:
    """Whether all lists are thing, relation, thing: no middle is ever a thing."""
    if not lists or any(len(label) != 3 for label in lists):
        return False
    ends = {plain(str(label[n])) for label in lists for n in (0, 2)}
    return ends.isdisjoint(plain(str(label[1])) for label in lists)


def _listed(label: str | list[str], linked: bool) -> tuple[Said, str]:
    if isinstance(label, str):
        return read_label(label), plain(label)
    if linked:
        said = said_of([thing_of(label[0]), thing_of(label[2])], [(0, relation_name(label[1]), 1, True)])
    else:
        said = said_of(map(thing_of, label))
    return said, words_of(said)
