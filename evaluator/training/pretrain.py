"""What a stand-in for CLIP learns from: all bindings, as a bag of words.

An image is described by every text that has the words of a true one, in any order: a red cube and a blue cone also by
"a blue cube and a red cone". So a pair's texts tell its words alone, and nothing teaches which value belongs to which
object.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from evaluator.provenance.exposure import Exposure
from evaluator.training.data import Described, Images, TrainingData, collect
from evaluator.training.source import Source, describe, exposure_of
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World

Named = tuple[tuple[tuple[str, str], ...], str]
"""Values by attribute kind, and a category."""


def whole_source(benchmarks: Sequence[tuple[World, Benchmark]]) -> Source:
    """The scenes of benchmarks that a text names as one object, or as two objects whose exchange of values another text
    names too.

    Captions are all texts with the words of such a true text. Raises UserError where there is none.
    """
    records = [describe(world, benchmark) for world, benchmark in benchmarks]
    described: dict[tuple[Images, str], Described] = {}
    words: dict[str, str] = {}
    for world, benchmark in benchmarks:
        forms = dict(zip(benchmark.texts["text_id"].to_pylist(), benchmark.texts["form"].to_pylist(), strict=True))
        named = {text: pair for text, form in forms.items() if form and (pair := _named(json.loads(form)))}
        same: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for text in named:
            same[_bag(benchmark.text_of[text])].append(text)
        whole = {bag for bag, texts in same.items() if _is_whole([named[text] for text in texts])}
        for scene, true in _true_texts(benchmark, named).items():
            most = max(len(named[text]) for text in true)
            bags = dict.fromkeys(_bag(benchmark.text_of[text]) for text in true if len(named[text]) == most)
            if captions := dict.fromkeys(text for bag in bags if bag in whole for text in same[bag]):
                described[world, scene] = Described({text: ([], []) for text in captions}, captions)
        words |= {text: benchmark.text_of[text] for text in named}
    if not described:
        raise UserError(
            "No text of these benchmarks names one object, or two whose exchange of values is named too (as the pool "
            "of `retrieval` does)."
        )
    ordered = {key: described[key] for key in sorted(described, key=lambda key: (_place(benchmarks, key[0]), key[1]))}
    record = {name: "+".join(each[name] for each in records) for name in ("name", "benchmark", "world", "certificate")}
    return Source(collect(ordered, words, mirrored=True), record, lambda data: _exposure(benchmarks, data))


def _true_texts(benchmark: Benchmark, wanted: Collection[str]) -> dict[str, list[str]]:
    """The true texts of each scene, of those that are wanted."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    columns = [benchmark.candidates[name].to_pylist() for name in ("scene_id", "text_id", "truth")]
    for scene, text, truth in zip(*columns, strict=True):
        if truth and text in wanted:
            found[scene].setdefault(text)
    return {scene: list(texts) for scene, texts in found.items()}


def _named(form: dict[str, Any]) -> tuple[Named, ...]:
    """The values and category of the one or two objects that a text names; nothing where it states anything else."""
    keys = {key for mention in form["objects"] for key in mention}
    if form.keys() > {"objects"} or not keys <= {"category", "attributes"} or len(form["objects"]) > 2:
        return ()
    return tuple((tuple(sorted(each["attributes"].items())), each["category"]) for each in form["objects"])


def _is_whole(texts: Collection[tuple[Named, ...]]) -> bool:
    """Whether texts of the same words name the exchange of values of every pair that they name."""
    found = {frozenset(named) for named in texts}
    swaps = {frozenset({(b[0], a[1]), (a[0], b[1])}) for a, b in (named for named in texts if len(named) == 2)}
    return swaps <= found


def _bag(text: str) -> tuple[str, ...]:
    return tuple(sorted(text.lower().split()))


def _place(benchmarks: Sequence[tuple[World, Benchmark]], world: Images) -> int:
    return next(i for i, (each, _) in enumerate(benchmarks) if each is world)


def _exposure(benchmarks: Sequence[tuple[World, Benchmark]], data: TrainingData) -> Exposure | None:
    """What all images and texts show: each benchmark's own."""
    found = Exposure()
    for world, benchmark in benchmarks:
        rows = [i for i, (where, _) in enumerate(data.images) if where is world]
        own = TrainingData(
            data.texts,
            data.captions[rows],
            data.negatives[rows],
            data.positives[rows],
            data.true[rows],
            [data.images[i] for i in rows],
            data.mirrored,
            data.text_ids,
        )
        shown = exposure_of(world, benchmark, own.scenes, own)
        if shown is None:
            return None
        found |= shown
    return found
