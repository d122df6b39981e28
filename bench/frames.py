"""What can be told of frames of reference without looking: `python -m bench.frames FAMILY HOLDOUT`.

Prints the table of docs/frames.md: the blind test of `score audit`, which reads texts, and a reader
that knows where the objects stand in both images, how far the camera turned and what the objects
are, but not where they look. Nothing is rendered: neither reads pixels.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evaluator.audits.blind import make_pairs, quick_test
from evaluator.audits.sample import draw_samples
from evaluator.statistics.intervals import Estimate, cluster_mean
from generator.dataset.reader import Benchmark, Dataset
from generator.describe.benchmark import describe_world
from generator.describe.request import TextRequest, read_text_preset
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.scene.relations import along, ground_directions
from generator.scene.scene import Scene
from tests.generator.unrendered import write_planned

HOLDOUT = "3x3"
SCENES = {"train": 60, "val": 10, "seen": 600, "partial": 400, "unseen": 400}
"""Scenes of each split; training ones are not asked about. A holdout of relations alone has no
scene in `partial`."""
FOLDS = 5
"""Folds of the readers, by cluster."""
_SIDES = ("left", "right", "front", "behind")


class _Example(NamedTuple):
    """A question for the reader of places."""

    kind: str
    """Protocol and kind of the item."""
    cluster: str
    """The cluster of the item."""
    features: list[float]
    """What the reader knows."""
    answer: int
    """The index of the true direction in `_SIDES`."""
    options: tuple[int, ...]
    """The indices of the directions to choose among."""


def write_benchmarks_of(family: str, holdout: str, root: Path) -> Dataset:
    """Write a world of turn twins without images, with the benchmarks `two` and `bare`.

    Args:
        family: A family with frames of reference.
        holdout: The value of `--holdout`.
        root: The folder of the dataset.

    Returns:
        The dataset.
    """
    scenes = dict(SCENES)
    # Planning would refuse a split without scenes.
    if holdout.startswith(("relation:", "own-")):
        del scenes["partial"]
    options = WorldOptions(
        family=family,
        holdout=holdout,
        scenes=scenes,
        resolution="64x48",
        viewpoints=4,
        turns="90,180,270",
    )
    prepared = prepare(options)
    write_planned(root, prepared)
    bare = read_text_preset("bare")
    for name, request in (
        ("two", TextRequest(("frames", "views"))),
        ("bare", TextRequest(bare.protocols, bare.options)),
    ):
        world = Dataset.open(root).world
        describe_world(root, world, holdout=prepared.holdout, name=name, request=request)
    return Dataset.open(root)


def audit_texts(benchmark: Benchmark) -> Iterator[tuple[str, Estimate]]:
    """Run the quick blind test on each kind of a benchmark.

    Args:
        benchmark: The benchmark.

    Yields:
        The name of each kind, and the share of pairs of texts that the learner tells apart.
    """
    for sample in draw_samples(benchmark, (), most_items=1500, seed=0):
        questions = sample.questions
        clusters = np.array([question.cluster for question in questions])
        # Folds are of clusters, so that no text of a tested cluster was learnt from.
        if len(set(clusters)) < FOLDS:
            continue
        pairs = make_pairs(
            [question.caption for question in questions],
            [question.negative for question in questions],
            clusters=clusters.tolist(),
            perplexities=np.full((len(questions), 2), np.nan),
        )
        yield str(sample.kind), cluster_mean(quick_test(pairs, 0).outcomes, clusters)


def audit_places(dataset: Dataset, benchmark: Benchmark) -> Iterator[tuple[str, Estimate]]:
    """Measure what the places of objects tell of the questions whose answer their headings decide.

    Args:
        dataset: The dataset.
        benchmark: Its benchmark `two`.

    Yields:
        The name of each kind, and the share of its items that a learner gets right that was trained
        on other clusters.
    """
    examples = [*_examples(dataset, benchmark)]
    for kind in sorted({example.kind for example in examples}):
        of_kind = [example for example in examples if example.kind == kind]
        clusters = np.array([example.cluster for example in of_kind])
        yield kind, cluster_mean(_learn(of_kind, clusters), clusters)


def _learn(examples: list[_Example], clusters: np.ndarray) -> np.ndarray:
    """Whether a learner of boosted trees chooses each answer, trained on other clusters."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import GroupKFold

    features = np.array([example.features for example in examples])
    answers = np.array([example.answer for example in examples])
    right = np.zeros(len(examples))
    folds = GroupKFold(FOLDS, shuffle=True, random_state=0)
    for train, test in folds.split(features, groups=clusters):
        trees = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, random_state=0)
        trees.fit(features[train], answers[train])
        shares = trees.predict_proba(features[test])
        for row, shares_of_row in zip(test, shares, strict=True):
            # A fold may lack a direction, which then has no share.
            share_of = dict(zip(trees.classes_.tolist(), shares_of_row, strict=True))
            options = examples[row].options
            right[row] = max(options, key=lambda side: share_of.get(side, 0)) == answers[row]
    return right


def _examples(dataset: Dataset, benchmark: Benchmark) -> Iterator[_Example]:
    """The items whose answer depends on a heading."""
    scenes = _scenes(dataset)
    items = {item["item_id"]: item for item in benchmark.items.to_pylist()}
    rows_of: dict[str, list[dict[str, Any]]] = {}
    for row in benchmark.candidates.to_pylist():
        rows_of.setdefault(row["item_id"], []).append(row)
    text_ids = benchmark.texts["text_id"].to_pylist()
    form_of = dict(zip(text_ids, benchmark.texts["form"].to_pylist(), strict=True))
    categories = sorted({obj.category for scene in scenes.values() for obj in scene.objects})
    for item_id, rows in rows_of.items():
        item = items[item_id]
        kind = f"{item['protocol']} {item['kind']}"
        if kind not in ("frames object", "views taken-from"):
            continue

        # What the item asks about.
        true_row = next(row for row in rows if row["truth"] and row["slot"] != "first")
        form = json.loads(form_of[true_row["text_id"]])
        named = [mention["category"] for mention in form["objects"]]
        images = [scenes[scene_id] for scene_id in sorted({row["scene_id"] for row in rows})]

        # What the reader knows: the turn of the camera, where objects stand, and what they are.
        features = [float((images[1].azimuth or 0) - (images[0].azimuth or 0)) % 360]
        for image in images:
            features += _places(image, named)
        features += [float(categories.index(name)) for name in named]
        options: tuple[int, ...]
        if kind == "frames object":
            side = form["relations"][0][1].removeprefix("own-")
            # A relation and its opposite.
            options = (0, 1) if side in ("left", "right") else (2, 3)
            features.append(float(options[0]))
        else:
            side = form["view"].removeprefix("from ")
            options = (0, 1, 2, 3)
        yield _Example(kind, item["cluster_id"], features, _SIDES.index(side), options)


def _places(scene: Scene, named: list[str]) -> list[float]:
    """Where the named objects, and the others, stand in an image: to the right and away, metres."""
    ground = ground_directions(scene.camera)
    in_order = sorted(scene.objects, key=lambda obj: _rank(obj.category, named))
    places = []
    for obj in in_order[:2]:
        places += [along(ground["right"], obj.position), along(ground["behind"], obj.position)]
    return places


def _rank(category: str, named: list[str]) -> int:
    return named.index(category) if category in named else len(named)


def _scenes(dataset: Dataset) -> Mapping[str, Scene]:
    table = dataset.world.scenes
    records = zip(table["scene_id"].to_pylist(), table["scene"].to_pylist(), strict=True)
    return {scene_id: Scene.from_json(record) for scene_id, record in records}


def print_table(family: str = "pug-frames", holdout: str = HOLDOUT) -> None:
    """Print the table of a family.

    Args:
        family: Its name.
        holdout: The value of `--holdout`.
    """
    with tempfile.TemporaryDirectory() as folder:
        dataset = write_benchmarks_of(family, holdout, Path(folder))
        print(f"| {family} | reads | right | items |\n|---|---|---|---:|")
        for name in ("two", "bare"):
            for kind, estimate in audit_texts(dataset.benchmark(name)):
                if not kind.startswith("train"):
                    print(_line(kind, "texts", estimate))
        for kind, estimate in audit_places(dataset, dataset.benchmark("two")):
            print(_line(kind, "places", estimate))


def _line(kind: str, reads: str, estimate: Estimate) -> str:
    interval = f"[{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"
    return f"| {kind} | {reads} | {100 * estimate.value:.1f}% {interval} | {estimate.n_items} |"


if __name__ == "__main__":
    print_table(*sys.argv[1:3])
