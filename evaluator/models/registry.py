"""The families of models by name: `load_model` imports a family's module only when a model of it is asked for."""

from dataclasses import dataclass
from importlib.metadata import entry_points
from pkgutil import resolve_name

from evaluator.models.contracts import Model
from generator.dataset.errors import UserError, did_you_mean


@dataclass(frozen=True)
class Family:
    """A family of models.

    `loader` is `module:function`; the function takes the name of a model and a device (or None) and returns the model.
    `usage` says how a model of the family is named.
    """

    loader: str
    usage: str


FAMILIES = {
    "open_clip": Family(
        "evaluator.models.open_clip:load_open_clip",
        "open_clip:ARCHITECTURE@TAG, open_clip:ARCHITECTURE@FILE, open_clip:local-dir:FOLDER, open_clip:hf-hub:OWNER/NAME",
    ),
    "jackalope": Family(
        "evaluator.models.jackalope:load_jackalope", "jackalope:FOLDER, a folder written by `score train`"
    ),
    "hf": Family(
        "evaluator.models.hf:load_hf",
        "hf:OWNER/NAME, hf:OWNER/NAME@REVISION, hf:FOLDER, dual encoders of transformers: CLIP, SigLIP, SigLIP 2, ALIGN, AltCLIP, BLIP, Qwen3-VL-Embedding",
    ),
    "vilt": Family("evaluator.models.vilt:load_vilt", "vilt:OWNER/NAME, vilt:FOLDER, ViLT with its retrieval head"),
    "blip": Family("evaluator.models.blip:load_blip", "blip:OWNER/NAME, blip:FOLDER, BLIP with its matching head"),
    "vqa": Family(
        "evaluator.models.vqa:load_vqa",
        "vqa:OWNER/NAME, vqa:FOLDER, a generative model asked whether the image shows the text, yes or no",
    ),
    "blind": Family(
        "evaluator.models.blind:load_blind",
        "blind:ngram, blind:length, blind:lm:OWNER/NAME, blind:lm:FOLDER, baselines that read the text alone",
    ),
    "diffusion": Family(
        "evaluator.models.diffusion.loading:load_diffusion",
        "diffusion:OWNER/NAME, diffusion:FOLDER, diffusion:FOLDER@PRESET, a text-to-image pipeline of diffusers as a classifier",
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
                f"The model family '{entry.name}' is offered by {offered_by[entry.name]} and by {package}; uninstall one of them."
            )
        known[entry.name] = Family(entry.value, f"{entry.name}:NAME, of the package {package}")
        offered_by[entry.name] = package
    return known


def load_model(spec: str, device: str | None) -> Model:
    """Load the model that `family:name[@weights]` names, on the named device or, for None, on the best one.

    Raises UserError when the family, model or weights do not exist or do not fit one another.
    """
    family, colon, rest = spec.partition(":")
    if not colon or not rest:
        raise UserError(
            f"Expected --model to be family:name or family:name@weights, such as open_clip:ViT-B-32@openai, got '{spec}'."
        )
    known = families()
    if family not in known:
        raise UserError(f"Unknown model family '{family}': {did_you_mean(family, list(known))}")
    loader = known[family].loader
    if family in FAMILIES:
        model: Model = resolve_name(loader)(rest, device)
        return model
    try:
        load = resolve_name(loader)
    except (ImportError, AttributeError) as error:
        raise UserError(
            f"The model family '{family}' cannot be loaded from {loader} ({error}); mend or uninstall its package."
        ) from None
    from evaluator.models.python import adapt
    from evaluator.models.user_code import user_code

    with user_code(spec, loader):
        own = load(rest, device)
    return adapt(own, spec, load, device)
