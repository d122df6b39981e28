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


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters and kinds of training texts. The defaults are for training from scratch.

    steps: their number; None to follow from `epochs`. rate: the peak of a one-cycle schedule whose
        share `warmup`
    rises, or constant if `warmup` is 0. decay: of AdamW; 0 is Adam. positive_loss: `caption`,
    positives are additional
    captions, or `analogy` (evaluator.training.contrastive).
    """

    name: ClassVar[str] = ""

    epochs: int = option(25, "Passes over the data.", least=1)
    steps: int | None = option(None, "Steps, in place of --epochs.", least=1)
    batch: int = option(96, "Images per step.", least=1)
    rate: float = option(1e-3, "Learning rate.", least=0)
    decay: float = 0.05
    warmup: float = 0.05
    seed: int = option(
        0, "Seed of new weights, data order and random choices.", least=0, most=2**32 - 1
    )
    texts: str | None = option(
        None,
        "Kinds of training captions to learn from, such as plain,relations,graded,synonyms.  "
        "[default: plain, and relations if relations are held out]",
    )
    negatives: str = option("swap,flip", NEGATIVES)
    positives: str = option(
        "none",
        "Kinds of positives: swap, replace, converse; or none. Each caption is used with one "
        "random positive.",
    )
    negative_loss: Literal["negclip", "svlc"] = option(
        "negclip",
        "negclip: negatives are extra texts in the batch's softmax; svlc: each image chooses "
        "between caption and negative.",
    )
    positive_loss: Literal["caption", "analogy"] = "caption"
    negative_weight: float = option(1.0, "Weight of the negatives.", least=0)
    positive_weight: float = option(1.0, "Weight of the hard-positive loss.", least=0)
    images_per_class: int | None = option(
        None,
        "At most this many images of each class, drawn by seed; by default all. A class is the "
        "images with the same captions.",
        least=1,
    )
    precision: Literal["auto", "float32", "bfloat16"] = option(
        "auto",
        "Precision of the network; losses are float32. auto: bfloat16 on GPUs and processors that "
        "have it, else float32.",
    )

    def __post_init__(self) -> None:
        for each in fields(self):
            given, name = getattr(self, each.name), each.name.replace("_", " ")
            choices = get_args(each.type) if isinstance(given, str) else ()
            if choices and str not in choices and given not in choices:
                raise UserError(f"Unknown {name} '{given}'; {did_you_mean(given, list(choices))}")
            least = each.metadata.get("least")
            if least is not None and given is not None and not least <= given < float("inf"):
                raise UserError(f"Expected the {name} to be a number from {least:g}, got {given}.")

    def hard_kinds(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The kinds of negatives, and the kinds of positives. Raises UserError for unknown
        kinds."""
        given = {"negatives": listed(self.negatives), "positives": listed(self.positives)}
        for what, kinds in given.items():
            for kind in kinds:
                if kind not in HARD_KINDS[what]:
                    mend = did_you_mean(kind, list(HARD_KINDS[what]))
                    raise UserError(f"Unknown kind of training {what} '{kind}'; {mend}")
        return given["negatives"], given["positives"]


R = TypeVar("R", bound=Recipe)


def listed(kinds: str) -> tuple[str, ...]:
    """The names of a comma-separated list; () for "" and for "none".

    >>> listed("swap, flip"), listed("none")
    (('swap', 'flip'), ())
    """
    return tuple(kind.strip() for kind in kinds.split(",") if kind.strip() not in ("", "none"))


def parse_lora(given: str) -> tuple[int, float] | None:
    """The rank and alpha of `RANK/ALPHA`, or of `RANK` alone with twice the rank as alpha; None for
    "none".

    Raises UserError for anything else.

    >>> parse_lora("8/16"), parse_lora("8"), parse_lora("none")
    ((8, 16.0), (8, 16.0), None)
    """
    if given == "none":
        return None
    rank, _, alpha = given.partition("/")
    try:
        found = int(rank), float(alpha) if alpha else 2.0 * int(rank)
    except ValueError:
        found = (0, 0.0)
    if found[0] < 1 or not 0 < found[1] < float("inf"):
        raise UserError(
            f"Expected --lora to be rank/alpha such as 16/32, both above 0, got '{given}'."
        )
    return found


class Origin(TypedDict):
    """The origin of each hyperparameter of a training: published by the preset's source, chosen in
    the preset, or given by the user."""

    preset: str
    source: str
    published: list[str]
    chosen: list[str]
    given: list[str]


def presets() -> dict[str, dict[str, Any]]:
    """The presets by name, as presets.toml declares them."""
    return read_toml(Path(__file__).with_name("presets.toml"), "presets")


def from_preset(
    method: type[R], given: Mapping[str, Any], preset: str | None = None, matching: bool = False
) -> tuple[R, Origin]:
    """The recipe of a preset, by default the method's first, with the values in `given` overriding
    it; and its origin.

    matching: for cross encoders. A method without presets uses the defaults of its options. Raises
        UserError for an
    unknown preset.
    """
    of_method = {
        name: each
        for name, each in presets().items()
        if (each["method"], each.get("matching", False)) == (method.name, matching)
    }
    if preset is None and not of_method:
        return method(**given), Origin(
            preset="", source="", published=[], chosen=[], given=sorted(given)
        )
    name = preset or next(iter(of_method))
    if name not in of_method:
        of = f"`score train {method.name}`{' for cross encoders' if matching else ''}"
        raise UserError(f"Unknown preset '{name}' of {of}; {did_you_mean(name, list(of_method))}")
    found = of_method[name]
    published, chosen = found["published"], found.get("chosen", {})
    origin = Origin(
        preset=name,
        source=found["source"],
        published=[each for each in published if each not in given],
        chosen=[each for each in chosen if each not in given],
        given=sorted(given),
    )
    return method(**{**chosen, **published, **given}), origin


def origin_said(origin: Origin) -> str:
    """The origin as text: a sentence for each group of hyperparameters."""
    groups = {
        f"Published ({origin['source']})": origin["published"],
        "Chosen here": origin["chosen"],
        "Given by you": origin["given"],
    }
    said = [
        f"{group}: {', '.join(names).replace('_', ' ')}."
        for group, names in groups.items()
        if names
    ]
    preset = [f"Preset {origin['preset']}."] if origin["preset"] else []
    return " ".join([*preset, *said])
