"""Composes metadata.json, which CLEVR's question generator reads (--metadata_file): the values that
objects may have, and the functions of its programs. The generator stops with an error at a value
that its metadata lack, so those of a family need their own.

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
    for attribute, type_name in TYPES.items():
        types[type_name] = list(values[attribute])
    types["Relation"] = list(RELATIONS)
    # By the name of the dataset the generator knows the order of attributes. It knows it for the
    # name "CLEVR-v1.0" only.
    return {
        "dataset": "CLEVR-v1.0",
        "types": types,
        "functions": [*_functions_of_programs(), *_functions_of_templates()],
    }


def _functions_of_programs() -> list[Function]:
    functions = [
        _function("scene", [], "ObjectSet"),
        _function("unique", ["ObjectSet"], "Object"),
        _function("relate", ["Object"], "ObjectSet", side_inputs=["Relation"]),
        _function("union", ["ObjectSet", "ObjectSet"], "ObjectSet"),
        _function("intersect", ["ObjectSet", "ObjectSet"], "ObjectSet"),
        _function("count", ["ObjectSet"], "Integer", terminal=True),
        _function("exist", ["ObjectSet"], "Bool", terminal=True),
        _function("equal_object", ["Object", "Object"], "Bool", terminal=True),
    ]
    # Comparisons of numbers and of attributes have the same types for each name.
    for name in ("equal_integer", "less_than", "greater_than"):
        functions.append(_function(name, ["Integer", "Integer"], "Bool", terminal=True))
    for attribute, type_name in TYPES.items():
        functions += [
            _function(f"filter_{attribute}", ["ObjectSet"], "ObjectSet", side_inputs=[type_name]),
            _function(f"query_{attribute}", ["Object"], type_name, terminal=True),
            _function(f"equal_{attribute}", [type_name, type_name], "Bool", terminal=True),
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
    suffixes_and_outputs = (
        ("", "ObjectSet"),
        ("_unique", "Object"),
        ("_count", "Integer"),
        ("_exist", "Bool"),
    )
    for prefix, argument, side_inputs in prefixes:
        for suffix, output in suffixes_and_outputs:
            function = _function(
                f"{prefix}filter{suffix}",
                [argument],
                output,
                side_inputs=side_inputs,
                # CLEVR lets a program end in these only without a relation.
                terminal=not prefix and suffix in ("_count", "_exist"),
            )
            functions.append({**function, "template_only": True})
    return functions


def _function(
    name: str,
    inputs: Sequence[str],
    output: str,
    *,
    side_inputs: Sequence[str] = (),
    terminal: bool = False,
) -> Function:
    """A function with its types, in the order of CLEVR's own file. side_inputs: types of its
    parameters. terminal: whether a program may end with it."""
    function: Function = {"name": name, "inputs": list(inputs)}
    if side_inputs:
        function["side_inputs"] = list(side_inputs)
    return {**function, "output": output, "terminal": terminal}
