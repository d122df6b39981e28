"""Chooses the captions, images and models that figures of embeddings and of drawn images show."""

import logging
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evaluator.benchmarks.tables import rows_of
from evaluator.models.registry import load_model, name_and_spec
from evaluator.protocols.items import split_rank
from evaluator.provenance.contamination import training_of
from evaluator.runs.folder import folder_name
from evaluator.training.source import default_kinds
from generator.base.errors import UserError, did_you_mean
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark, World

logger = logging.getLogger(__name__)
TRAIN, CAPTION = "train", "c"


@dataclass(frozen=True)
class Prompt:
    """A caption of a split, and a scene that it is true of."""

    split: str
    text: str
    scene_id: str


def choose_prompts(
    benchmark: Benchmark, splits: Sequence[str], number: int, seed: int
) -> list[Prompt]:
    """At most `number` captions of each split, drawn by seed. Raises UserError for a split without
    captions."""
    scenes = captions_of(benchmark)
    return [
        Prompt(
            split, text, Stream(seed, "image of a prompt", text).sample(scenes[split][text], 1)[0]
        )
        for split in shown_splits(benchmark, scenes, splits)
        for text in Stream(seed, "prompts", split).sample(sorted(scenes[split]), number)
    ]


def shown_splits(benchmark: Benchmark, there: Collection[str], asked: Sequence[str]) -> list[str]:
    """The splits in `asked`; by default train, then all others of `there` but validation splits (if
    any are left).

    Raises UserError for a split that is not `there`, and if `there` is empty.
    """
    known = sorted(there, key=lambda split: (split != TRAIN, split_rank(split)))
    for split in asked:
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
    return (
        list(dict.fromkeys(asked))
        or [split for split in known if not split.endswith("val")]
        or known
    )


def captions_of(benchmark: Benchmark) -> dict[str, dict[str, list[str]]]:
    """Maps split → caption → the scenes that it is true of. For train: the captions that training
    uses by default."""
    items = {
        item: rest
        for item, *rest in rows_of(benchmark.items, "item_id", "protocol", "split", "kind")
    }
    learnt = default_kinds(benchmark) if benchmark.items_of(TRAIN).num_rows else ()
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    columns = ("item_id", "scene_id", "text_id", "slot", "truth")
    for item_id, scene_id, text_id, slot, truth in rows_of(benchmark.candidates, *columns):
        protocol, split, kind = items[item_id]
        if truth and slot == CAPTION and (protocol != TRAIN or kind in learnt):
            of_text = found[split][benchmark.text_of[text_id]]
            if scene_id not in of_text:
                of_text.append(scene_id)
    return found


def models_shown(
    models: Sequence[str],
    world: World,
    benchmark: Benchmark,
    scenes: Collection[str],
    device: str | None,
) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yields the name, the model and the record of each [NAME=]SPEC; loads a model when it is
    reached. The record describes its training; models trained on `scenes` are contaminated.

    Raises UserError for two models with the same name.
    """
    named = [name_and_spec(model) for model in models]
    if len({folder_name(name) for name, _ in named}) < len(named):
        raise UserError(
            f"Expected models with different names, got {', '.join(models)}; write NAME=MODEL."
        )
    for name, spec in named:
        model: Any = load_model(spec, device)
        training = training_of(model, world, benchmark, scenes)
        logger.info(f"{name}: {training['said']}")
        yield name, model, {"model": spec, **model.info, "training": training}
