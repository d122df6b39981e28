"""Composes metadata.json, which CLEVR's question generator reads (--metadata_file): the values that
objects may have, and the functions of its programs. Without a family's own values, the generator
ends at the first one that CLEVR lacks.

Johnson et al., CLEVR, CVPR 2017, Appendix A, describe the functions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

TYPES = {"shape": "Shape", "color": "Color", "size": "Size", "material": "Material"}
"""The type of each attribute."""
RELATIONS = ("left", "right", "behind", "front")
_FILTERS = ["Size", "Color", "Material", "Shape"]
"""What a template's filter names, in the order in which the generator fills it in."""
Function = dict[str, Any]
"""A function of a program, as the generator reads it."""


def clevr_metadata(values: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Compose the contents of metadata.json.

    Args:
        values: The names of each of the attributes shape, color, size and material.

    Example:
        >>> values = {"shape": ["star"], "color": [], "size": [], "material": []}
        >>> clevr_metadata(values)["types"]["Shape"]
        ['star']
    """
    # Types without a list of values.
    types: dict[str, Sequence[str] | None] = dict.fromkeys(
        ("Object", "ObjectSet", "Integer", "Bool")
    )
    for attribute, name in TYPES.items():
        types[name] = list(values[attribute])
    types["Relation"] = list(RELATIONS)
    # The generator knows the order of attributes of this dataset only.
    return {
        "dataset": "CLEVR-v1.0",
        "types": types,
        "functions": [*_functions_of_programs(), *_functions_of_templates()],
    }


def _functions_of_programs() -> list[Function]:
    functions = [
        _function("scene", [], "ObjectSet"),
        _function("unique", ["ObjectSet"], "Object"),
        _function("relate", ["Object"], "ObjectSet", side=["Relation"]),
        _function("union", ["ObjectSet", "ObjectSet"], "ObjectSet"),
        _function("intersect", ["ObjectSet", "ObjectSet"], "ObjectSet"),
        _function("count", ["ObjectSet"], "Integer", ends=True),
        _function("exist", ["ObjectSet"], "Bool", ends=True),
        _function("equal_object", ["Object", "Object"], "Bool", ends=True),
    ]
    # Comparisons of numbers and of attributes have the same types for each name.
    for name in ("equal_integer", "less_than", "greater_than"):
        functions.append(_function(name, ["Integer", "Integer"], "Bool", ends=True))
    for attribute, kind in TYPES.items():
        functions += [
            _function(f"filter_{attribute}", ["ObjectSet"], "ObjectSet", side=[kind]),
            _function(f"query_{attribute}", ["Object"], kind, ends=True),
            _function(f"equal_{attribute}", [kind, kind], "Bool", ends=True),
            _function(f"same_{attribute}", ["Object"], "ObjectSet"),
        ]
    return functions


def _functions_of_templates() -> list[Function]:
    """Shorthands of templates, which programs spell out: a filter by any attributes, alone or after
    a relation."""
    functions = []
    prefixes = (
        ("", "ObjectSet", _FILTERS),
        ("relate_", "Object", ["Relation", *_FILTERS]),
    )
    ends_and_outputs = (
        ("", "ObjectSet"),
        ("_unique", "Object"),
        ("_count", "Integer"),
        ("_exist", "Bool"),
    )
    for prefix, argument, side in prefixes:
        for end, output in ends_and_outputs:
            # CLEVR lets a program end in these only without a relation.
            ends = not prefix and end in ("_count", "_exist")
            function = _function(f"{prefix}filter{end}", [argument], output, side=side, ends=ends)
            functions.append({**function, "template_only": True})
    return functions


def _function(
    name: str, inputs: Sequence[str], output: str, *, side: Sequence[str] = (), ends: bool = False
) -> Function:
    """A function with its types. side: types of its parameters. ends: whether a program may end
    with it."""
    parameters = {"side_inputs": list(side)} if side else {}
    return {"name": name, "inputs": list(inputs), **parameters, "output": output, "terminal": ends}
