"""`Source`: what a training learns from, and what its record says of it; the train split of a benchmark as one."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import pyarrow.compute as pc

from evaluator.provenance.certificate import found_certificate
from evaluator.provenance.exposure import Exposure, read_exposure
from evaluator.training.data import (
    NEGATIVE,
    POSITIVE,
    TRAIN,
    Described,
    Images,
    TrainingData,
    check_kinds,
    collect,
)
from evaluator.training.recipe import CAPTION, Recipe, listed
from generator.base.errors import UserError
from generator.dataset.reader import Benchmark, World


@dataclass(frozen=True)
class Source:
    """Data; `record`, their name, digests and certificate; and what they show, None where that is not known."""

    data: TrainingData
    record: dict[str, str]
    exposure: Callable[[TrainingData], Exposure | None]


def benchmark_source(world: World, benchmark: Benchmark, recipe: Recipe) -> Source:
    """The train split of a benchmark. Raises UserError where its certificate in the folder says `failed`."""
    record = describe(world, benchmark)
    data = read_training_data(
        world,
        benchmark,
        listed(recipe.texts or ""),
        listed(recipe.negatives),
        listed(recipe.positives),
        recipe.positive_loss == CAPTION,
    )
    return Source(data, record, lambda used: exposure_of(world, benchmark, used.scenes, used))


def exposure_of(world: World, benchmark: Benchmark, scenes: Sequence[str], data: TrainingData) -> Exposure | None:
    """What scenes of a benchmark show and the texts of data name."""
    return read_exposure(world, benchmark, scenes, [data.text_ids[row] for row in data.used()])


def describe(world: World, benchmark: Benchmark) -> dict[str, str]:
    """What a record says of a benchmark. Raises UserError where its certificate in the folder says `failed`."""
    certificate = found_certificate(benchmark, world)
    if certificate.startswith("failed"):
        raise UserError(
            f"{benchmark.folder} is not trained on: its certificate says that it failed; `gen verify "
            f"{world.folder.parent}` names the rows. Make the benchmark again."
        )
    return {
        "name": benchmark.name,
        "benchmark": benchmark.digest,
        "world": world.digest,
        "certificate": certificate,
    }


def default_kinds(benchmark: Benchmark) -> tuple[str, ...]:
    """The kinds of training captions to learn from: plain ones, and relations where relations are held out; all kinds
    where a benchmark has no plain ones.
    """
    there = tuple(sorted(set(benchmark.items_of(TRAIN)["kind"].to_pylist())))
    related = bool((benchmark.holdout or {}).get("triples"))
    usual = tuple(kind for kind in ("plain", *(("relations",) if related else ())) if kind in there)
    return usual or there


def read_training_data(
    world: World,
    benchmark: Benchmark,
    kinds: Collection[str] = (),
    negatives: Collection[str] = (),
    positives: Collection[str] = (),
    as_captions: bool = False,
) -> TrainingData:
    """Read the train split: captions of some kinds (none for `default_kinds`), their negatives and positives of some
    kinds.

    as_captions: whether these positives are captions like others, instead. Raises UserError when the train split is
    empty, when an item of the protocol train is not of the split train, or its scene is not, and for kinds that there
    are not.
    """
    check_kinds(negatives, positives)
    _check_split(benchmark)
    kind_of = _kinds_of(benchmark, kinds)
    words = benchmark.text_of
    described: dict[str, Described] = defaultdict(Described)
    columns = [
        benchmark.candidates[name].to_pylist() for name in ("item_id", "scene_id", "text_id", "slot", "kind", "of")
    ]
    said: set[str] = set()
    for item_id, scene_id, text_id, slot, kind, of in zip(*columns, strict=True):
        if item_id not in kind_of:
            continue
        image = described[scene_id]
        if slot == NEGATIVE:
            if kind in negatives:
                image.captions[of][0].append(text_id)
                said.add(text_id)
            continue
        image.true.setdefault(text_id)
        said.add(text_id)
        if slot != POSITIVE or (as_captions and kind in positives):
            image.captions.setdefault(text_id, ([], []))
        elif kind in positives:
            image.captions[of][1].append(text_id)
    ordered: dict[tuple[Images, str], Described] = {(world, scene): described[scene] for scene in sorted(described)}
    return collect(ordered, words, not says_where(benchmark, said))


def says_where(benchmark: Benchmark, texts: Collection[str]) -> bool:
    """Whether some of these texts state a relation, or have no form that would tell: mirroring could make them
    false."""
    form_of = dict(zip(benchmark.texts["text_id"].to_pylist(), benchmark.texts["form"].to_pylist(), strict=True))
    return any(form_of[text] is None or json.loads(form_of[text]).get("relations") for text in texts)


def _kinds_of(benchmark: Benchmark, kinds: Collection[str]) -> dict[str, str]:
    """The kind of each training item of these kinds."""
    items = benchmark.items_of(TRAIN)
    found = dict(zip(items["item_id"].to_pylist(), items["kind"].to_pylist(), strict=True))
    if not found:
        raise UserError(
            f"{benchmark.folder} has no training items: its train split is empty; render scenes for it (`gen render "
            "--scenes`)."
        )
    if unknown := sorted(set(kinds) - set(found.values())):
        raise UserError(
            f"{benchmark.folder} has no training texts of the kind {', '.join(unknown)}; it has "
            f"{', '.join(sorted(set(found.values())))}."
        )
    asked = set(kinds or default_kinds(benchmark))
    return {item: kind for item, kind in found.items() if kind in asked}


def _check_split(benchmark: Benchmark) -> None:
    """Training data are the items of protocol train, over the scenes of split train: the judge's definition too."""
    items = benchmark.items_of(TRAIN)
    astray = items.filter(pc.fill_null(pc.not_equal(items["split"], TRAIN), True))["item_id"].to_pylist()
    train = set(items["item_id"].to_pylist())
    scenes = set(benchmark.splits.filter(pc.equal(benchmark.splits["split"], TRAIN))["scene_id"].to_pylist())
    rows = zip(*(benchmark.candidates[name].to_pylist() for name in ("item_id", "scene_id")), strict=True)
    astray += [item_id for item_id, scene_id in rows if item_id in train and scene_id not in scenes]
    if astray:
        raise UserError(
            f"{benchmark.folder} trains on scenes outside its split train ({len(astray)} rows, the first of item "
            f"{astray[0]}), so that nothing would be unseen; `gen verify` names them all. Make the benchmark again."
        )
