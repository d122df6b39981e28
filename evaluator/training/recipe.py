"""`Recipe`: the hyperparameters of a training and what it learns from, and the presets of papers. A method
(evaluator.training.methods) is a recipe too.
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
NEGATIVES = "Kinds of negatives, one of which is drawn with each caption: swap, replace, flip, neg; or none."


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters, and what to learn from. The defaults are those of training from scratch.

    steps: how many there are; None for those of `epochs`. rate: the peak of one cycle whose share `warmup` rises, or
    constant where `warmup` is 0. decay: of AdamW; Adam at 0. positive_loss: `caption`, where positives are captions
    like others, or `analogy` (evaluator.training.contrastive).
    """

    name: ClassVar[str] = ""

    epochs: int = option(25, "Passes over the data.", least=1)
    steps: int | None = option(None, "Steps, in place of --epochs.", least=1)
    batch: int = option(96, "Images of a step.", least=1)
    rate: float = option(1e-3, "Learning rate.", least=0)
    decay: float = 0.05
    warmup: float = 0.05
    seed: int = option(0, "Seed of new weights, of the data order and of what is drawn.", least=0, most=2**32 - 1)
    texts: str | None = option(
        None,
        "Kinds of training captions to learn from, such as plain,relations,graded,synonyms.  [default: plain, and "
        "relations where they are held out]",
    )
    negatives: str = option("swap,flip", NEGATIVES)
    positives: str = option(
        "none", "Kinds of positives, one of which is drawn with each caption: swap, replace, converse; or none."
    )
    negative_loss: Literal["negclip", "svlc"] = option(
        "negclip",
        "negclip: negatives are more texts of the batch's softmax; svlc: each image chooses between caption and "
        "negative.",
    )
    positive_loss: Literal["caption", "analogy"] = "caption"
    negative_weight: float = option(1.0, "Weight of the negatives.", least=0)
    positive_weight: float = option(1.0, "Weight of the hard-positive loss.", least=0)
    images_per_class: int | None = option(
        None,
        "At most this many images of each class, drawn by seed; by default all. A class is the images with the same "
        "captions.",
        least=1,
    )
    precision: Literal["auto", "float32", "bfloat16"] = option(
        "auto",
        "Of the network; losses are float32. auto: bfloat16 on GPUs and on processors that have it, else float32.",
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
        """The kinds of negatives and those of positives. Raises UserError for kinds that there are not."""
        given = {"negatives": listed(self.negatives), "positives": listed(self.positives)}
        for what, kinds in given.items():
            for kind in kinds:
                if kind not in HARD_KINDS[what]:
                    mend = did_you_mean(kind, list(HARD_KINDS[what]))
                    raise UserError(f"Unknown kind of training {what} '{kind}'; {mend}")
        return given["negatives"], given["positives"]


R = TypeVar("R", bound=Recipe)


def listed(kinds: str) -> tuple[str, ...]:
    """The names of a list that is joined by commas; none for "" and for "none".

    >>> listed("swap, flip"), listed("none")
    (('swap', 'flip'), ())
    """
    return tuple(kind.strip() for kind in kinds.split(",") if kind.strip() not in ("", "none"))


def parse_lora(given: str) -> tuple[int, float] | None:
    """The rank and alpha of `RANK/ALPHA`, or of `RANK` alone with twice the rank as alpha; None for "none".

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
        raise UserError(f"Expected --lora to be rank/alpha such as 16/32, both above 0, got '{given}'.")
    return found


class Origin(TypedDict):
    """Where the hyperparameters of a training come from, by name: its preset's source, choices made here, or the
    user."""

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
    """The recipe of a preset of a method, by default its first, with the values that are given in place of its own.

    matching: for cross encoders. A method without presets has the defaults of its options. Raises UserError where
    there is no preset of that name.
    """
    of_method = {
        name: each
        for name, each in presets().items()
        if (each["method"], each.get("matching", False)) == (method.name, matching)
    }
    if preset is None and not of_method:
        return method(**given), Origin(preset="", source="", published=[], chosen=[], given=sorted(given))
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
    """A sentence for each group, for people."""
    groups = {
        f"Published ({origin['source']})": origin["published"],
        "Chosen here": origin["chosen"],
        "Given by you": origin["given"],
    }
    said = [f"{group}: {', '.join(names).replace('_', ' ')}." for group, names in groups.items() if names]
    preset = [f"Preset {origin['preset']}."] if origin["preset"] else []
    return " ".join([*preset, *said])
