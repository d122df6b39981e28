"""`Recipe`: the hyperparameters of a training, and what it learns from."""

from dataclasses import dataclass

from generator.base.errors import UserError, did_you_mean

PRECISIONS = ("auto", "float32", "bfloat16")
NEGCLIP, SVLC = "negclip", "svlc"
CAPTION, ANALOGY = "caption", "analogy"


@dataclass(frozen=True)
class Recipe:
    """Hyperparameters, and what to learn from. The defaults are those of training from scratch.

    steps: how many there are; None for those of `epochs`. rate: peak of one cycle with a share `warmup` of rising steps, or constant where `warmup` is 0. decay: of AdamW; Adam at 0.
    texts: kinds of training captions, joined by commas; None for `default_kinds`. negatives, positives: their kinds, joined by
    commas; empty for none. Each caption of a step is drawn with one of its negatives and one of its positives.
    negative_loss: `negclip` or `svlc`; positive_loss: `caption`, where positives are captions like others, or `analogy`
    (evaluator.training.losses). Their weights are at least 0.
    flip: whether images are mirrored at random, where nothing that is said depends on it. shift: pixels, at most so many.
    precision: `float32`, `bfloat16` for the towers, or `auto` (evaluator.models.device).
    images_per_class: images are of one class if the same captions describe them; None for all.
    """

    epochs: int = 25
    steps: int | None = None
    batch: int = 96
    rate: float = 1e-3
    decay: float = 0.05
    warmup: float = 0.05
    texts: str | None = None
    negatives: str = "swap,flip"
    positives: str = ""
    negative_loss: str = NEGCLIP
    positive_loss: str = CAPTION
    negative_weight: float = 1.0
    positive_weight: float = 1.0
    flip: bool = True
    shift: int = 4
    images_per_class: int | None = None
    precision: str = "auto"
    seed: int = 0

    def __post_init__(self) -> None:
        choices = {"negative_loss": (NEGCLIP, SVLC), "positive_loss": (CAPTION, ANALOGY), "precision": PRECISIONS}
        for name, known in choices.items():
            if (given := getattr(self, name)) not in known:
                raise UserError(f"Unknown {name.replace('_', ' ')} '{given}'; {did_you_mean(given, list(known))}")
        for name in ("rate", "negative_weight", "positive_weight"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise UserError(
                    f"Expected the {name.replace('_', ' ')} to be a number from 0, got {getattr(self, name)}."
                )


def listed(kinds: str) -> tuple[str, ...]:
    """The names of a list that is joined by commas; none for "" and for "none".

    >>> listed("swap, flip"), listed("none")
    (('swap', 'flip'), ())
    """
    return tuple(kind.strip() for kind in kinds.split(",") if kind.strip() not in ("", "none"))
