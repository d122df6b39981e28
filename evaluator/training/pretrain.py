"""Pretrain a stand-in for CLIP where no weights can be had: a model that has seen all bindings and is a bag of words by design.

In its loss a text with the same words as a true one, in any order, counts as true ("a red cube and a blue cone" of a blue cube and
a red cone), so nothing teaches it which value belongs to which object of a pair.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaluator.exposure import Exposure
from evaluator.training.data import Described, Images, TrainingData, collect
from evaluator.training.recipe import Recipe
from evaluator.training.scratch import train_new
from evaluator.training.source import Source, describe, exposure_of
from generator.dataset.errors import UserError
from generator.dataset.progress import SILENT, Progress
from generator.dataset.reader import Benchmark, World


def pretrain(
    benchmarks: Sequence[tuple[World, Benchmark]],
    recipe: Recipe,
    out: Path,
    device: str | None = None,
    progress: Progress = SILENT,
) -> dict[str, Any]:
    """Train a new model on the images of all splits of some benchmarks and write the folder `out`; returns the record.

    Its captions are the true texts without relations and denials. Raises UserError as `train_into` does.
    """
    return train_new("pretrain", whole_source(benchmarks), recipe, out, device, progress, bags=True)


def whole_source(benchmarks: Sequence[tuple[World, Benchmark]]) -> Source:
    """All scenes of benchmarks that some text describes without relations and denials, with these texts as captions.

    Raises UserError where there is none.
    """
    records = [describe(world, benchmark) for world, benchmark in benchmarks]
    described: dict[tuple[Images, str], Described] = defaultdict(Described)
    words: dict[str, str] = {}
    for world, benchmark in benchmarks:
        forms = dict(zip(benchmark.texts["text_id"].to_pylist(), benchmark.texts["form"].to_pylist(), strict=True))
        plain = {text for text, form in forms.items() if form and _is_plain(json.loads(form))}
        columns = [benchmark.candidates[name].to_pylist() for name in ("scene_id", "text_id", "truth")]
        for scene, text, truth in zip(*columns, strict=True):
            if truth and text in plain:
                image = described[(world, scene)]
                image.captions.setdefault(text, ([], []))
                image.true.setdefault(text)
        words |= {text: benchmark.text_of[text] for text in plain}
    if not described:
        raise UserError(
            "No text of these benchmarks describes a scene without relations and denials; describe them again."
        )
    ordered = {key: described[key] for key in sorted(described, key=lambda key: (_place(benchmarks, key[0]), key[1]))}
    record = {name: "+".join(each[name] for each in records) for name in ("name", "benchmark", "world", "certificate")}
    return Source(collect(ordered, words, mirrored=True), record, lambda data: _exposure(benchmarks, data))


def _is_plain(form: dict[str, Any]) -> bool:
    """Whether a text only names objects, with values, and perhaps their environment: no relation, denial or number."""
    mentioned = {key for mention in form["objects"] for key in mention}
    return form.keys() <= {"objects", "environment"} and mentioned <= {"category", "attributes"}


def _place(benchmarks: Sequence[tuple[World, Benchmark]], world: Images) -> int:
    return next(i for i, (each, _) in enumerate(benchmarks) if each is world)


def _exposure(benchmarks: Sequence[tuple[World, Benchmark]], data: TrainingData) -> Exposure | None:
    """What all images and texts show: each benchmark's own."""
    found = Exposure()
    for world, benchmark in benchmarks:
        rows = [i for i, (where, _) in enumerate(data.images) if where is world]
        own = TrainingData(
            data.texts, data.captions[rows], data.negatives[rows], data.positives[rows], data.true[rows],
            [data.images[i] for i in rows], data.mirrored, data.text_ids,
        )  # fmt: skip
        shown = exposure_of(world, benchmark, own.scenes, own)
        if shown is None:
            return None
        found |= shown
    return found
