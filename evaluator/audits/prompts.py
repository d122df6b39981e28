"""Chooses the captions, images and models that figures of embeddings and of drawn images show."""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.audits.sample import CAPTION
from evaluator.benchmarks.tables import rows_of
from evaluator.models.registry import load_model, name_and_spec
from evaluator.protocols.items import split_rank
from evaluator.provenance.contamination import training_of
from evaluator.runs.folder import folder_name
from evaluator.training.source import default_kinds
from generator.base.errors import UserError, did_you_mean
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark, World
from generator.dataset.records import TRAIN

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prompt:
    """A caption of a split, and a scene that it is true of."""

    split: str
    """The split."""
    text: str
    """The caption."""
    scene_id: str
    """The scene."""


def choose_prompts(
    benchmark: Benchmark, splits: Sequence[str], *, most: int, seed: int
) -> list[Prompt]:
    """Draw captions of splits.

    Args:
        benchmark: The benchmark.
        splits: The splits; empty for the default of `choose_splits`.
        most: The most captions of a split.
        seed: The seed of the captions and of their scenes.

    Returns:
        The captions, by split.

    Raises:
        UserError: A split has no captions.
    """
    scenes_of = captions_of(benchmark)
    prompts = []
    for split in choose_splits(benchmark, scenes_of, splits):
        # A stream for each split: another split does not change the prompts of this one.
        stream = Stream(seed, "prompts", split)
        for text in stream.sample(sorted(scenes_of[split]), most):
            # By the text, so that more captions do not change the image of a caption.
            draws = Stream(seed, "image of a prompt", text)
            (scene,) = draws.sample(scenes_of[split][text], 1)
            prompts.append(Prompt(split, text, scene))
    return prompts


def choose_splits(
    benchmark: Benchmark, available: Collection[str], splits: Sequence[str]
) -> list[str]:
    """Choose the splits that a figure shows.

    Args:
        benchmark: The benchmark, for the messages.
        available: Its splits that have captions.
        splits: The splits that the user names; empty: train, then all others but validation splits,
            which are shown if no other is left.

    Returns:
        The splits, each once.

    Raises:
        UserError: A split is not available, or none is.
    """
    # In the order of reports, but training first: a figure shows what was learnt, then what was
    # not.
    known = sorted(available, key=lambda split: (split != TRAIN, split_rank(split)))
    for split in splits:
        if split not in known:
            raise UserError(
                f"{benchmark.name} has no captions of a split '{split}'; "
                f"{did_you_mean(split, known)}"
            )
    if not known:
        raise UserError(
            f"{benchmark.folder} has no captions; render scenes for its splits (`gen render "
            f"--scenes`)."
        )
    if splits:
        return list(dict.fromkeys(splits))
    return [split for split in known if not split.endswith("val")] or known


def captions_of(benchmark: Benchmark) -> dict[str, dict[str, list[str]]]:
    """Collect the true captions of a benchmark.

    Args:
        benchmark: The benchmark.

    Returns:
        {split: {caption: the scenes that it is true of}}. For train: the captions that training
        uses by default.
    """
    labels_of = {}
    for item, *labels in rows_of(benchmark.items, "item_id", "protocol", "split", "kind"):
        labels_of[item] = labels
    training_kinds = default_kinds(benchmark) if benchmark.items_of(TRAIN).num_rows else ()
    captions: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    columns = ("item_id", "scene_id", "text_id", "slot", "truth")
    for item, scene, text_id, slot, truth in rows_of(benchmark.candidates, *columns):
        protocol, split, kind = labels_of[item]
        if not truth or slot != CAPTION:
            continue
        # Captions of training that models do not read by default would show what no model has
        # learnt.
        if protocol == TRAIN and kind not in training_kinds:
            continue
        scenes = captions[split][benchmark.text_of[text_id]]
        # Several items can ask the same caption of the same image.
        if scene not in scenes:
            scenes.append(scene)
    return captions


def load_models(
    models: Sequence[str],
    world: World,
    benchmark: Benchmark,
    *,
    scenes: Collection[str],
    device: str | None,
) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Iterate over models, each of which is loaded when it is reached.

    Args:
        models: [NAME=]SPEC of each.
        world: The world of the images.
        benchmark: The benchmark of the captions.
        scenes: The scenes that are shown. Models trained on them are contaminated.
        device: The device; None: the first GPU, else the CPU.

    Yields:
        The name, the model, and its record, which describes its training.

    Raises:
        UserError: Two models have the same name.
    """
    named = [name_and_spec(model) for model in models]
    # Each model's images lie in a folder of its name.
    folders = {folder_name(name) for name, _ in named}
    if len(folders) < len(named):
        raise UserError(
            f"Expected models with different names, got {', '.join(models)}; write NAME=MODEL."
        )
    for name, spec in named:
        model: Any = load_model(spec, device)
        training = training_of(model, world, benchmark=benchmark, images=scenes)
        logger.info(f"{name}: {training['sentence']}")
        yield name, model, {"model": spec, **model.info, "training": training}
