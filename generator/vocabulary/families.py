"""Reads the text of a world family, shipped or the user's own, and merges it with the family that
it extends."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from generator.base.errors import UserError, did_you_mean
from generator.base.files import parse_toml
from generator.base.limits import MOST_TOML, read_text
from generator.base.registry import resource

Table = dict[str, Any]
"""A table of parsed TOML."""
_ALTERNATIVES = {"srgb": "linear", "linear": "srgb"}
"""Two ways to give one colour: either replaces the other."""


def vocabulary_text(family: str) -> str:
    """The complete TOML text of the family of that name, or of the file at that path.

    A file without `extends` is returned unchanged; other files are merged with the family that they
    extend.

    Raises:
        UserError: there is no such family, a file cannot be read, extends itself or removes a
            missing entry.
    """
    text, path = _read(family, Path(), f"Unknown family '{family}'")
    tables = _parse(text, family)
    if not tables:
        raise UserError(
            f"'{family}' is empty; begin it with extends = \"clevr\" and add your tables, as `gen "
            f"vocab new` does."
        )
    # To the byte, with comments: the dataset keeps the text.
    if "extends" not in tables:
        return text
    return tomli_w.dumps(_resolve(text, path, extended_by=(), origin=family))


def shipped_families() -> dict[str, Path]:
    """The families that ship with the package, by name."""
    return {path.stem: path for path in sorted(resource("scenes").glob("*.toml"))}


def _read(family: str, beside: Path, unknown: str) -> tuple[str, Path]:
    """The text and path of a family.

    Args:
        family: its name or path.
        beside: the folder at which a relative path starts.
        unknown: begins the error message for a name that is not shipped.
    """
    shipped = shipped_families()
    if family not in shipped and Path(family).suffix != ".toml":
        raise UserError(
            f"{unknown}: {did_you_mean(family, list(shipped))} A file of your own ends in .toml."
        )
    path = shipped.get(family) or beside / family
    try:
        return read_text(path, MOST_TOML), path
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserError(
            f"Cannot read the family '{family}': {reason}; give the path of a TOML file."
        ) from None


def _parse(text: str, origin: str) -> Table:
    try:
        return parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"'{origin}' is not valid TOML: {error}.") from None


def _resolve(text: str, path: Path, *, extended_by: tuple[Path, ...], origin: str) -> Table:
    """Merge the tables of a file over the tables of the family that it extends.

    Args:
        text: of the file.
        path: of the file.
        extended_by: the files that extend it, which it may not extend itself.
        origin: names the file in errors.
    """
    own = _parse(text, origin)
    if "extends" not in own:
        return own
    base_name = own.pop("extends")
    removed = own.pop("remove", [])
    if path.resolve() in extended_by:
        chain = " extends ".join(f"'{file.name}'" for file in (*extended_by, path))
        raise UserError(
            f"'{origin}': {chain}, which is a cycle; remove `extends` from one of them."
        )
    if not isinstance(base_name, str):
        raise UserError(
            f"'{origin}': extends is the name of a family or the path of a file, got {base_name!r}."
        )
    base_text, base_path = _read(
        base_name, path.parent, f"'{origin}' extends the unknown family '{base_name}'"
    )
    # The base may extend another family itself.
    base = _resolve(
        base_text, base_path, extended_by=(*extended_by, path.resolve()), origin=base_name
    )
    base_attributes = base.get("attributes")
    base_kinds = list(base_attributes) if isinstance(base_attributes, dict) else []

    # The place comes before `remove`, which may remove parts of it.
    if "place" in own:
        base = _replace_stage(base, own.pop("place"), origin)
    _remove(base, removed, origin)
    merged = _merge(base, {"name": path.stem.lower(), **own})

    # Tables of other types are refused later, when the family is validated.
    has_order = isinstance(merged.get("attributes"), dict) and isinstance(
        merged.get("adjectives"), list
    )
    if "adjectives" not in own and has_order:
        merged["adjectives"] = _order_adjectives(merged, base_kinds)
    return merged


def _replace_stage(base: Table, place: Any, origin: str) -> Table:
    """Put a family on the stage `scenes/stages/PLACE.toml`, which replaces its environments and
    lamps."""
    stages = {path.stem: path for path in sorted(resource("scenes/stages").glob("*.toml"))}
    if not isinstance(place, str) or place not in stages:
        raise UserError(
            f"'{origin}': unknown place {place!r}; {did_you_mean(str(place), list(stages))}"
        )
    # Lamps go too: the stage has light for its own places.
    rest = {key: value for key, value in base.items() if key not in ("environments", "lamps")}
    stage = _parse(read_text(stages[place], MOST_TOML), place)
    return _merge(rest, stage)


def _remove(base: Table, removed: Any, origin: str) -> None:
    """Delete the entries that `remove` lists, such as "objects.star", from `base`."""
    if not isinstance(removed, list) or not all(isinstance(entry, str) for entry in removed):
        raise UserError(
            f"'{origin}': remove is a list such as [\"objects.star\"], got {removed!r}."
        )
    for entry in removed:
        *tables, key = entry.split(".")
        table: Any = base
        for name in tables:
            _check_entry(name, table, entry=entry, base=base, origin=origin)
            table = table[name]
        _check_entry(key, table, entry=entry, base=base, origin=origin)
        del table[key]


def _check_entry(name: str, table: Any, *, entry: str, base: Table, origin: str) -> None:
    """Raise UserError unless `name`, a part of the entry to remove, is a key of `table`."""
    if isinstance(table, dict) and name in table:
        return
    known: list[str] = []
    if isinstance(table, dict):
        prefix = entry.split(".")[:-1]
        known = [".".join([*prefix, key]) for key in table]
    raise UserError(
        f"'{origin}' removes '{entry}', which is not there; "
        f"{did_you_mean(entry, known or list(base))}"
    )


def _merge(base: Mapping[str, Any], added: Mapping[str, Any]) -> Table:
    """Merge tables key by key; any other value of `added` replaces the value of `base`."""
    # A colour given in one way must not leave the base's colour in the other.
    merged = {key: value for key, value in base.items() if _ALTERNATIVES.get(key) not in added}
    for key, value in added.items():
        before = merged.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[key] = _merge(before, value)
        else:
            merged[key] = value
    return merged


def _order_adjectives(merged: Table, base_kinds: list[str]) -> list[str]:
    """The order of adjectives, with new attribute kinds just before the tested one: "a large
    striped red cube".

    Args:
        merged: the tables of the family.
        base_kinds: the attribute kinds of the family that it extends.
    """
    kinds = merged["attributes"]
    new = [kind for kind in kinds if kind not in base_kinds]
    order = [kind for kind in merged["adjectives"] if kind in kinds and kind not in new]
    tested = merged.get("tested")
    at = order.index(tested) if tested in order else len(order)
    return [*order[:at], *new, *order[at:]]
