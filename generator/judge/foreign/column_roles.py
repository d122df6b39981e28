"""The roles of columns in a table of labels (the option --columns)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from generator.base.errors import UserError, did_you_mean
from generator.judge.lexicon import PLACES

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
            f"{where} has no column 'label' or 'first'; name yours with --columns label=COLUMN, or first=COLUMN,second=COLUMN "
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
        values = [(match[2], column) for role, column in role_of.items()
                  if (match := _OBJECT.fullmatch(role)) and match[1] == place and match[2]]  # fmt: skip
        if place not in role_of and values:
            raise UserError(
                f"{where}: --columns {place}.{values[0][0]} names a value of the {place} object, and no column names that "
                f"object; add {place}=COLUMN."
            )
        if place in role_of:
            if n > len(things):
                raise UserError(f"{where}: --columns names a {place} object and no {PLACES[n - 1]} one; name it too.")
            things.append((role_of[place], tuple(sorted(values))))
    return things
