"""Writes a commented starter file for a user's own family (`gen vocab new`)."""

import os
from pathlib import Path

from generator.base.errors import UserError
from generator.vocabulary.families import shipped_families
from generator.vocabulary.schema import Vocabulary, read_vocabulary

_COLORS = {
    "teal": "#0b7a75",
    "coral": "#ff7f50",
    "olive": "#7d7d1a",
    "navy": "#14245a",
    "orange": "#f07a10",
    "pink": "#f2a0c0",
}
_OBJECTS = {"hourglass": "spindle", "clevr-cylinder": "drum"}
# Values of an attribute kind of the user's own, by the input that they set.
_FINISHES = {
    "glaze": (
        "glazed = { glaze = { ior = 1.8, roughness = 0.05 } }",
        'frosted = { glaze = { ior = 2.6, roughness = 0.5 }, synonyms = ["dusty"] }',
    ),
    "specular": (
        "waxed = { specular = 0.9 }",
        'dusty = { specular = 0.0, synonyms = ["powdery"] }',
    ),
    "albedo": ("bleached = { albedo = 1.0 }", 'sooty = { albedo = 0.5, synonyms = ["smoky"] }'),
}
_KIND = """
# An attribute kind of your own: each value sets the same inputs of the material, which no other kind sets.
# [attributes.finish]
# {}
# {}
"""
_RELATIONS = """
# A relation and its converse, by one of the rules of space.
# [relations]
# near = {{ phrase = "near", margin = 0.2, distance = {distance} }}
# far = {{ phrase = "far from", margin = 0.2, distance = {distance} }}
"""
_HOLDOUT = """
# What training never shows is no part of a family; it is chosen when a world is made (docs/choose.md):
#   gen render --family THIS_FILE --holdout {holdout}
#   gen render --family THIS_FILE --holdout "{single}"
"""
_TEXT = """\
# A family of your own: all of '{family}', and the entries of this file. docs/vocabularies.md explains every key.
# Lines that begin with "#" are comments; remove the "#" from the lines that you want, and edit them.
extends = {extends}
# remove = ["objects.{thing}"]

[attributes.{colored}]
{color} = {{ srgb = "{code}" }}

# A phrase after the noun instead of an adjective: "a {thing} made of ...".
# [kinds.{other}]
# phrase = "made of {{value}}"

# Objects: `mesh` is a shape, or a mesh of the asset set (`gen assets list`), that no other object has.
# [objects]
# {object} = {{ mesh = "{mesh}" }}

# A template of captions, for `gen describe --template next-to` (docs/language.md).
# [templates]
# next-to = "a photo of {{a}} next to {{b}}"
"""


def write_starter(out: Path, family: str) -> tuple[Path, str]:
    """Write the TOML file `out`, a starting point that extends a family.

    Returns `out`, and a value of `--holdout` that holds out the new colour, quoted for a shell.

    Raises UserError when the file exists or does not end in .toml, when there is no such family, or
    when none of its attribute kinds sets only colour.
    """
    if out.suffix != ".toml":
        raise UserError(f"Expected a file that ends in .toml, got '{out}'.")
    if out.exists():
        raise UserError(f"{out} exists; choose another name, or edit it.")
    extended = family if family in shipped_families() else os.path.relpath(family, out.parent)
    text, holdout = _text(read_vocabulary(family), extended)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text, encoding="utf-8")
    return out, holdout


def _text(vocabulary: Vocabulary, extends: str) -> tuple[str, str]:
    alone = (
        kind
        for kind, values in vocabulary.attributes.items()
        if all(value.inputs().keys() == {"linear"} for value in values.values())
    )
    if (colored := next(alone, None)) is None:
        raise UserError(
            f"No attribute kind of the family '{vocabulary.name}' sets colour alone, so a starter "
            f"has nothing to add a colour to; extend another family."
        )
    words = {word for values in vocabulary.attributes.values() for word in values}
    color, code = next((name, code) for name, code in _COLORS.items() if name not in words)
    other = next((kind for kind in vocabulary.attributes if kind != colored), colored)
    mesh = next((mesh for mesh in _OBJECTS if mesh not in vocabulary.meshes.values()), "hourglass")
    taken = {
        name
        for values in vocabulary.attributes.values()
        for value in values.values()
        for name in value.inputs()
    }
    text = _TEXT.format(
        family=vocabulary.name,
        extends=f'"{extends}"',
        thing=list(vocabulary.objects)[-1],
        colored=colored,
        color=color,
        code=code,
        other=other,
        object=_OBJECTS[mesh],
        mesh=mesh,
    )
    values, objects = [color, vocabulary.values(colored)[0]], list(vocabulary.objects)[:2]
    holdout = f'"{colored}={",".join(values)} {vocabulary.category}={",".join(objects)}"'
    text += _HOLDOUT.format(holdout=holdout, single=f"{color}:{objects[0]}")
    if finish := next((lines for name, lines in _FINISHES.items() if name not in taken), None):
        text += _KIND.format(*finish)
    if vocabulary.placement.orders == "free" or "near" in vocabulary.relations:
        return text, holdout
    return text + _RELATIONS.format(
        distance=round(2 * max(vocabulary.radii) + vocabulary.placement.gap + 0.8, 1)
    ), holdout
