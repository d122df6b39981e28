"""Reads files of labels made by others: CSV, and JSON of rows, of labels by split, or of several
tasks."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from generator.base.errors import UserError, did_you_mean
from generator.base.files import parse_json
from generator.base.limits import MOST_LIST, read_text
from generator.judge.foreign.labels import (
    UnreadableLabelError,
    arrangement,
    normal,
    plain,
    read_label,
    relation_name,
    thing_of,
    words_of,
)
from generator.judge.lexicon import PLACES
from generator.judge.meaning import Meaning, Thing

_SHAPE = (
    'a list of rows, or labels by split such as {"train": ["red cube"], "test": [...]}, or several '
    "such by task"
)
_ALIASES = {
    "split": ("split",),
    "label": ("label", "caption"),
    "negative": ("negative", "negative_caption"),
    "image": ("image", "filename"),
    "relation": ("relation",),
}
_OBJECT = re.compile(rf"({'|'.join(PLACES)})(?:\.(\w+))?")
_ROLES = [*_ALIASES, *PLACES[:2], "first.KIND", "second.KIND"]
_TRAINING = ("train", "training")

Located = tuple[str, Mapping[str, Any]]
"""Location of a row in its split or file, and its cells by column: texts; a listed label may be a
list of texts."""


class Label:
    """A label: its words, its meaning, and the arrangement `shown`, which is equal for labels that
    show the same."""

    def __init__(self, meaning: Meaning, words: str):
        self.meaning, self.words = meaning, words

    @cached_property
    def shown(self) -> Meaning:
        """The arrangement that the label shows, in normal form."""
        return arrangement(self.meaning)


@dataclass(frozen=True, eq=False)
class Row:
    """A row: its location `where`, its split (None if it has none), label and negatives (None if
    unreadable), and image. Rows with the same words have the same label."""

    where: str
    split: str | None
    label: Label | None
    negatives: tuple[Label | None, ...]
    image: str | None

    def quoted(self, label: Label) -> str:
        """A label of this row in quotes, with the row's location."""
        return f'"{label.words}" ({self.where})'


@dataclass(frozen=True, eq=False)
class Task:
    """The rows of a file, or of one task in it.

    `training`: the training splits. `familiar`: splits that may show the same arrangements.
    `unreadable`: a sentence
    for each label that cannot be read. `texts`: the distinct texts of the file, unchanged, without
    images.
    """

    name: str
    rows: list[Row]
    splits: list[str]
    training: frozenset[str]
    familiar: frozenset[str]
    unreadable: list[str]
    texts: tuple[str, ...]

    @cached_property
    def labels(self) -> list[Label]:
        """The distinct labels and negatives."""
        return [
            *dict.fromkeys(
                each for row in self.rows for each in (row.label, *row.negatives) if each
            )
        ]

    @cached_property
    def labelled(self) -> list[tuple[Row, str, Label]]:
        """The rows with a split and a label, each with both."""
        return [
            (row, row.split, row.label) for row in self.rows if row.split is not None and row.label
        ]


@dataclass(frozen=True)
class SplitRoles:
    """`training`: the training splits; None for splits called train or training. `familiar`: splits
    that may show the same arrangements."""

    training: tuple[str, ...] | None = None
    familiar: tuple[str, ...] = ()

    def of(self, splits: list[str], where: str) -> tuple[frozenset[str], frozenset[str]]:
        """The training and the familiar splits among `splits`. Raises UserError if a named split is
        not in `splits`."""
        for option, names in (("--train", self.training or ()), ("--familiar", self.familiar)):
            for name in names:
                if name not in splits:
                    raise UserError(
                        f"{option} {name}: {where} has no such split; {did_you_mean(name, splits)}"
                    )
        training = (
            [name for name in splits if name.casefold() in _TRAINING]
            if self.training is None
            else self.training
        )
        return frozenset(training), frozenset(self.familiar)


def read_tasks(
    path: Path, columns: Sequence[str], task: str | None, roles: SplitRoles
) -> list[Task]:
    """The tasks of a file: one for a CSV file, a list of rows or labels by split; else one per key
    of the JSON object.

    Raises UserError if the file cannot be read, holds no labels, or lacks the task or a column.
    """
    named = parse_columns(columns)
    kind, other = ("JSON", "CSV") if path.suffix.lower() == ".json" else ("CSV", "JSON")
    try:
        text = read_text(path, MOST_LIST)
        tasks = (
            dict(_json_tasks(parse_json(text), path))
            if kind == "JSON"
            else {path.stem: list(_csv_rows(text))}
        )
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror}; give a CSV or JSON file of labels."
        ) from None
    except (csv.Error, ValueError) as error:
        raise UserError(
            f"{path} is not {kind} in UTF-8, or is ambiguous: {error}; mend it, or give {other}."
        ) from None
    if task is not None:
        if task not in tasks:
            raise UserError(f"{path} has no task '{task}'; {did_you_mean(task, list(tasks))}")
        tasks = {task: tasks[task]}
    return [_task(name, rows, path, named, roles) for name, rows in tasks.items()]


def _csv_rows(text: str) -> Iterator[Located]:
    """The rows of a CSV file; empty cells are None."""
    header = text.partition("\n")[0]
    lines = csv.reader(
        io.StringIO(text),
        delimiter="\t" if header.count("\t") > header.count(",") else ",",
        strict=True,
    )
    names = next(lines, [])
    _refuse_doubled(names)
    end = lines.line_num
    for cells in lines:
        n, end = end + 1, lines.line_num  # a cell may have several lines
        if not cells:
            continue
        if len(cells) != len(names):
            raise ValueError(f"line {n} has {len(cells)} cells, the first has {len(names)}")
        yield f"line {n}", {name: cell or None for name, cell in zip(names, cells, strict=True)}


def _json_tasks(data: Any, path: Path) -> Iterator[tuple[str, list[Located]]]:
    """The tasks of a JSON file by name."""
    tasks = data if isinstance(data, dict) and not _by_split(data) else {path.stem: data}
    found = {
        name: part
        for name, part in tasks.items()
        if _by_split(part) or (isinstance(part, list) and part)
    }
    if not found or (tasks is data and not all(map(_by_split, found.values()))):
        raise UserError(f"{path} holds no labels; expected {_SHAPE}.")
    for name, part in found.items():
        yield name, list(_listed(part, path) if isinstance(part, dict) else _json_rows(part, path))


def _by_split(data: Any) -> bool:
    return (
        isinstance(data, dict)
        and bool(data)
        and all(isinstance(rows, list) for rows in data.values())
    )


def _listed(data: Mapping[str, list[Any]], path: Path) -> Iterator[Located]:
    """The rows of labels by split. A label is a text or a list of texts."""
    _refuse_doubled(data)
    for split, labels in data.items():
        for n, label in enumerate(labels, 1):
            if not all(
                isinstance(part, str) for part in (label if isinstance(label, list) else [label])
            ):
                raise UserError(
                    f'{path}: expected every label to be a text such as "red cube" or a list of '
                    f"them, got "
                    f"{str(label)[:60]}."
                )
            yield f"label {n}", {"split": split, "label": label}


def _json_rows(data: list[Any], path: Path) -> Iterator[Located]:
    """The rows of a JSON list."""
    for n, row in enumerate(data, 1):
        if not isinstance(row, dict):
            raise UserError(
                f"{path}: expected every row to be an object with fields, got "
                f"{json.dumps(row)[:60]}."
            )
        for name, value in row.items():
            if isinstance(value, list | dict):
                raise UserError(
                    f"{path}: expected a text in the field '{name}', got {json.dumps(value)[:60]}; "
                    f"write one label a "
                    "field, several negatives as several fields."
                )
        yield f"entry {n}", row


def _refuse_doubled(names: Iterable[str]) -> None:
    """Raise ValueError if two names look the same."""
    found: set[str] = set()
    for name in names:
        if normal(name) in found:
            raise ValueError(
                f"it has the name '{normal(name)}' twice, perhaps with invisible characters"
            )
        found.add(normal(name))


def _task(
    name: str, found: list[Located], path: Path, named: Sequence[tuple[str, str]], roles: SplitRoles
) -> Task:
    listed = found[0][0].startswith("label") if found else False
    if listed and named:
        raise UserError(
            f"--columns names columns, but {path} has labels by split and no columns; leave it out."
        )
    fields = list(dict.fromkeys(field for _, cells in found for field in cells))
    columns = choose_columns(named, fields, str(path))
    texts = dict.fromkeys(
        text
        for _, cells in found
        for column in columns.judged
        for text in _texts(cells.get(column))
    )
    reader = _Reader(columns, listed and _are_triples([cells["label"] for _, cells in found]))
    rows = []
    for where, cells in found:
        split = _normal(cells.get(columns.split)) if columns.split else "all"
        label = reader.label(cells)
        negatives = tuple(
            reader.in_words(_normal(cells.get(column))) for column in columns.negatives
        )
        image = _normal(cells.get(columns.image)) if columns.image else None
        rows.append(Row(f"{split or 'no split'}, {where}", split, label, negatives, image))
    splits = [split for split in dict.fromkeys(row.split for row in rows) if split is not None]
    return Task(name, rows, splits, *roles.of(splits, name), reader.unreadable, tuple(texts))


def _texts(cell: Any) -> list[str]:
    return cell if isinstance(cell, list) else [] if cell is None else [str(cell)]


def _normal(cell: Any) -> Any:
    """A cell normalised for comparison; None if it is empty."""
    if isinstance(cell, list):
        return tuple(map(normal, cell))
    return None if cell is None or cell == "" else _kept_normal(str(cell))


_kept_normal = lru_cache(1 << 16)(normal)


def _are_triples(labels: list[Any]) -> bool:
    """Whether all lists are (object, relation, object): no middle text occurs at an end of a
    list."""
    lists = [label for label in labels if isinstance(label, list)]
    if not lists or any(len(label) != 3 for label in lists):
        return False
    ends = {plain(normal(label[n])) for label in lists for n in (0, 2)}
    return ends.isdisjoint(plain(normal(label[1])) for label in lists)


class _Reader:
    """Reads labels; equal labels are read once. `linked`: whether lists of texts are (object,
    relation, object)."""

    def __init__(self, columns: "Columns", linked: bool):
        self.columns, self.linked = columns, linked
        self.unreadable: list[str] = []
        self._known: dict[Any, Label | None] = {}
        self._same: dict[tuple[str, Meaning], Label] = {}

    def label(self, cells: Mapping[str, Any]) -> Label | None:
        """The label of a row, in words or in parts; None if it cannot be read."""
        if self.columns.label:
            return self.in_words(_normal(cells.get(self.columns.label)))
        things = []
        for column, values in self.columns.things:
            pairs = sorted(
                (kind, plain(cell)) for kind, name in values if (cell := _normal(cells.get(name)))
            )
            if category := _normal(cells.get(column)):
                things.append(Thing(plain(category), tuple(pairs)))
        relation = _normal(cells.get(self.columns.relation)) if self.columns.relation else None
        links = ((0, relation_name(relation), 1, True),) if relation and len(things) > 1 else ()
        meaning = Meaning(tuple(things), links)
        return self._once(meaning, lambda: (meaning, words_of(meaning)))

    def in_words(self, cell: Any) -> Label | None:
        """A label that is a text or a list of texts; None if there is none, or if it cannot be
        read."""
        if cell is None:
            return None
        return self._once(
            cell,
            lambda: (
                (read_label(cell), plain(cell)) if isinstance(cell, str) else self._listed(cell)
            ),
        )

    def _once(self, key: Any, read: Any) -> Label | None:
        if key not in self._known:
            try:
                meaning, words = read()
                if not meaning.things:
                    raise UnreadableLabelError("a row names no object")
                self._known[key] = self._same.setdefault((words, meaning), Label(meaning, words))
            except UnreadableLabelError as error:
                self.unreadable.append(str(error))
                self._known[key] = None
        return self._known[key]

    def _listed(self, parts: tuple[str, ...]) -> tuple[Meaning, str]:
        if self.linked:
            subject, relation, thing = parts
            meaning = Meaning(
                (thing_of(subject), thing_of(thing)), ((0, relation_name(relation), 1, True),)
            )
        else:
            meaning = Meaning(tuple(map(thing_of, parts)))
        return meaning, words_of(meaning)


@dataclass(frozen=True)
class Columns:
    """The columns of a table, by role.

    A row has its label in words (`label`) or its objects one by one: `things` has, for each object,
    the column of its category and the (kind, column) pairs of its values; `relation` is the column
    of the relation from first to second.
    """

    split: str | None
    image: str | None
    label: str | None
    things: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    relation: str | None
    negatives: tuple[str, ...]

    @property
    def judged(self) -> list[str]:
        """All columns whose texts are judged."""
        things = [
            column
            for category, values in self.things
            for column in (category, *(name for _, name in values))
        ]
        wanted = [self.split, self.label, *things, self.relation, *self.negatives]
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
                f"Expected --columns to be ROLE=COLUMN,... such as split=fold,label=caption, got "
                f"'{entry}'."
            )
        if role not in _ALIASES and not _OBJECT.fullmatch(role):
            raise UserError(
                f"--columns {entry}: unknown role '{role}'; {did_you_mean(role, _ROLES)}"
            )
        if role != "negative" and role in dict(found):
            raise UserError(f"--columns names the role '{role}' twice; name one column for it.")
        found.append((role, column))
    return found


def choose_columns(named: Sequence[tuple[str, str]], there: Sequence[str], where: str) -> Columns:
    """Choose the columns of a table: the named columns, and for other roles the columns with the
    role's name.

    `named`: (role, column) pairs. `there`: all columns. Raises UserError, which lists the columns,
    if one is missing.
    """
    listed = f"its columns are: {', '.join(there)}"
    for role, column in named:
        if column not in there:
            raise UserError(
                f"{where} has no column '{column}' for --columns {role}={column}; {listed}."
            )
    given = dict(named)
    called = {
        role: next((name for name in names if name in there), None)
        for role, names in _ALIASES.items()
    }
    role_of = {name: name for name in there if _OBJECT.fullmatch(name)} | {
        role: column for role, column in given.items() if _OBJECT.fullmatch(role)
    }
    things = [] if "label" in given else _things(role_of, where)
    label = given.get("label") or (None if things else called["label"])
    if not label and not things:
        raise UserError(
            f"{where} has no column 'label' or 'first'; name yours with --columns label=COLUMN, or "
            f"first=COLUMN,second=COLUMN for its objects; {listed}."
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
    """For each object: the column of its category, and the (kind, column) pairs of its values."""
    values: dict[str, list[tuple[str, str]]] = {}
    for role, column in role_of.items():
        place, _, kind = role.partition(".")
        of = values.setdefault(place, [])
        if kind:
            of.append((kind, column))
    last = max(map(PLACES.index, values), default=-1)
    for place in PLACES[: last + 1]:
        if place not in role_of:
            raise UserError(
                f"{where}: --columns names a column of the {PLACES[last]} object, but none names "
                f"the {place} object; add {place}=COLUMN."
            )
    return [(role_of[place], tuple(sorted(values[place]))) for place in PLACES[: last + 1]]
