"""What is said before a run: how many forward passes, and about how long."""

from collections.abc import Sequence
from typing import Any

from evaluator.scoring.batches import FIRST, Stage, duration
from evaluator.scoring.distributed import Rank
from evaluator.scoring.needs import SAMPLE, Needs
from generator.dataset.commands import say


def passes_of(model: Any, needs: Needs) -> str:
    """One sentence: what a DualEncoder or PairScorer computes, and how many forward passes that is, none of it cached."""
    if hasattr(model, "score_pairs"):
        pairs = len(set(needs.all_pairs()))
        return f"{pairs:,} pairs of image and text to score, {model.passes} forward pass{'es' * (model.passes != 1)} each ({pairs * model.passes:,} forward passes, fewer where cached)."
    images, texts = len(needs.images), len(needs.texts)
    return f"{images:,} images and {texts:,} texts to encode, each once ({images + texts:,} forward passes, fewer where cached)."


def limits_of(needs: Needs) -> list[str]:
    """A sentence for each thing that the model is not asked for, and how to ask for it."""
    said = [
        f"The pool '{pool}' is sampled: the true texts and {SAMPLE} false ones an image, so R@1 has another chance level; --full-pools asks for all of it."
        for pool in needs.sampled
    ]
    return said + [
        f"Raw retrieval of '{protocol}' is left out, since it needs too many forward passes; --full-pools asks for it."
        for protocol in needs.left_out
    ]


def announce_time(stages: Sequence[Stage], rank: Rank) -> None:
    """Say about how long the rest takes, once the first batches are done."""
    seconds = sum(stage.seconds for stage in stages)
    if rank.first and seconds:
        share = f" for this process's share, one of {rank.size}" if rank.size > 1 else ""
        say(
            f"About {duration(seconds)}{share}: an estimate from first batches of at most {FIRST}; larger ones are often faster."
        )
    elif rank.first:
        cached = sum(stage.known for stage in stages)
        say(f"Nothing is left to compute ({cached:,} were cached)." if cached else "Nothing is left to compute.")
