"""Checks that scenes are in the splits that the holdout gives them, and that no group or image is in two splits."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from generator.judge.benchmark import Benchmark
from generator.judge.files import repeated
from generator.judge.findings import Finding, finding
from generator.judge.geometry import SceneGeometry
from generator.judge.held_out import CLASSES, HeldOut


def split_findings(benchmark: Benchmark) -> Iterator[Finding]:
    """Scenes listed twice or in the wrong split, groups and images in two splits, and wrong counts.

    Splits of class lists (design gzsl) are not checked by held-out facts: class_lists.py checks their labels.
    """
    clusters: dict[str, set[str]] = defaultdict(set)
    images: dict[str, set[str]] = defaultdict(set)
    digests = benchmark.world.image_digests
    for scene_id in repeated(benchmark.tables["splits"]["scene_id"]):
        yield finding("repeated scene", f"scene {scene_id} is in splits.parquet more than once")
    for scene_id, split in benchmark.split_of.items():
        if split is None:
            continue
        if scene_id not in benchmark.world.shown:
            yield finding("missing scene", f"scene {scene_id} is in split {split} and was not rendered")
            continue
        shown = benchmark.world.shown[scene_id]
        images[digests.get(scene_id, scene_id)].add(split)
        if benchmark.held_out.design != CLASSES:
            clusters[benchmark.held_out.cluster(shown)].add(split)
            yield from _misplaced(scene_id, split, shown, benchmark.held_out)
    for cluster, splits in clusters.items():
        if len(splits) > 1:
            yield finding("shared group", f"scenes of {cluster} are in {' and '.join(sorted(splits))}")
    for image, splits in images.items():
        if len(splits) > 1:
            yield finding("shared image", f"one image ({image[:12]}…) is in {' and '.join(sorted(splits))}")
    counts = Counter(split for split in benchmark.split_of.values() if split)
    listed = dict(benchmark.manifest.get("scenes", {}))
    for split in sorted({*counts, *listed}):
        if counts[split] != listed.get(split):
            yield finding(
                "wrong count",
                f"split {split} has {counts[split]} scenes, the manifest says {listed.get(split, 'nothing')}",
            )


def _misplaced(scene_id: str, split: str, shown: SceneGeometry, held_out: HeldOut) -> Iterator[Finding]:
    """A scene in the wrong split by its held-out facts. For training scenes leaks.py checks this."""
    bindings, facts = held_out.bindings_shown(shown), held_out.facts_shown(shown)
    absent = held_out.absent_shown(shown)
    ends = {end for i, _, j in facts for end in (i, j)}
    bound = not held_out.bindings or len(bindings) == len(shown.objects)
    related = not held_out.triples or len(ends) == len(shown.objects)
    whole = bool(bindings or facts) and bound and related
    fits = {
        "train": True,
        "val": not bindings and not facts,
        "seen": not bindings and not facts,
        "partial": bool(bindings or facts) and not whole,
        "unseen": whole,
        "unseen_atoms": bool(absent),
    }
    if not fits.get(split, False) or (absent and split not in ("train", "unseen_atoms")):
        told = [*map(" ".join, bindings), *map(" ".join, held_out.triples_shown(shown)), *absent]
        yield finding(
            "wrong split",
            f"scene {scene_id} is in {split} and shows {len(bindings)} held-out bindings, {len(facts)} held-out relations and "
            f"{len(absent)} values or objects that training lacks ({', '.join(told) or 'none'})",
        )
