"""Training texts hold what evaluation asks: every word, number of atoms and template, and nothing
that is held out."""

import random
from collections import Counter, defaultdict

import pytest

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.dataset.reader import Benchmark, Dataset
from generator.describe.benchmark import describe_world
from generator.describe.captioner import Captioner, Text
from generator.describe.request import TextRequest
from generator.describe.scenes import DescribedScene
from generator.describe.statistics import CaptionStatistics, MeasuredCaptions, parse_statistics
from generator.describe.training import KINDS, NEGATIVES, POSITIVES, TrainingTexts, paraphrase
from generator.holdout.blocks import draw_block
from generator.judge.verify import verify_dataset
from generator.language.complexity import LeastUsed
from generator.language.form import Form
from tests.generator.describe.samples import CELLS, asked, by_slot, change_of, scenes
from tests.generator.scenes import (
    HOLDOUT,
    RELATIONS,
    VOCABULARY,
    captioner,
    described,
    facts_of,
    form_of,
    random_scene,
    scene_of,
)
from tests.generator.unrendered import BENCHMARK, write_world

FAMILIES = {"clevr-many": (3, 7), "clevr-relations": (2, 4), "pug": (2, 2)}
COUNTS = {"train": 120, "val": 10, "seen": 40, "partial": 30, "unseen": 20}


@pytest.fixture(scope="module", params=FAMILIES)
def benchmark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Benchmark:
    """A benchmark of all protocols over a family, certified clean."""
    root = tmp_path_factory.mktemp(request.param) / "dataset"
    prepared = write_world(root, COUNTS, request.param, FAMILIES[request.param])
    describe_world(
        root,
        Dataset.open(root).world,
        holdout=prepared.holdout,
        name=BENCHMARK,
        request=TextRequest(),
    )
    certificate = verify_dataset(root, None)[BENCHMARK]
    assert certificate["status"] == "clean", certificate["findings"][:5]
    return Dataset.open(root).benchmark(BENCHMARK)


def _values(row: dict, of: str) -> set[object]:
    """The words of a text, its number of atoms, or its template."""
    if of == "words":
        return {*row["text"].lower().replace(",", "").replace(".", "").split()}
    return {
        row["template"]
        if of == "template"
        else row["n_objects"] + row["n_attributes"] + row["n_relations"]
    }


@pytest.mark.full
@pytest.mark.parametrize("of", ["words", "atoms", "template"])
def test_evaluated_texts_have_no_word_template_or_atom_that_training_lacks(
    benchmark: Benchmark, of: str
) -> None:
    """Numbers of atoms are those of captions."""
    protocol = {row["item_id"]: row["protocol"] for row in benchmark.items.to_pylist()}
    values = {row["text_id"]: _values(row, of) for row in benchmark.texts.to_pylist()}
    pooled = set().union(*(values[row["text_id"]] for row in benchmark.pools.to_pylist()))
    trained: set[object] = set()
    for row in benchmark.candidates.to_pylist():
        if protocol[row["item_id"]] == "train":
            trained |= values[row["text_id"]]
        elif of != "atoms" or row["slot"] == "c":
            pooled |= values[row["text_id"]]
    assert len(pooled) > 5
    assert pooled <= trained
    assert benchmark.manifest["unknown_words"] == {}


@pytest.mark.full
def test_every_kind_is_in_every_family(benchmark: Benchmark) -> None:
    item_kind = {row["item_id"]: row["kind"] for row in benchmark.items_of("train").to_pylist()}
    assert set(item_kind.values()) == set(KINDS)
    kinds = defaultdict(set)
    for row in benchmark.candidates.to_pylist():
        if row["item_id"] in item_kind:
            kinds[row["slot"]].add(row["kind"])
    assert kinds == {"c": {None}, "n": set(NEGATIVES), "p": set(POSITIVES)}


def _texts(**options: object) -> TrainingTexts:
    return TrainingTexts(captioner(), CELLS, **options)  # type: ignore[arg-type]


def test_training_texts_have_the_requested_kinds_negatives_and_positives() -> None:
    training = _texts(kinds=("graded", "plain"), negatives=("neg", "swap"), positives=("replace",))
    kinds, negatives, positives = set(), set(), set()
    for _, item in asked(training, 40, 2, 2, 6, "train"):
        kinds.add(item.kind)
        negatives |= {negative.kind for negative in by_slot(item, "n")}
        positives |= {positive.kind for positive in by_slot(item, "p")}
    assert (kinds, negatives, positives) == ({"graded", "plain"}, {"neg", "swap"}, {"replace"})


def test_every_negative_and_positive_belongs_to_the_caption_of_its_item() -> None:
    for _, item in asked(_texts(), 60, 3, 1, 6, "train"):
        caption, *others = item.candidates
        assert (caption.slot, caption.truth, caption.kind, caption.of) == ("c", True, None, None)
        assert all(candidate.of == caption.text for candidate in others)
        assert all(candidate.truth is (candidate.slot == "p") for candidate in others)
        assert len({candidate.text for candidate in item.candidates}) == len(item.candidates)
        assert len({(candidate.slot, candidate.kind) for candidate in others}) == len(others)


@pytest.mark.parametrize("template", ["spare", "there-is", "clauses"])
def test_a_requested_template_is_used_where_it_fits(template: str) -> None:
    training = TrainingTexts(
        captioner(template=template), CELLS, kinds=("plain", "relations"), positives=()
    )
    templates = defaultdict(set)
    for _, item in asked(training, 40, 6, 2, 3, "train"):
        templates[item.kind] |= {candidate.text.template for candidate in item.candidates}
    if template == "clauses":
        assert templates["relations"] == {"clauses"}
        assert len(templates["plain"]) > 1
    else:
        assert template in templates["plain"]
        assert template not in templates["relations"]


@pytest.mark.parametrize(
    ("density", "completeness", "saliency"),
    [(0.5, 0.7, 1.0), (0.2, 0.4, 0.0), (1.0, 1.0, 0.5), (0.0, 0.1, 0.0)],
)
def test_captions_have_the_requested_statistics(
    density: float, completeness: float, saliency: float
) -> None:
    requested = parse_statistics(
        f"density={density},completeness={completeness},saliency={saliency}"
    )
    assert requested == CaptionStatistics(density, completeness, saliency)
    captions = MeasuredCaptions(requested, VOCABULARY)
    assert captions.report()["density"] is None
    for number, scene in scenes(600, 11, 4, 8):
        described_scene = described(scene, "train", f"{number:06d}")
        described_scene.salience = tuple(random.Random(number).random() for _ in scene.objects)
        assert (
            described_scene.decide(captions.draw(described_scene, Stream("train", number))) is True
        )
    report = captions.report()
    assert report["captions"] == 600
    assert abs(report["density"] - density) < 0.02
    # every caption mentions at least one object
    assert abs(report["completeness"] - max(completeness, 0.17)) < 0.02
    lean = report["completeness_salient_half"] - report["completeness_other_half"]
    if completeness < 1:
        assert lean > 0.3 if saliency == 1 and completeness > 0.3 else abs(lean) < 0.1


def test_the_middle_one_of_an_odd_number_of_objects_is_of_the_salient_half() -> None:
    captions = MeasuredCaptions(CaptionStatistics(1.0, 1.0, 1.0), VOCABULARY)
    described_scene = described(scene_of(("cube", {"color": "red"})), "train")
    described_scene.salience = (1.0,)
    captions.draw(described_scene, Stream(0))
    assert captions.report()["completeness_salient_half"] == 1


@pytest.mark.parametrize("spec", ["density", "density=2", "colour=1", "density=x", "density=nan"])
def test_malformed_statistics_are_refused(spec: str) -> None:
    with pytest.raises(UserError, match="Expected --captions"):
        parse_statistics(spec)


def test_negatives_leave_no_trace_in_how_often_names_occur() -> None:
    """A replaced value or category stays on its side of the block, a category that several objects
    have stays, no two objects become equal, and no relation becomes its opposite."""
    n_names: Counter[str] = Counter()
    training = _texts(negatives=("replace",), positives=())
    for described_scene, item in asked(training, 150, 3, 3, 5, "train"):
        for foil in by_slot(item, "n"):
            _, kind, old, new = change_of(foil)
            if kind in (HOLDOUT.kind, HOLDOUT.category):
                sides = HOLDOUT.values if kind == HOLDOUT.kind else HOLDOUT.objects
                assert (old in sides) == (new in sides)
            assert kind != HOLDOUT.category or described_scene.facts.categories.count(old) == 1
            assert kind != "relation" or VOCABULARY.relations[old].opposite != new
            assert len({*foil.text.form.objects}) == len(foil.text.form.objects)
            n_names[kind] += 1
    assert min(n_names[kind] for kind in (HOLDOUT.kind, HOLDOUT.category, "relation")) > 20


def _way(form: Form) -> str:
    denied = any(m.without or not m.count for m in form.objects) or any(
        not link.holds for link in form.relations
    )
    way = "whole denied" if form.negated else "denied" if denied else "asserted"
    return way + (", environment" if form.environment else "")


def test_graded_captions_deny_as_often_as_their_negatives() -> None:
    training = _texts(kinds=("graded",), negatives=("neg",), positives=())
    true, false, sizes = Counter[str](), Counter[str](), set()
    for _, item in asked(training, 400, 4, 1, 8, "train"):
        form = item.candidates[0].text.form
        true[_way(form)] += 1
        false.update(_way(foil.text.form) for foil in by_slot(item, "n"))
        sizes.add(form.n_objects + form.n_attributes + form.n_relations)
    assert set(true) == {
        "asserted",
        "asserted, environment",
        "denied",
        "denied, environment",
        "whole denied",
    }
    assert sizes == set(range(1, 13))
    assert sum(training.report()["graded"].values()) == true.total()
    for way in true:
        assert abs(true[way] - false[way]) < 0.1 * true.total(), way


def test_training_names_all_relations_about_equally_often() -> None:
    language = Captioner(RELATIONS, draw_block("3x3", RELATIONS, 0))
    training, draw = (
        TrainingTexts(language, CELLS, kinds=("relations",), positives=()),
        random.Random(0),
    )
    n_captions: Counter[str] = Counter()
    for n in range(400):
        scene = random_scene(draw, 2, 6, vocabulary=RELATIONS)
        described_scene = DescribedScene(
            str(n), facts_of(scene, RELATIONS), "train", (False,) * len(scene.objects)
        )
        for item in training.items(described_scene, Stream(n)):
            n_captions[item.candidates[0].text.form.relations[0].relation] += 1
    assert set(n_captions) == set(RELATIONS.relations)
    general = [
        n for name, n in n_captions.items() if name not in ("on", "beneath")
    ]  # few random scenes have stacks
    assert max(general) - min(general) <= 2


def test_plain_captions_name_all_objects_in_both_orders() -> None:
    training, grammar = _texts(kinds=("plain",)), captioner().grammar
    for objects, texts in (
        (("cube", "cone", "cube"), ["two red cubes and a red cone"]),
        (("cube", "cone"), ["a red cube and a red cone", "a red cone and a red cube"]),
    ):
        scene = described(scene_of(*((name, {"color": "red"}) for name in objects)), "train")
        forms = [item.candidates[0].text.form for item in training.items(scene, Stream(0))]
        assert [grammar.realise(form, "a-and-a") for form in forms] == texts


@pytest.mark.parametrize(
    ("kind", "text", "texts"),
    [
        ("swap", "a red cube and a cone", {"a cone and a red cube"}),
        ("swap", "a red cube, a cone and no arch", {"a cone, a red cube and no arch"}),
        ("swap", "A red cube is to the left of a cone.", set()),
        (
            "replace",
            "a red cube and a cone",
            {"a red block and a cone", "a crimson cube and a cone"},
        ),
        ("converse", "a red cube", set()),
        (
            "converse",
            "A red cube is to the left of a cone.",
            {"A cone is to the right of a red cube."},
        ),
        (
            "converse",
            "A cube is to the left of a cone. The cone is in front of an arch.",
            {
                "A cone is to the right of a cube and in front of an arch.",
                "There is a cube. There is also an arch. The cube is to the left of a cone. The "
                "arch is behind the cone.",
            },
        ),
    ],
)
def test_paraphrases_keep_the_meaning(kind: str, text: str, texts: set[str]) -> None:
    grammar, form = captioner().grammar, form_of(text)
    template = "clauses" if form.relations else "a-and-a"
    paraphrases = (
        paraphrase(
            kind,
            Text(form, template),
            VOCABULARY,
            dialect=None,
            used=LeastUsed(),
            stream=Stream(seed),
        )
        for seed in range(20)
    )
    assert {
        grammar.realise(text.form, text.template, text.wording) for text in paraphrases if text
    } == texts
