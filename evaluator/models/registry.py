"""Load models by SPEC, `family:name[@weights][,argument=value …]`: the families, and the arguments
of each.

To add a family, write a module with a loader, `load(name, device, **arguments)`, which returns an
object that meets `evaluator.models.contracts`, and add a line to FAMILIES. Another package adds one
by an entry point of the group PLUGINS. A family's module is imported only when a model of it is
asked for.
"""

import inspect
import logging
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, cast, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from evaluator.models.contracts import Answerer, Model
from evaluator.models.names import CHECKS, check_device
from evaluator.provenance.exposure import known_training
from generator.base.errors import UserError, did_you_mean

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Family:
    """A family of models."""

    loader: str
    """`module:function`. The function takes the name of a model and a device (or None) and returns
    the model. Its keyword parameters are the arguments of the family's SPECs."""
    usage: str
    """The SPECs of the family, for `score models`."""
    answering: str = ""
    """`module:function` that loads its models for questions in words; "" if they cannot answer."""
    nameless: bool = False
    """Whether the family's own name is a SPEC."""


FAMILIES = {
    "open_clip": Family(
        "evaluator.models.open_clip:load_open_clip",
        "open_clip:ARCHITECTURE@TAG, open_clip:ARCHITECTURE@FILE, open_clip:local-dir:FOLDER, "
        "open_clip:hf-hub:OWNER/NAME[@REVISION]",
    ),
    "jackalope": Family(
        "evaluator.models.jackalope:load_jackalope",
        "jackalope:FOLDER, a folder written by `score train`; a captioner is asked in words (score "
        "ask)",
        "evaluator.models.jackalope:load_answering",
    ),
    "hf": Family(
        "evaluator.models.hf:load_hf",
        "hf:OWNER/NAME[@REVISION], hf:FOLDER, dual encoders of transformers: CLIP, SigLIP, SigLIP "
        "2, ALIGN, AltCLIP, BLIP, Qwen3-VL-Embedding",
    ),
    "vilt": Family(
        "evaluator.models.vilt:load_vilt",
        "vilt:OWNER/NAME[@REVISION], vilt:FOLDER, ViLT with its retrieval head",
    ),
    "blip": Family(
        "evaluator.models.blip:load_blip",
        "blip:OWNER/NAME[@REVISION], blip:FOLDER, BLIP with its matching head",
    ),
    "vqa": Family(
        "evaluator.models.vqa:load_vqa",
        "vqa:OWNER/NAME[@REVISION], vqa:FOLDER, a generative model asked whether the image shows "
        "the text, yes or no; or in words (score ask)",
        "evaluator.models.vqa:load_vqa",
    ),
    "api": Family(
        "evaluator.models.api:load_api",
        "api:URL@MODEL, a model behind an OpenAI-compatible endpoint, asked for yes or no, or in "
        "words (score ask): api:http://localhost:8000/v1@MODEL",
        "evaluator.models.api:load_answering",
    ),
    "blind": Family(
        "evaluator.models.blind:load_blind",
        "blind:ngram, blind:length, blind:lm:OWNER/NAME[@REVISION], blind:lm:FOLDER, baselines "
        "that read the text alone",
    ),
    "oracle": Family(
        "evaluator.models.oracle:load_oracle",
        "oracle, oracle:RATE, the judge's truth of every pair, wrong at a known rate: what no "
        "model can exceed",
        nameless=True,
    ),
    "diffusion": Family(
        "evaluator.models.diffusion.loading:load_diffusion",
        "diffusion:OWNER/NAME[@REVISION], diffusion:FOLDER, a text-to-image pipeline of diffusers "
        "as a classifier",
    ),
    "python": Family(
        "evaluator.models.python:load_python",
        "python:PACKAGE.MODULE:FACTORY, python:FILE.py:FACTORY, a model of your own; see "
        "docs/models.md",
        "evaluator.models.python:load_answering",
    ),
}
PLUGINS = "jackalope.models"
"""Group of entry points by which other packages add families."""


def families() -> dict[str, Family]:
    """All families by name: from this package and from other installed packages.

    Raises UserError when two packages offer the same name.
    """
    known = dict(FAMILIES)
    offered_by = dict.fromkeys(FAMILIES, "jackalope")
    # A second family of one name is refused: which of them is loaded would depend on the order of
    # installation.
    for entry in _plugin_entries(tuple(sys.path)):
        package = entry.dist.name if entry.dist else "an unnamed package"
        if entry.name in known:
            raise UserError(
                f"The model family '{entry.name}' is offered by {offered_by[entry.name]} and by "
                f"{package}; uninstall one of them."
            )
        known[entry.name] = Family(entry.value, f"{entry.name}:NAME, of the package {package}")
        offered_by[entry.name] = package
    return known


@cache
def _plugin_entries(path: tuple[str, ...]) -> EntryPoints:
    """The families of packages on `path`. The search is slow, so it is cached, until a path is
    added."""
    return entry_points(group=PLUGINS)


@dataclass(frozen=True)
class Spec:
    """A parsed model spec."""

    text: str
    """The whole spec."""
    family: str
    """A key of `families()`."""
    name: str
    """The name in the family."""
    arguments: Mapping[str, str]
    """The values of arguments, as written."""


def read_spec(text: str) -> Spec:
    """Read `family:name[,argument=value …]`. A name may hold commas.

    Raises:
        UserError: The text has another form, the family is unknown, or an argument is given twice.

    >>> read_spec("diffusion:sd@v1,samples=8").arguments
    {'samples': '8'}
    """
    family, _, rest = text.partition(":")
    # Split only at commas before ARGUMENT=: names of files may have commas.
    name, *pairs = re.split(r",(?=\w+=)", rest)
    known = families()
    if not name and not (family in known and known[family].nameless):
        raise UserError(
            f"Expected --model to be family:name or family:name@weights, such as "
            f"open_clip:ViT-B-32@openai, got '{text}'."
        )
    if family not in known:
        raise UserError(f"Unknown model family '{family}': {did_you_mean(family, list(known))}")
    arguments: dict[str, str] = {}
    for pair in pairs:
        key, _, value = pair.partition("=")
        if key in arguments:
            raise UserError(f"The argument '{key}' of {family}: is given twice; give it once.")
        arguments[key] = value
    return Spec(text, family, name, arguments)


_REQUEST_ARGUMENTS = ("concurrency", "timeout")
"""Arguments of api: that change how an endpoint is asked, and not the model."""


def name_of_spec(text: str) -> str:
    """The name of a model in results: its spec without arguments that do not change the model.

    >>> name_of_spec("api:http://localhost/v1@m,concurrency=8,timeout=30")
    'api:http://localhost/v1@m'
    >>> name_of_spec("diffusion:sd,samples=8")
    'diffusion:sd,samples=8'
    """
    if not text.startswith("api:"):
        return text
    return re.sub(rf",(?:{'|'.join(_REQUEST_ARGUMENTS)})=[^,]*", "", text)


def check_early(spec: Spec, *, device: str | None = None, in_words: bool = False) -> None:
    """Raise UserError for a spec that cannot be loaded, as far as that is known without a model
    library, which takes seconds to import. Ignores names that may be on a hub.

    Args:
        spec: The spec of a model.
        device: The device that the user named; None for the best one.
        in_words: Whether the model is asked for answers in words.
    """
    if in_words:
        _check_answering(spec)
    if spec.family in CHECKS:
        CHECKS[spec.family](spec.name)
    check_device(device)
    check_path(spec)


def check_path(spec: Spec) -> None:
    """Raise UserError if a spec names a file or folder of this machine that does not exist."""
    # Only what looks like a path is looked up here: other names may be on a hub, or be known to the
    # family.
    path = re.split(r"@|local-dir:", spec.name)[-1]
    is_path = spec.family == "jackalope" or path.startswith(("./", "../", "/", "~"))
    if is_path and spec.family != "python" and not Path(path).expanduser().exists():
        raise UserError(
            f"There is no file or folder '{path}', which {spec.text} names; give one that exists."
        )


def name_and_spec(model: str) -> tuple[str, str]:
    """The name and the spec of [NAME=]SPEC. A spec may hold "=" itself.

    >>> name_and_spec("frozen=diffusion:sd,samples=4")
    ('frozen', 'diffusion:sd,samples=4')
    >>> name_and_spec("blind:length")
    ('blind:length', 'blind:length')
    """
    name, equals, spec = model.partition("=")
    return (name, spec) if equals and ":" not in name else (model, model)


def load_model(spec: str | Spec, device: str | None) -> Model:
    """Load the model that a spec names.

    Args:
        spec: The spec.
        device: The device that the user named; None for the best one.

    Raises:
        UserError: The family, model or weights do not exist or do not fit one another, or the
            family does not take an argument.
    """
    spec = read_spec(spec) if isinstance(spec, str) else spec
    load, arguments = check_model(spec)
    # A model of this package meets its contract already.
    if spec.family in FAMILIES:
        return _with_history(load(spec.name, device, **arguments))
    # The object of another package is a user's object.
    from evaluator.models.user_code import user_code
    from evaluator.models.user_objects import adapt

    with user_code(spec.text, load.__qualname__):
        model = load(spec.name, device, **arguments)
    return adapt(model, spec.text, source=load, device=device)


def load_answering(spec: str, device: str | None) -> Answerer:
    """Load the model that a spec names for questions in words.

    Args:
        spec: The spec.
        device: The device that the user named; None for the best one.

    Returns:
        The model.

    Raises:
        UserError: As `load_model`, and for a family whose models cannot answer.
    """
    parsed = read_spec(spec)
    answering = _check_answering(parsed)
    _announce_import(parsed.family, answering)
    load: Callable[..., Any] = resolve_name(answering)
    arguments = checked_arguments(load, parsed.arguments, model=f"{parsed.family}:")
    model = load(parsed.name, device, **arguments)
    # Whether a generative model can answer shows only in its files: it needs a chat template.
    if not hasattr(model, "answer_all"):
        raise UserError(
            f"{spec} gives no whole answers; name a model with a chat template, or use `score run`."
        )
    return cast("Answerer", model)


def _check_answering(spec: Spec) -> str:
    """The loader of a family for answers in words. Raises UserError if its models cannot answer."""
    answering = families()[spec.family].answering
    if not answering:
        able = [f"{name}:" for name, family in families().items() if family.answering]
        raise UserError(
            f"Models of {spec.family}: do not answer in words; name one of {', '.join(able)}, or "
            f"use `score run`."
        )
    return answering


def _with_history(model: Model) -> Model:
    """Add the recorded training to a model whose weights, or a copy of them, were trained here."""
    about, exposure = known_training(str(model.info.get("weights_sha256")))
    if about:
        model.info.setdefault("trained_on", about)
        model.exposure = model.exposure or exposure
    return model


def check_model(spec: Spec) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The loader of a spec's family, and the arguments converted for the loader. Loads no model.

    Raises UserError for a family of another package that cannot be imported, and for an argument
    that it does not take.
    """
    path = families()[spec.family].loader
    _announce_import(spec.family, path)
    try:
        load: Callable[..., Any] = resolve_name(path)
    except (ImportError, AttributeError) as error:
        if spec.family in FAMILIES:
            raise
        raise UserError(
            f"The model family '{spec.family}' cannot be loaded from {path} ({error}); fix or "
            f"uninstall its package."
        ) from None
    return load, checked_arguments(load, spec.arguments, model=f"{spec.family}:")


def _announce_import(family: str, loader: str) -> None:
    """Say that the libraries of a family are imported, unless they are already: that takes up to
    ten seconds, in which a user would see nothing.

    Args:
        family: The family.
        loader: Its loader, `module:function`.
    """
    module = loader.partition(":")[0]
    if module not in sys.modules:
        logger.info(f"Importing the libraries of {family}: models.")


_LOADER_PARAMETERS = ("name", "device")
"""Parameters of a loader that are not arguments of the model."""


def checked_arguments(
    load: Callable[..., Any], arguments: Mapping[str, str], *, model: str
) -> dict[str, Any]:
    """Convert the arguments of a SPEC to the types of a loader's parameters, such as int.

    `**arguments: Unpack[...]` takes the arguments that the TypedDict names; other `**arguments`
    take any arguments unchanged.

    Args:
        load: The loader.
        arguments: The values as written.
        model: Names the model in errors.

    Raises:
        UserError: The loader does not have an argument, or a value does not fit its annotation.
    """
    if not arguments:
        return {}
    types = _argument_types(load)
    if types is None:
        return dict(arguments)
    for name in arguments:
        if name not in types:
            advice = "it takes none; leave it out."
            if types:
                advice = did_you_mean(name, list(types))
            raise UserError(f"{model} has no argument '{name}': {advice}")
    return {
        name: _convert(value, types[name], name=name, model=model)
        for name, value in arguments.items()
    }


def _argument_types(load: Callable[..., Any]) -> dict[str, Any] | None:
    """The types of a loader's arguments by name; None if it takes any."""
    try:
        signature = inspect.signature(load, eval_str=True)
    except NameError:  # an annotation that its module imports only for type checkers
        signature = inspect.signature(load)
    types: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        if parameter.kind != parameter.VAR_KEYWORD:
            types[parameter.name] = parameter.annotation
            continue
        unpacked = get_args(parameter.annotation)  # of Unpack[a TypedDict]
        if not unpacked:
            return None
        types |= get_type_hints(unpacked[0], include_extras=True)
    return {name: type_ for name, type_ in types.items() if name not in _LOADER_PARAMETERS}


def _convert(value: str, annotation: Any, *, name: str, model: str) -> Any:
    """Convert the value of an argument; it stays a string without a type."""
    if annotation is inspect.Parameter.empty or isinstance(annotation, str):
        return value
    try:
        return TypeAdapter(annotation).validate_python(value)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise UserError(
            f"The argument '{name}' of {model} is '{value}'; {reason[0].lower()}{reason[1:]}."
        ) from None
