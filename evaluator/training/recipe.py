"""`Recipe`: the hyperparameters and kinds of texts of a training; and the presets of papers.
Methods (evaluator.training.methods) are subclasses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal, TypedDict, TypeVar, get_args

from evaluator.runs.request import option
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_toml

Negative = Literal["swap", "replace", "flip", "neg"]
Positive = Literal["swap", "replace", "converse"]
HARD_KINDS = {"negatives": get_args(Negative), "positives": get_args(Positive)}
"""The kinds of training negatives and positives (docs/language.md)."""
NEGATIVES = (
    "Kinds of negatives: swap, replace, flip, neg; or none. Each caption is used with one random "
    "negative."
)


_PAPERS = Path(__file__).parents[1] / "papers"
"""The folder of papers. Its presets are read as files: training is below the code of papers, which
calls it."""


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters and kinds of training texts. The defaults are for training from scratch.

    Raises:
        UserError: A value is not among its choices, or below its least value.
    """

    name: ClassVar[str] = ""
    """Of the method, as `score train NAME` takes it."""
    epochs: int = option(25, "Passes over the data.", least=1)
    """Passes over the data, 1 or more."""
    steps: int | None = option(None, "Steps, in place of --epochs.", least=1)
    """Steps in place of `epochs`, 1 or more; None: as `epochs` says."""
    batch: int = option(96, "Images per step.", least=1)
    """Images per step, of all processes together."""
    rate: float = option(1e-3, "Learning rate.", least=0)
    """The peak of a one-cycle schedule, or the constant rate if `warmup` is 0."""
    decay: float = 0.05
    """Weight decay of AdamW; 0 is Adam."""
    warmup: float = 0.05
    """The share of the steps in which the rate rises to its peak."""
    seed: int = option(
        0, "Seed of new weights, data order and random choices.", least=0, most=2**32 - 1
    )
    """Of new weights, data order and random choices; 0..2**32 − 1."""
    texts: str | None = option(
        None,
        "Kinds of training captions to learn from, such as plain,relations,graded,synonyms.  "
        "[default: plain, and relations if relations are held out]",
    )
    """Kinds of training captions, separated by commas; None: plain, and relations if relations are
    held out."""
    negatives: str = option("swap,flip", NEGATIVES)
    """Kinds of negatives, separated by commas, or `none`."""
    positives: str = option(
        "none",
        "Kinds of positives: swap, replace, converse; or none. Each caption is used with one "
        "random positive.",
    )
    """Kinds of positives, separated by commas, or `none`."""
    negative_loss: Literal["negclip", "svlc"] = option(
        "negclip",
        "negclip: negatives are extra texts in the batch's softmax; svlc: each image chooses "
        "between caption and negative.",
    )
    """`negclip`: negatives are further texts of the batch. `svlc`: each image chooses between
    caption and negative."""
    positive_loss: Literal["caption", "analogy"] = "caption"
    """`caption`: positives are further captions. `analogy`: the hard-positive loss
    (evaluator.training.contrastive)."""
    negative_weight: float = option(1.0, "Weight of the negatives.", least=0)
    """Weight of the negatives, 0 or more."""
    positive_weight: float = option(1.0, "Weight of the hard-positive loss.", least=0)
    """Weight of the hard-positive loss, 0 or more."""
    images_per_class: int | None = option(
        None,
        "At most this many images of each class, drawn by seed; by default all. A class is the "
        "images with the same captions.",
        least=1,
    )
    """The most images with the same captions, drawn by seed; None for all."""
    precision: Literal["auto", "float32", "bfloat16"] = option(
        "auto",
        "Precision of the network; losses are float32. auto: bfloat16 on GPUs and processors that "
        "have it, else float32.",
    )
    """Of the network; losses are float32. `auto`: bfloat16 where the device has it."""

    def __post_init__(self) -> None:
        for declared in fields(self):
            value = getattr(self, declared.name)
            words = declared.name.replace("_", " ")
            # `str` among the choices is a type hint such as `str | None`, which allows any text.
            choices = get_args(declared.type) if isinstance(value, str) else ()
            if choices and str not in choices and value not in choices:
                raise UserError(f"Unknown {words} '{value}'; {did_you_mean(value, list(choices))}")
            least = declared.metadata.get("least")
            if least is None or value is None:
                continue
            # NaN fails both comparisons.
            if not least <= value < float("inf"):
                raise UserError(f"Expected the {words} to be a number from {least:g}, got {value}.")

    def hard_kinds(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Split `negatives` and `positives` into their kinds.

        Returns:
            The kinds of negatives, and the kinds of positives.

        Raises:
            UserError: A kind is unknown.

        >>> Recipe(negatives="swap,neg").hard_kinds()
        (('swap', 'neg'), ())
        """
        negatives = listed(self.negatives)
        positives = listed(self.positives)
        for role, kinds in (("negatives", negatives), ("positives", positives)):
            for kind in kinds:
                if kind not in HARD_KINDS[role]:
                    fix = did_you_mean(kind, list(HARD_KINDS[role]))
                    raise UserError(f"Unknown kind of training {role} '{kind}'; {fix}")
        return negatives, positives


R = TypeVar("R", bound=Recipe)


def listed(kinds: str) -> tuple[str, ...]:
    """The names of a comma-separated list; () for "" and for "none".

    >>> listed("swap, flip"), listed("none")
    (('swap', 'flip'), ())
    """
    names = [kind.strip() for kind in kinds.split(",")]
    return tuple(name for name in names if name not in ("", "none"))


def parse_lora(text: str) -> tuple[int, float] | None:
    """Read the option --lora.

    Args:
        text: `RANK/ALPHA`, `RANK` (alpha is then twice the rank), or `none`.

    Returns:
        Rank and alpha, both above 0, or None for `none`.

    Raises:
        UserError: The text is anything else.

    >>> parse_lora("8/16"), parse_lora("8"), parse_lora("none")
    ((8, 16.0), (8, 16.0), None)
    """
    if text == "none":
        return None
    rank_text, _, alpha_text = text.partition("/")
    try:
        rank = int(rank_text)
        alpha = float(alpha_text) if alpha_text else 2.0 * rank
    except ValueError:
        rank, alpha = 0, 0.0
    if rank < 1 or not 0 < alpha < float("inf"):
        raise UserError(
            f"Expected --lora to be rank/alpha such as 16/32, both above 0, got '{text}'."
        )
    return rank, alpha


class Origin(TypedDict):
    """Where each hyperparameter of a training comes from. A run records it."""

    preset: str
    """Name of the preset, or "" without one."""
    source: str
    """Paper of the preset, or "" without one."""
    published: list[str]
    """Hyperparameters that the paper states."""
    chosen: list[str]
    """Hyperparameters that the paper leaves open and the preset sets."""
    set_by_user: list[str]
    """Hyperparameters that the user set."""


def presets() -> dict[str, dict[str, Any]]:
    """Read the presets of papers and of methods.

    Returns:
        By name, the declarations of evaluator/papers/*/presets.toml and of presets.toml here, which
        says what their keys mean.
    """
    declared = {}
    for path in sorted(_PAPERS.glob("*/presets.toml")):
        declared.update(read_toml(path, "presets"))
    declared.update(read_toml(Path(__file__).with_name("presets.toml"), "presets"))
    return declared


def from_preset(
    method: type[R],
    options: Mapping[str, Any],
    *,
    preset: str | None = None,
    is_cross_encoder: bool = False,
) -> tuple[R, Origin]:
    """Make the recipe of a preset.

    Args:
        method: The class of the recipe.
        options: Values that the user set, by field. They override the preset.
        preset: Name of the preset. By default the one that declares `default`; a method without
            presets uses the defaults of its fields.
        is_cross_encoder: Whether the model is a cross encoder, which has presets of its own.

    Returns:
        The recipe, and the origin of its values.

    Raises:
        UserError: The method has no such preset.
    """
    of_method = {}
    for name, declared in presets().items():
        for_cross_encoders = declared.get("matching", False)
        if declared["method"] == method.name and for_cross_encoders == is_cross_encoder:
            of_method[name] = declared
    set_by_user = sorted(options)
    if preset is None and not of_method:
        origin = Origin(preset="", source="", published=[], chosen=[], set_by_user=set_by_user)
        return method(**options), origin

    name = preset or _default_preset(of_method)
    if name not in of_method:
        command = f"`score train {method.name}`{' for cross encoders' if is_cross_encoder else ''}"
        fix = did_you_mean(name, list(of_method))
        raise UserError(f"Unknown preset '{name}' of {command}; {fix}")
    published = of_method[name]["published"]
    chosen = of_method[name].get("chosen", {})
    origin = Origin(
        preset=name,
        source=of_method[name]["source"],
        published=[option_name for option_name in published if option_name not in options],
        chosen=[option_name for option_name in chosen if option_name not in options],
        set_by_user=set_by_user,
    )
    return method(**{**chosen, **published, **options}), origin


def _default_preset(of_method: Mapping[str, Mapping[str, Any]]) -> str:
    """The name of the preset that declares `default`. Raises ValueError if there is none."""
    for name, declared in of_method.items():
        if declared.get("default"):
            return name
    raise ValueError(f"None of the presets {', '.join(of_method)} declares `default`.")


def check_preset(method: type[Recipe], preset: str | None) -> None:
    """Check that a preset is one of a method.

    Args:
        method: The method.
        preset: The name of the preset; None for the default one, which always exists.

    Raises:
        UserError: The method has no such preset, neither for dual nor for cross encoders.
    """
    of_method = []
    for name, preset_values in presets().items():
        if preset_values["method"] == method.name:
            of_method.append(name)
    if preset is not None and preset not in of_method:
        raise UserError(
            f"Unknown preset '{preset}' of `score train {method.name}`; "
            f"{did_you_mean(preset, of_method)}"
        )


def describe_origin(origin: Origin) -> str:
    """Say in a sentence for each group where the hyperparameters come from."""
    groups = {
        f"Published ({origin['source']})": origin["published"],
        "Chosen here": origin["chosen"],
        "Given by you": origin["set_by_user"],
    }
    sentences = [f"Preset {origin['preset']}."] if origin["preset"] else []
    for group, names in groups.items():
        if names:
            sentences.append(f"{group}: {', '.join(names).replace('_', ' ')}.")
    return " ".join(sentences)
