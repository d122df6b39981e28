"""Reads the text of a world family, shipped or the user's own, and merges it with the family that
it extends."""

import re
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
_ALTERNATIVES = {
    "srgb": "linear",
    "linear": "srgb",
}  # two ways to give one colour: either replaces the other


def vocabulary_text(family: str) -> str:
    """The complete TOML text of the family of that name, or of the file at that path.

    A file without `extends` is returned unchanged; other files are merged with the family that they
    extend. Raises UserError when there is no such family, when a file cannot be read, when it
    extends itself, or when it removes a missing entry.
    """
    text, origin = _read(family, Path(), f"Unknown family '{family}'")
    if not _parsed(text, family):
        raise UserError(
            f"'{family}' is empty; begin it with extends = \"clevr\" and add your tables, as `gen "
            f"vocab new` does."
        )
    return (
        tomli_w.dumps(_resolved(text, origin, (), family))
        if "extends" in _parsed(text, family)
        else text
    )


def shipped_families() -> dict[str, Path]:
    """The families that ship with the package, by name."""
    return {path.stem: path for path in sorted(resource("scenes").glob("*.toml"))}


def _read(family: str, beside: Path, unknown: str) -> tuple[str, Path]:
    """The text and path of a family; a relative path starts at the folder `beside`."""
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


def _parsed(text: str, origin: str) -> Table:
    try:
        return parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"'{origin}' is not valid TOML: {error}.") from None


def _resolved(text: str, path: Path, within: tuple[Path, ...], origin: str) -> Table:
    """The tables of a file merged over the tables of the family that it extends; `within`: files
    that extend it."""
    own = _parsed(text, origin)
    if "extends" not in own:
        return own
    extended, removed = own.pop("extends"), own.pop("remove", [])
    if path.resolve() in within:
        chain = " extends ".join(f"'{each.name}'" for each in (*within, path))
        raise UserError(
            f"'{origin}': {chain}, which is a cycle; remove `extends` from one of them."
        )
    if not isinstance(extended, str):
        raise UserError(
            f"'{origin}': extends is the name of a family or the path of a file, got {extended!r}."
        )
    base_text, base_path = _read(
        extended, path.parent, f"'{origin}' extends the unknown family '{extended}'"
    )
    base = _resolved(base_text, base_path, (*within, path.resolve()), extended)
    before = base.get("attributes")
    kinds = [*before] if isinstance(before, dict) else []
    if "place" in own:
        base = _staged(base, own.pop("place"), origin)
    _remove(base, removed, origin)
    merged = _merged(base, {"name": path.stem.lower(), **own})
    ordered = isinstance(merged.get("attributes"), dict) and isinstance(
        merged.get("adjectives"), list
    )
    if "adjectives" not in own and ordered:
        merged["adjectives"] = _adjectives(merged, kinds)
    return merged


def _staged(base: Table, place: Any, origin: str) -> Table:
    """A family on the stage `scenes/stages/PLACE.toml`, which replaces its environments and
    lamps."""
    stages = {path.stem: path for path in sorted(resource("scenes/stages").glob("*.toml"))}
    if not isinstance(place, str) or place not in stages:
        raise UserError(
            f"'{origin}': unknown place {place!r}; {did_you_mean(str(place), list(stages))}"
        )
    kept = {key: value for key, value in base.items() if key not in ("environments", "lamps")}
    return _merged(kept, _parsed(read_text(stages[place], MOST_TOML), place))


def _remove(base: Table, removed: Any, origin: str) -> None:
    """Delete the entries that `remove` lists, such as "objects.star", from `base`."""
    if not isinstance(removed, list) or not all(isinstance(each, str) for each in removed):
        raise UserError(
            f"'{origin}': remove is a list such as [\"objects.star\"], got {removed!r}."
        )
    for dotted in removed:
        *tables, key = re.split(r"\.", dotted)
        table: Any = base
        for name in (*tables, key):
            if not isinstance(table, dict) or name not in table:
                known = (
                    [".".join([*dotted.split(".")[:-1], each]) for each in table]
                    if isinstance(table, dict)
                    else []
                )
                raise UserError(
                    f"'{origin}' removes '{dotted}', which is not there; "
                    f"{did_you_mean(dotted, known or list(base))}"
                )
            parent, table = table, table[name]
        del parent[key]


def _merged(base: Mapping[str, Any], added: Mapping[str, Any]) -> Table:
    """Merge tables key by key; any other value of `added` replaces the value of `base`."""
    merged = {key: value for key, value in base.items() if _ALTERNATIVES.get(key) not in added}
    for key, value in added.items():
        before = merged.get(key)
        merged[key] = (
            _merged(before, value)
            if isinstance(before, dict) and isinstance(value, dict)
            else value
        )
    return merged


def _adjectives(merged: Table, before: list[str]) -> list[str]:
    """The order of adjectives, with new attribute kinds just before the tested one: "a large
    striped red cube".

    `before` are the attribute kinds of the extended family.
    """
    kinds = merged["attributes"]
    new = [kind for kind in kinds if kind not in before]
    order = [kind for kind in merged["adjectives"] if kind in kinds and kind not in new]
    at = order.index(merged["tested"]) if merged.get("tested") in order else len(order)
    return [*order[:at], *new, *order[at:]]
