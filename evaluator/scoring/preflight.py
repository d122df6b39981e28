"""What a run will cost, stated before it starts: forward passes, and an estimate of the time."""

import logging
from collections.abc import Sequence

from evaluator.models.contracts import Model, PairScorer
from evaluator.scoring.batches import FIRST, BatchRunner, duration
from evaluator.scoring.distributed import Process
from evaluator.scoring.needs import SAMPLE, Needs

logger = logging.getLogger(__name__)


def describe_cost(model: Model, needs: Needs) -> str:
    """One sentence: what a model computes, and how many forward passes that takes if nothing is cached."""
    if isinstance(model, PairScorer):
        pairs = needs.count()
        if own := getattr(model, "describe_cost", None):
            return str(own(pairs))
        return f"{pairs:,} pairs of image and text to score, {model.passes} forward pass{'es' * (model.passes != 1)} each ({pairs * model.passes:,} forward passes, fewer where cached)."
    images, texts = len(needs.images), len(needs.texts)
    return f"{images:,} images and {texts:,} texts to encode, each once ({images + texts:,} forward passes, fewer where cached)."


def describe_limits(needs: Needs) -> list[str]:
    """One sentence for each pool or protocol that costs too much and is sampled or left out, with the option that asks for it."""
    sampled = [
        f"The pool '{pool}' is sampled: the true texts and {SAMPLE} false ones an image, so R@1 has another chance level; --full-pools asks for all of it."
        for pool in needs.sampled
    ]
    return sampled + [
        f"Raw retrieval of '{protocol}' is left out, since it needs too many forward passes; --full-pools asks for it."
        for protocol in needs.left_out
    ]


def announce_time(runners: Sequence[BatchRunner], process: Process) -> None:
    """Announce about how long the rest takes, after the first batches."""
    seconds = sum(runner.seconds for runner in runners)
    if process.is_main and seconds:
        share = f" for this process's share, one of {process.count}" if process.count > 1 else ""
        logger.info(
            f"About {duration(seconds)}{share}: an estimate from first batches of at most {FIRST}; larger ones are often faster."
        )
    elif process.is_main:
        cached = sum(runner.known for runner in runners)
        logger.info(
            f"Nothing is left to compute ({cached:,} were cached)." if cached else "Nothing is left to compute."
        )
