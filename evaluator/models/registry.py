"""The families of models by name: `load_model` imports a family's module only when a model of it is asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pkgutil import resolve_name
from typing import Any

from evaluator.models.arguments import checked_arguments, named_with
from evaluator.models.contracts import Model
from generator.base.errors import UserError, did_you_mean


@dataclass(frozen=True)
class Family:
    """A family of models.

    `loader` is `module:function`; the function takes the name of a model and a device (or None) and returns the model.
    Its keyword parameters are the arguments that the family takes (`--model-args`). `usage` says how a model of the
    family is named.
    """

    loader: str
    usage: str


FAMILIES = {
    "open_clip": Family(
        "evaluator.models.open_clip:load_open_clip",
        "open_clip:ARCHITECTURE@TAG, open_clip:ARCHITECTURE@FILE, open_clip:local-dir:FOLDER, "
        "open_clip:hf-hub:OWNER/NAME[@REVISION]",
    ),
    "jackalope": Family(
        "evaluator.models.jackalope:load_jackalope", "jackalope:FOLDER, a folder written by `score train`"
    ),
    "hf": Family(
        "evaluator.models.hf:load_hf",
        "hf:OWNER/NAME[@REVISION], hf:FOLDER, dual encoders of transformers: CLIP, SigLIP, SigLIP 2, ALIGN, AltCLIP, "
        "BLIP, Qwen3-VL-Embedding",
    ),
    "vilt": Family(
        "evaluator.models.vilt:load_vilt", "vilt:OWNER/NAME[@REVISION], vilt:FOLDER, ViLT with its retrieval head"
    ),
    "blip": Family(
        "evaluator.models.blip:load_blip", "blip:OWNER/NAME[@REVISION], blip:FOLDER, BLIP with its matching head"
    ),
    "vqa": Family(
        "evaluator.models.vqa:load_vqa",
        "vqa:OWNER/NAME[@REVISION], vqa:FOLDER, a generative model asked whether the image shows the text, yes or no",
    ),
    "api": Family(
        "evaluator.models.api:load_api",
        "api:URL@MODEL, a model behind an OpenAI-compatible endpoint, asked for yes or no: "
        "api:http://localhost:8000/v1@MODEL",
    ),
    "blind": Family(
        "evaluator.models.blind:load_blind",
        "blind:ngram, blind:length, blind:lm:OWNER/NAME[@REVISION], blind:lm:FOLDER, baselines that read the text "
        "alone",
    ),
    "diffusion": Family(
        "evaluator.models.diffusion.loading:load_diffusion",
        "diffusion:OWNER/NAME[@REVISION][@PRESET], diffusion:FOLDER[@PRESET], a text-to-image pipeline of diffusers "
        "as a classifier",
    ),
    "python": Family(
        "evaluator.models.python:load_python",
        "python:PACKAGE.MODULE:FACTORY, python:FILE.py:FACTORY, a model of your own; see docs/models.md",
    ),
}
PLUGINS = "jackalope.models"
"""Group of entry points by which other packages add families."""


def families() -> dict[str, Family]:
    """All families by name: those of this package and those that installed packages add.

    Raises UserError when two packages offer the same name.
    """
    known = dict(FAMILIES)
    offered_by = dict.fromkeys(FAMILIES, "jackalope")
    for entry in entry_points(group=PLUGINS):
        package = entry.dist.name if entry.dist else "an unnamed package"
        if entry.name in known:
            raise UserError(
                f"The model family '{entry.name}' is offered by {offered_by[entry.name]} and by {package}; uninstall "
                f"one of them."
            )
        known[entry.name] = Family(entry.value, f"{entry.name}:NAME, of the package {package}")
        offered_by[entry.name] = package
    return known


def load_model(spec: str, device: str | None, **arguments: Any) -> Model:
    """Load the model that `family:name[@weights]` names, on the named device or, for None, on the best one.

    arguments: keyword arguments of the family's loader; texts are read as its annotations say.
    Raises UserError when the family, model or weights do not exist or do not fit one another, and for an argument that
    the family does not take.
    """
    family, name = _parts(spec)
    loader = families()[family].loader
    if family in FAMILIES:
        load = resolve_name(loader)
        model: Model = load(name, device, **checked_arguments(load, arguments, f"{family}:"))
        return model
    load = _foreign(family, loader)
    taken = checked_arguments(load, arguments, f"{family}:")
    from evaluator.models.user_objects import adapt, user_code

    with user_code(spec, loader):
        own = load(name, device, **taken)
    return adapt(own, named_with(spec, arguments), load, device)


def check_model(spec: str, arguments: Mapping[str, Any]) -> None:
    """Raise UserError where `load_model` would for the family or its arguments. Loads no model."""
    family, _ = _parts(spec)
    loader = families()[family].loader
    load = resolve_name(loader) if family in FAMILIES else _foreign(family, loader)
    checked_arguments(load, arguments, f"{family}:")


def _parts(spec: str) -> tuple[str, str]:
    """The family and the name of a spec. Raises UserError for another form and an unknown family."""
    family, colon, name = spec.partition(":")
    if not colon or not name:
        raise UserError(
            f"Expected --model to be family:name or family:name@weights, such as open_clip:ViT-B-32@openai, got "
            f"'{spec}'."
        )
    if family not in (known := families()):
        raise UserError(f"Unknown model family '{family}': {did_you_mean(family, list(known))}")
    return family, name


def _foreign(family: str, loader: str) -> Callable[..., Any]:
    """The loader of another package."""
    try:
        load: Callable[..., Any] = resolve_name(loader)
    except (ImportError, AttributeError) as error:
        raise UserError(
            f"The model family '{family}' cannot be loaded from {loader} ({error}); mend or uninstall its package."
        ) from None
    return load
