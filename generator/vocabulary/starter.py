"""Writes a commented starter file for a user's own family (`gen vocab new`): a copy of
scenes/starter/starter.toml that extends the family of the user's choice."""

import os
from pathlib import Path
from typing import NamedTuple

import tomli_w

from generator.base.errors import UserError
from generator.base.registry import resource
from generator.vocabulary.families import shipped_families
from generator.vocabulary.schema import Vocabulary, read_vocabulary

_STARTER = "scenes/starter/starter.toml"
_EXTENDS = 'extends = "clevr"\n'
"""The line of the starter that names the family to extend."""
_NEW_VALUE = ("color", "pink")
"""The kind and the value that the starter adds."""


class Starter(NamedTuple):
    """A starter file that was written."""

    path: Path
    """The TOML file."""
    holdout: str
    """A value of `--holdout` that holds out the new colour, quoted for a shell."""


def write_starter(out: Path, family: str) -> Starter:
    """Write a starting point for a family that extends another one.

    Args:
        out: the TOML file to write.
        family: the family to extend: a name, or the path of a TOML file.

    Raises:
        UserError: the file exists or does not end in .toml, there is no such family, or it has no
            room for the colour that the starter adds.
    """
    if out.suffix != ".toml":
        raise UserError(f"Expected a file that ends in .toml, got '{out}'.")
    if out.exists():
        raise UserError(f"{out} exists; choose another name, or edit it.")
    base = read_vocabulary(family)
    kind, value = _NEW_VALUE
    if value in base.attributes.get(kind, {}):
        raise UserError(
            f"The family '{base.name}' has the {kind} '{value}' already, which a starter would add; "
            f"extend another family."
        )

    # A path in `extends` starts at the folder of the file that has it.
    extends = family if family in shipped_families() else os.path.relpath(family, out.parent)
    text = resource(_STARTER).read_text(encoding="utf-8")
    text = text.replace(_EXTENDS, tomli_w.dumps({"extends": extends}), 1)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    try:
        # Read back at once: a starter that does not work would be worse than none.
        starter = read_vocabulary(str(out))
    except UserError as error:
        out.unlink()
        raise UserError(
            f"A starter adds a {kind} to a family, which '{base.name}' does not take: "
            f"{error.message} Extend another family."
        ) from None
    return Starter(out, _holdout_of_new_value(starter))


def _holdout_of_new_value(starter: Vocabulary) -> str:
    """A block of the new value and the first of its kind, and the first two objects."""
    kind, value = _NEW_VALUE
    values = f"{value},{starter.values(kind)[0]}"
    objects = ",".join(list(starter.objects)[:2])
    return f'"{kind}={values} {starter.category}={objects}"'
