"""`Recipe`: the hyperparameters of a training and what it learns from. A method (evaluator.training.methods) is a
recipe too.
"""

from dataclasses import dataclass, fields
from typing import Literal, get_args

from evaluator.runs.request import option
from generator.base.errors import UserError, did_you_mean

NEGCLIP, SVLC = "negclip", "svlc"
CAPTION, ANALOGY = "caption", "analogy"
DUAL, DUAL_VIT, CROSS, DIFFUSION = "dual", "dual-vit", "cross", "diffusion"
"""Architectures of new models (evaluator.training.networks)."""
TINY, SMALL = "tiny", "small"
"""Sizes of new models: tiny is made for a CPU and trains in minutes, small for a GPU."""
NEGATIVES = "Kinds of negatives, one of which is drawn with each caption: swap, replace, flip, neg; or none."


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters, and what to learn from. The defaults are those of training from scratch.

    steps: how many there are; None for those of `epochs`. rate: the peak of one cycle whose share `warmup` rises, or
    constant where `warmup` is 0. decay: of AdamW; Adam at 0. positive_loss: `caption`, where positives are captions
    like others, or `analogy` (evaluator.training.contrastive). flip: whether images are mirrored at random, where no
    text depends on it. shift: the most pixels by which images are shifted.
    """

    epochs: int = option(25, "Passes over the data.", least=1)
    steps: int | None = option(None, "Steps of the training.", least=1)
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
    flip: bool = True
    shift: int = 4
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
            if (
                isinstance(given, str)
                and (choices := get_args(each.type))
                and str not in choices
                and given not in choices
            ):
                raise UserError(f"Unknown {name} '{given}'; {did_you_mean(given, list(choices))}")
            least = each.metadata.get("least")
            if least is not None and given is not None and not least <= given < float("inf"):
                raise UserError(f"Expected the {name} to be a number from {least:g}, got {given}.")


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
