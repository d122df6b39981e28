"""Arguments of a model (`--model-args`): read as text, checked against the keyword parameters of the function that
loads it."""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from generator.base.errors import UserError, did_you_mean

_GIVEN = ("name", "device")
"""Parameters of a loader that the runtime fills."""


def parse_arguments(pairs: tuple[str, ...]) -> dict[str, str]:
    """`k=v`, several in one text after commas, as a dictionary. A value may hold commas and "=".

    >>> parse_arguments(("samples=8,dtype=bfloat16", "device_map=auto"))
    {'samples': '8', 'dtype': 'bfloat16', 'device_map': 'auto'}

    Raises UserError for a text without "=" and for an argument that is given twice.
    """
    found: dict[str, str] = {}
    for pair in (each for text in pairs for each in re.split(r",(?=\w+=)", text)):
        key, equals, value = pair.partition("=")
        if not equals or not key.isidentifier():
            raise UserError(f"Expected an argument of the model as NAME=VALUE, such as dtype=bfloat16, got '{pair}'.")
        if key in found:
            raise UserError(f"The model's argument '{key}' is given twice; give it once.")
        found[key] = value
    return found


def checked_arguments(load: Callable[..., Any], given: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Arguments as the parameters of `load` have them: texts become what the annotation says, such as int.

    A function with `**arguments: Unpack[...]` takes what the TypedDict names, one with other `**arguments` all as they
    are. `what` names the model in errors. Raises UserError for an argument that the function does not have and for a
    value that does not fit its annotation.
    """
    if not given:
        return {}
    parameters = dict(_parameters(load))
    for rest in [name for name, each in parameters.items() if each.kind is each.VAR_KEYWORD]:
        named = get_args(parameters.pop(rest).annotation)  # of Unpack[a TypedDict]
        if not named:
            return dict(given)
        hints = get_type_hints(named[0], include_extras=True)
        parameters |= {
            name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=each)
            for name, each in hints.items()
        }
    known = [name for name, each in parameters.items() if name not in _GIVEN and each.kind != each.POSITIONAL_ONLY]
    for name in given:
        if name not in known:
            mend = did_you_mean(name, known) if known else "it takes none; leave it out."
            raise UserError(f"{what} has no argument '{name}': {mend}")
    return {name: _read(parameters[name].annotation, name, value, what) for name, value in given.items()}


def named_with(spec: str, arguments: Mapping[str, Any]) -> str:
    """The spec and its arguments, as tables name the model.

    >>> named_with("vqa:llava", {"dtype": "bfloat16"})
    'vqa:llava dtype=bfloat16'
    """
    return " ".join([spec, *(f"{name}={value}" for name, value in sorted(arguments.items()))])


def _parameters(load: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(load, eval_str=True).parameters
    except NameError:  # an annotation that its module imports for type checkers alone
        return inspect.signature(load).parameters


def _read(annotation: Any, name: str, value: Any, what: str) -> Any:
    if annotation is inspect.Parameter.empty or isinstance(annotation, str):
        return value
    try:
        return TypeAdapter(annotation).validate_python(value)
    except ValidationError as error:
        said = error.errors()[0]["msg"]
        raise UserError(f"The argument '{name}' of {what} is '{value}'; {said[0].lower()}{said[1:]}.") from None


def name_and_spec(model: str) -> tuple[str, str]:
    """The name and the spec of [NAME=]SPEC. A spec may hold "=" itself.

    >>> name_and_spec("frozen=diffusion:sd@fixed,samples=4")
    ('frozen', 'diffusion:sd@fixed,samples=4')
    >>> name_and_spec("blind:length")
    ('blind:length', 'blind:length')
    """
    name, equals, spec = model.partition("=")
    return (name, spec) if equals and ":" not in name else (model, model)
