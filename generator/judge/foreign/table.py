"""Reads a table of labels made by others (docs/verify.md, "The table of labels")."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from generator.base.errors import UserError, did_you_mean
from generator.base.limits import MOST_LIST, read_text
from generator.judge.foreign.characters import comparable
from generator.judge.geometry import RULES
from generator.judge.meaning import Pair

PLACES = ("first", "second")
"""The objects of a label, in order of mention."""
_ROLES = ("split", "image", "relation", *PLACES, "first.KIND", "second.KIND")
_NEGATIVE = "negative."
"""Begins the roles of the columns of a row's false label."""
_TRAINING = ("train", "training")
_WITHOUT_COLUMN = "all"
"""The split of all rows of a table without a column of splits."""

POSITION = "position"
"""The kind of values that say where an object is. They are not attributes of the object."""
CONVERSES = {name: rule.converse for name, rule in RULES.items() if rule.converse} | {
    "above": "below",
    "below": "above",
    "larger": "smaller",
    "smaller": "larger",
    "taller": "shorter",
    "shorter": "taller",
    "beside": "beside",
    "touching": "touching",
}
"""The converse of each relation that is known: the judge's own, and some that others use. A
symmetric relation is its own converse."""


class LabelledObject(NamedTuple):
    """An object of a label."""

    category: str
    """Name of its category."""
    values: tuple[Pair, ...] = ()
    """Its (kind, value) pairs, sorted by kind; the kind `position` is not an attribute."""

    @property
    def attributes(self) -> tuple[Pair, ...]:
        """The (kind, value) pairs without its position."""
        return tuple(pair for pair in self.values if pair[0] != POSITION)


class Label(NamedTuple):
    """One or two objects, and the relation of the first to the second."""

    objects: tuple[LabelledObject, ...]
    """In order of mention."""
    relation: str | None = None
    """None if the label names none."""

    @property
    def words(self) -> str:
        """The label in words.

        >>> cube = LabelledObject("cube", (("color", "red"),))
        >>> Label((cube, LabelledObject("cone")), "left").words
        'red cube left cone'
        """
        phrases = []
        for category, values in self.objects:
            words = [value for kind, value in values if kind != POSITION]
            where = [f"({value})" for kind, value in values if kind == POSITION]
            phrases.append(" ".join([*words, category, *where]))
        return f" {self.relation or 'and'} ".join(phrases)

    @property
    def arrangement(self) -> "Label":
        """The label in normal form: equal for all labels that show the same, in another order of
        mention or by a converse relation.

        >>> cube, cone = LabelledObject("cube"), LabelledObject("cone")
        >>> Label((cube, cone), "left").arrangement == Label((cone, cube), "right").arrangement
        True
        """
        reversed_objects = self.objects[::-1]
        if self.relation is None:
            return min(self, Label(reversed_objects))
        converse = CONVERSES.get(self.relation)
        if converse is None:
            return self
        return min(self, Label(reversed_objects, converse))


@dataclass(frozen=True, eq=False)
class Row:
    """A row of the table."""

    line: int
    """Its first line in the file, from 1."""
    split: str | None
    """None if the row is in no split."""
    label: Label
    """What the row's image shows."""
    negative: Label | None
    """A label that is false of the row's image; None if it has none."""
    image: str | None
    """Name or digest of the image; None without such a column."""

    def quoted(self, label: Label) -> str:
        """A label of this row in quotes, with the row's location."""
        return f'"{label.words}" ({self.where})'

    @property
    def where(self) -> str:
        """The location of the row."""
        return f"{self.split or 'no split'}, line {self.line}"


@dataclass(frozen=True, eq=False)
class LabelTable:
    """The rows of a file of labels."""

    rows: list[Row]
    """In the order of the file."""
    splits: list[str]
    """Names of the splits, in order of appearance."""
    training: frozenset[str]
    """The splits that train."""
    familiar: frozenset[str]
    """The splits that may show the same arrangements as training."""
    texts: list[str]
    """The distinct texts of all columns that are judged, unchanged."""

    @cached_property
    def labels(self) -> list[Label]:
        """The distinct labels and negatives."""
        labels: dict[Label, None] = {}
        for row in self.rows:
            labels[row.label] = None
            if row.negative is not None:
                labels[row.negative] = None
        return list(labels)


@dataclass(frozen=True)
class SplitRoles:
    """What the splits are for."""

    training: tuple[str, ...] | None = None
    """The splits that train; None for splits called train or training."""
    familiar: tuple[str, ...] = ()
    """The splits that may show the same arrangements as training."""


def read_label_table(path: Path, columns: Sequence[str], roles: SplitRoles) -> LabelTable:
    """Read a CSV file of labels, separated by commas or tabs.

    Args:
        path: The file.
        columns: Entries ROLE=COLUMN, or several joined by commas, for columns that are not named
            like their role.
        roles: What the splits are for.

    Raises:
        UserError: The file cannot be read, is not such a table, or lacks a column or a split.
    """
    column_of = _parse_columns(columns)
    try:
        numbered_rows = list(_read_csv(read_text(path, MOST_LIST)))
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror}; give a CSV file of labels."
        ) from None
    except (csv.Error, ValueError) as error:
        raise UserError(f"{path} is not a CSV table in UTF-8: {error}; fix it.") from None
    if not numbered_rows:
        raise UserError(f"{path} has no rows; give a CSV file with a header and a row per label.")
    names = [*numbered_rows[0][1]]
    column_of = _choose_columns(column_of, names, path)

    rows = []
    texts: dict[str, None] = {}
    for line, cells in numbered_rows:
        own = {role: cells[column] for role, column in column_of.items() if cells[column]}
        for role, text in own.items():
            if role != "image":
                texts[text] = None
        rows.append(_read_row(line, own, has_splits="split" in column_of, path=path))
    splits = list(dict.fromkeys(row.split for row in rows if row.split is not None))
    training, familiar = _check_roles(roles, splits, path)
    return LabelTable(rows, splits, training, familiar, list(texts))


def _read_csv(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file: the first line of each, and its cells by column."""
    # By the header alone: cells may hold commas in prose.
    header = text.partition("\n")[0]
    delimiter = "\t" if header.count("\t") > header.count(",") else ","
    lines = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    names = next(lines, [])
    for name in names:
        if [comparable(other) for other in names].count(comparable(name)) > 1:
            raise ValueError(
                f"it has the column '{comparable(name)}' twice, perhaps with invisible characters"
            )
    previous_end = lines.line_num
    for cells in lines:
        # Not the number of the row: a cell may have several lines.
        line = previous_end + 1
        previous_end = lines.line_num
        if not cells:
            continue
        if len(cells) != len(names):
            raise ValueError(f"line {line} has {len(cells)} cells, the first has {len(names)}")
        yield line, dict(zip(names, cells, strict=True))


def _parse_columns(columns: Sequence[str]) -> dict[str, str]:
    """The column of each role in entries such as `split=fold,first.color=paint`."""
    column_of: dict[str, str] = {}
    for entry in [entry for option in columns for entry in option.split(",")]:
        role, equals, column = (part.strip() for part in entry.partition("="))
        if not (role and equals and column):
            raise UserError(
                f"Expected --columns to be ROLE=COLUMN,... such as split=fold,first=animal, got "
                f"'{entry}'."
            )
        if not _is_role(role):
            raise UserError(
                f"--columns {entry}: unknown role '{role}'; {did_you_mean(role, list(_ROLES))}"
            )
        if role in column_of:
            raise UserError(f"--columns names the role '{role}' twice; name one column for it.")
        column_of[role] = column
    return column_of


def _is_role(name: str) -> bool:
    own_name = name.removeprefix(_NEGATIVE)
    if own_name in ("split", "image"):
        return own_name == name
    place, dot, kind = own_name.partition(".")
    if place in PLACES:
        return bool(kind) == bool(dot)
    return own_name == "relation"


def _choose_columns(named: Mapping[str, str], names: Sequence[str], path: Path) -> dict[str, str]:
    """The column of each role: the named one, else the one that is called like the role."""
    listed = f"its columns are: {', '.join(names)}"
    for role, column in named.items():
        if column not in names:
            raise UserError(
                f"{path} has no column '{column}' for --columns {role}={column}; {listed}."
            )
    # What the user names wins over a column that is called like the role.
    column_of = {name: name for name in names if _is_role(name)} | dict(named)
    for prefix in ("", _NEGATIVE):
        roles = [role for role in column_of if _is_of_label(role, prefix)]
        place = f"{prefix}{PLACES[0]}"
        if place not in column_of and (roles or not prefix):
            raise UserError(
                f"{path} has no column '{place}', the category of the first object; name yours "
                f"with --columns {place}=COLUMN; {listed}."
            )
    return column_of


def _is_of_label(role: str, prefix: str) -> bool:
    """Whether a role is of the label (no prefix) or of the negative."""
    if role in ("split", "image") or not role.startswith(prefix):
        return False
    return bool(prefix) or not role.startswith(_NEGATIVE)


def _read_row(line: int, cells: Mapping[str, str], *, has_splits: bool, path: Path) -> Row:
    """A row from its filled cells by role."""
    own = {role: comparable(text) for role, text in cells.items()}
    label = _read_label(own, "")
    if label is None:
        raise UserError(f"{path}, line {line}: the label has no first object; fill its column.")
    split = own.get("split") if has_splits else _WITHOUT_COLUMN
    return Row(line, split, label, _read_label(own, _NEGATIVE), own.get("image"))


def _read_label(cells: Mapping[str, str], prefix: str) -> Label | None:
    """The label whose roles have this prefix; None if its objects are empty."""
    objects = []
    for place in PLACES:
        category = cells.get(prefix + place)
        if not category:
            break
        value_prefix = f"{prefix}{place}."
        # A label of one object has no relation, whatever its column says.
        values = [
            (role.removeprefix(value_prefix), value)
            for role, value in cells.items()
            if role.startswith(value_prefix) and value
        ]
        objects.append(LabelledObject(category, tuple(sorted(values))))
    if not objects:
        return None
    relation = cells.get(f"{prefix}relation") or None
    return Label(tuple(objects), relation if len(objects) > 1 else None)


def _check_roles(
    roles: SplitRoles, splits: list[str], path: Path
) -> tuple[frozenset[str], frozenset[str]]:
    """The training and the familiar splits among the splits of a table."""
    named = {"--train": roles.training or (), "--familiar": roles.familiar}
    for option, names in named.items():
        for name in names:
            if comparable(name) not in splits:
                raise UserError(
                    f"{option} {name}: {path} has no such split; {did_you_mean(name, splits)}"
                )
    training = _TRAINING if roles.training is None else map(comparable, roles.training)
    familiar = map(comparable, roles.familiar)
    return frozenset(splits) & frozenset(training), frozenset(familiar)
