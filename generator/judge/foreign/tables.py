"""Tables and lists of labels as tasks: roles of columns, and rows with meaning, split, negatives and image."""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generator.base.errors import UserError, did_you_mean
from generator.judge.foreign.labels import (
    UnreadableLabelError,
    arrangement,
    meaning_of,
    plain,
    read_label,
    relation_name,
    thing_of,
    words_of,
)
from generator.judge.lexicon import PLACES
from generator.judge.meaning import Meaning, Thing


@dataclass(frozen=True, eq=False)
class Task:
    """The labels of a file, or of one task in it.

    `label`: int64 per row, index into `meanings` and `words`; -1 if it cannot be read. `split`, `image`: indices
    into `splits` and `images`; -1 for none. `negatives`: int64 [rows, negatives], like `label`. `training`,
    `familiar`: the splits that train, and those that may show the same arrangements. `unit`: what the file calls a
    row ("label" if it lists labels by split). `start`: the number of the first row. `texts`: the distinct texts of
    the file as they stand there, but for images.
    """

    name: str
    meanings: list[Meaning]
    words: list[str]
    label: np.ndarray
    splits: list[str]
    split: np.ndarray
    negatives: np.ndarray
    image: np.ndarray | None
    images: list[str]
    unreadable: list[str]
    training: frozenset[str]
    familiar: frozenset[str]
    unit: str
    start: int
    texts: tuple[str, ...] = ()

    def row(self, row: int) -> str:
        """Where to find a row, such as "train, line 12"."""
        split = self.splits[self.split[row]] if self.split[row] >= 0 else "no split"
        before = self._starts[self.split[row]] if self.unit == "label" else 0
        return f"{split}, {self.unit} {row - before + self.start}"

    @cached_property
    def _starts(self) -> list[int]:
        """The first row of each split, for files that list labels by split."""
        return [int(np.argmax(self.split == n)) for n in range(len(self.splits))]

    def quoted(self, label: int, row: int) -> str:
        """A label in quotes, and where to find a row that has it."""
        return f'"{self.words[label]}" ({self.row(row)})'

    @cached_property
    def shown(self) -> list[Meaning]:
        """The arrangement of each label."""
        return [arrangement(meaning) for meaning in self.meanings]

    @cached_property
    def arrangements(self) -> np.ndarray:
        """A number for each label; labels with equal numbers show the same arrangement."""
        return numbered(self.shown)

    @cached_property
    def trains(self) -> np.ndarray:
        """bool per row: whether it is in a training split."""
        return np.array([*(name in self.training for name in self.splits), False])[self.split]

    @cached_property
    def evaluates(self) -> np.ndarray:
        """bool per row: whether it is in an evaluation split."""
        return (self.split >= 0) & ~self.trains


def numbered(keys: Iterable[Hashable]) -> np.ndarray:
    """A number for each key, equal for equal keys."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def first_rows(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each distinct combination of columns (integers from -1), and how many rows have it."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, code = np.unique(code * (int(column.max(initial=0)) + 2) + column + 1, return_inverse=True)
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    return first, counts


_ALIASES = {
    "split": ("split",),
    "label": ("label", "caption"),
    "negative": ("negative", "negative_caption"),
    "image": ("image", "filename"),
    "relation": ("relation",),
}
_OBJECT = re.compile(rf"({'|'.join(PLACES)})(?:\.(\w+))?")
_ROLES = [*_ALIASES, *PLACES[:2], "first.KIND", "second.KIND"]


@dataclass(frozen=True)
class Columns:
    """The columns of a table, by role.

    A row has its label in words (`label`) or its objects one by one: `things` has, for each object, the column of its
    category and the (kind, column) pairs of its values; `relation` is the column of the relation from first to second.
    """

    split: str | None
    image: str | None
    label: str | None
    things: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    relation: str | None
    negatives: tuple[str, ...]

    @property
    def label_columns(self) -> list[str]:
        """The columns that describe what a row shows."""
        if self.label:
            return [self.label]
        things = [column for category, values in self.things for column in (category, *(name for _, name in values))]
        return [*things, *([self.relation] if self.relation else [])]

    @property
    def all(self) -> list[str]:
        """All columns to read."""
        wanted = [self.split, self.image, *self.label_columns, *self.negatives]
        return list(dict.fromkeys(name for name in wanted if name))


def parse_columns(option: Sequence[str]) -> list[tuple[str, str]]:
    """Parse (role, column) pairs such as `split=fold,first=animal,first.color=paint`.

    Raises UserError if an entry is not ROLE=COLUMN, or a role is unknown or named twice.
    """
    found: list[tuple[str, str]] = []
    for entry in (entry for text in option for entry in text.split(",")):
        role, equals, column = (part.strip() for part in entry.partition("="))
        if not (role and equals and column):
            raise UserError(
                f"Expected --columns to be ROLE=COLUMN,... such as split=fold,label=caption, got '{entry}'."
            )
        if role not in _ALIASES and not _OBJECT.fullmatch(role):
            raise UserError(f"--columns {entry}: unknown role '{role}'; {did_you_mean(role, _ROLES)}")
        if role != "negative" and role in dict(found):
            raise UserError(f"--columns names the role '{role}' twice; name one column for it.")
        found.append((role, column))
    return found


def choose_columns(named: Sequence[tuple[str, str]], there: Sequence[str], where: str) -> Columns:
    """Choose the columns of a table: named ones, and ones called like their role.

    `named`: (role, column) pairs. `there`: all columns. Raises UserError, which lists the columns, if one is missing.
    """
    listed = f"its columns are: {', '.join(there)}"
    for role, column in named:
        if column not in there:
            raise UserError(f"{where} has no column '{column}' for --columns {role}={column}; {listed}.")
    given = dict(named)
    called = {role: next((name for name in names if name in there), None) for role, names in _ALIASES.items()}
    role_of = {name: name for name in there if _OBJECT.fullmatch(name)} | {
        role: column for role, column in given.items() if _OBJECT.fullmatch(role)
    }
    things = [] if "label" in given else _things(role_of, where)
    label = given.get("label") or (None if things else called["label"])
    if not label and not things:
        raise UserError(
            f"{where} has no column 'label' or 'first'; name yours with --columns label=COLUMN, or "
            "first=COLUMN,second=COLUMN "
            f"for its objects; {listed}."
        )
    negatives = tuple(column for role, column in named if role == "negative")
    return Columns(
        given.get("split") or called["split"],
        given.get("image") or called["image"],
        label,
        tuple(things),
        None if label else given.get("relation") or called["relation"],
        negatives or ((called["negative"],) if called["negative"] else ()),
    )


def _things(role_of: dict[str, str], where: str) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    things: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    for n, place in enumerate(PLACES):
        values = [
            (match[2], column)
            for role, column in role_of.items()
            if (match := _OBJECT.fullmatch(role)) and match[1] == place and match[2]
        ]
        if place not in role_of and values:
            raise UserError(
                f"{where}: --columns {place}.{values[0][0]} names a value of the {place} object, and no column "
                "names that "
                f"object; add {place}=COLUMN."
            )
        if place in role_of:
            if n > len(things):
                raise UserError(f"{where}: --columns names a {place} object and no {PLACES[n - 1]} one; name it too.")
            things.append((role_of[place], tuple(sorted(values))))
    return things


_TRAINING = ("train", "training")


@dataclass(frozen=True)
class SplitRoles:
    """Which splits train (None: those called train or training), and which may show the same arrangements."""

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
        name,
        distinct_labels.meanings,
        distinct_labels.words,
        label,
        splits,
        split,
        np.stack(negatives, axis=1) if negatives else np.zeros((len(table), 0), np.int64),
        image,
        images,
        distinct_labels.unreadable,
        training,
        familiar,
        unit,
        start,
    )


def _coded(column: pa.ChunkedArray) -> tuple[np.ndarray, list[str]]:
    """A column as int64 indices into its distinct values, -1 for null; and these values in order of appearance."""
    distinct = pc.unique(column.drop_null())
    codes = pc.fill_null(pc.index_in(column, value_set=distinct), -1)
    return np.asarray(codes.to_numpy(), np.int64), distinct.to_pylist()


def _in_words(column: pa.ChunkedArray, distinct_labels: _Labels) -> np.ndarray:
    codes, texts = _coded(column)
    places = [
        distinct_labels.add(lambda text=text: (read_label(text), plain(text)))  # type: ignore[misc]
        for text in texts
    ]
    return np.array([*places, -1], np.int64)[codes]


def _in_parts(table: pa.Table, columns: Columns, distinct_labels: _Labels) -> np.ndarray:
    """The labels of rows that have their objects in separate columns."""
    parts = [_coded(table[column]) for column in columns.label_columns]
    code = np.zeros(len(table), np.int64)
    for codes, distinct in parts:
        _, code = np.unique(code * (len(distinct) + 1) + codes + 1, return_inverse=True)
    _, first, back = np.unique(code, return_index=True, return_inverse=True)
    cells = [[None if codes[row] < 0 else distinct[codes[row]] for row in first.tolist()] for codes, distinct in parts]
    places = [
        distinct_labels.add(lambda row=row: _said_by(columns, iter(row)))  # type: ignore[misc]
        for row in zip(*cells, strict=True)
    ]
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
                f"{where}, task '{name}': expected every label to be a text such as \"red cube\" or a list of "
                "them, got "
                f"{str(label)[:60]}."
            )
    places = [
        distinct_labels.add(lambda label=label: _listed(label, linked))  # type: ignore[misc]
        for _, label in rows
    ]
    splits = list(data)
    training, familiar = roles.of(splits, name)
    return Task(
        name,
        distinct_labels.meanings,
        distinct_labels.words,
        np.array(places, np.int64),
        splits,
        np.array([splits.index(split) for split, _ in rows], np.int64),
        np.zeros((len(rows), 0), np.int64),
        None,
        [],
        distinct_labels.unreadable,
        training,
        familiar,
        "label",
        1,
    )


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
