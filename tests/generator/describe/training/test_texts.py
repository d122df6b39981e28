"""Training texts hold what evaluation asks: every word, number of atoms and template, and nothing that is held out."""

from collections import defaultdict

import pytest

from bench.worlds import BENCHMARK, write_world
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark, Dataset
from generator.describe.benchmark import describe
from generator.describe.contrasts import NEGATIVES, POSITIVES
from generator.describe.request import Request
from generator.describe.statistics import Statistics
from generator.describe.training import KINDS, TrainingTexts
from generator.judge.verify import verify_dataset
from tests.generator.describe.samples import CELLS, by_slot, scenes
from tests.generator.scenes import captioner, described

FAMILIES = {"clevr-many": (3, 7), "clevr-relations": (2, 4), "pug": (2, 2)}
COUNTS = {"train": 120, "val": 10, "seen": 40, "partial": 30, "unseen": 20}


@pytest.fixture(scope="module", params=FAMILIES)
def benchmark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """A benchmark of all protocols over a family, certified clean."""
    root = tmp_path_factory.mktemp(request.param) / "dataset"
    prepared = write_world(root, COUNTS, request.param, FAMILIES[request.param])
    describe(root, Dataset.open(root).world, prepared.holdout, BENCHMARK, Request())
    certificate = verify_dataset(root, None)[BENCHMARK]
    assert certificate["status"] == "clean", certificate["findings"][:5]
    return Dataset.open(root).benchmark(BENCHMARK)


def _asked(benchmark: Benchmark, of: str) -> tuple[set[object], set[object]]:
    """The values of a column of texts.parquet, or their words: in evaluation, and in training."""
    protocol = {row["item_id"]: row["protocol"] for row in benchmark.items.to_pylist()}
    rows = {row["text_id"]: row for row in benchmark.texts.to_pylist()}
    asked = {row["text_id"] for row in benchmark.pools.to_pylist()}
    trained = set()
    for row in benchmark.candidates.to_pylist():
        if protocol[row["item_id"]] == "train":
            trained.add(row["text_id"])
        elif of != "atoms" or row["slot"] == "c":
            asked.add(row["text_id"])

    def values(texts: set[str]) -> set[object]:
        if of == "words":
            return {
                word for text in texts for word in rows[text]["text"].lower().replace(",", "").replace(".", "").split()
            }
        if of == "atoms":
            return {sum(rows[text][f"n_{name}"] for name in ("objects", "attributes", "relations")) for text in texts}
        return {rows[text]["template"] for text in texts}

    return values(asked), values(trained)


@pytest.mark.full
@pytest.mark.parametrize("of", ["words", "atoms", "template"])
def test_evaluation_asks_nothing_that_training_never_shows(benchmark: Benchmark, of: str) -> None:
    asked, trained = _asked(benchmark, of)
    assert len(asked) > 5
    assert asked <= trained
    assert benchmark.manifest["unknown_words"] == {}


@pytest.mark.full
def test_every_kind_is_in_every_family(benchmark: Benchmark) -> None:
    item_kind = {row["item_id"]: row["kind"] for row in benchmark.items_of("train").to_pylist()}
    assert set(item_kind.values()) == set(KINDS)
    found = defaultdict(set)
    for row in benchmark.candidates.to_pylist():
        if row["item_id"] in item_kind:
            found[row["slot"]].add(row["kind"])
    assert found == {"c": {None}, "n": set(NEGATIVES), "p": set(POSITIVES)}


def _texts(**options: object) -> TrainingTexts:
    return TrainingTexts(captioner(), CELLS, **options)  # type: ignore[arg-type]


def test_kinds_negatives_and_positives_are_those_asked_for() -> None:
    training = _texts(kinds=("graded", "plain"), negatives=("neg", "swap"), positives=("replace",))
    kinds, negatives, positives = set(), set(), set()
    for number, scene in scenes(40, 2, 2, 6):
        for item in training.items(described(scene, "train"), Stream(number)):
            kinds.add(item.kind)
            negatives |= {each.kind for each in by_slot(item, "n")}
            positives |= {each.kind for each in by_slot(item, "p")}
    assert (kinds, negatives, positives) == ({"graded", "plain"}, {"neg", "swap"}, {"replace"})


def test_every_negative_and_positive_belongs_to_the_caption_of_its_item() -> None:
    training = _texts()
    for number, scene in scenes(60, 3, 1, 6):
        for item in training.items(described(scene, "train"), Stream(number)):
            caption, *others = item.candidates
            assert (caption.slot, caption.truth, caption.kind, caption.of) == ("c", True, None, None)
            assert all(each.of == caption.text for each in others)
            assert all(each.truth is (each.slot == "p") for each in others)
            assert len({each.text for each in item.candidates}) == len(item.candidates)
            assert len({(each.slot, each.kind) for each in others}) == len(others)


def test_captions_of_statistics_stand_alone_or_beside_others() -> None:
    asked = Statistics(0.5, 0.5, 0.0)
    assert _texts(kinds=(), statistics=asked).kinds == ("statistics",)
    both = _texts(kinds=("plain",), statistics=asked)
    assert both.kinds == ("plain", "statistics")
    for number, scene in scenes(20, 2, 3, 5):
        shown = described(scene, "train")
        shown.salience = (0.0,) * len(scene.objects)
        list(both.items(shown, Stream(number)))
    assert both.report()["captions"] == 20
    assert _texts().report() == {}


@pytest.mark.parametrize("template", ["spare", "there-is", "clauses"])
def test_a_requested_template_says_what_it_can(template: str) -> None:
    training = TrainingTexts(captioner(template=template), CELLS, ("plain", "relations"), positives=())
    found = defaultdict(set)
    for number, scene in scenes(40, 6, 2, 3):
        for item in training.items(described(scene, "train"), Stream(number)):
            found[item.kind] |= {each.text.template for each in item.candidates}
    if template == "clauses":
        assert found["relations"] == {"clauses"}
        assert len(found["plain"]) > 1
    else:
        assert template in found["plain"]
        assert template not in found["relations"]
