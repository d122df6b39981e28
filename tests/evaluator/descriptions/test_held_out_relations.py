"""Held-out relations in records and measures of descriptions."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from evaluator.descriptions.aggregation import aggregate_measures
from evaluator.descriptions.measures import RELATION_GAP, measure_image
from evaluator.descriptions.results import main_sentence
from generator.dataset.descriptions.description import Description, description_of
from generator.dataset.descriptions.truth import ImageTruth
from generator.dataset.image_truths import read_truths
from generator.dataset.reader import Dataset
from tests.conftest import once
from tests.generator.dataset.descriptions.worlds import SCENES
from tests.generator.unrendered import BENCHMARK, write_texts, write_world


@pytest.fixture(scope="module")
def withheld(tmp_path_factory: pytest.TempPathFactory) -> list[ImageTruth]:
    """Records of a world that holds out relations between categories."""

    def make(root: Path) -> None:
        prepared = write_world(root, SCENES, "clevr-relations", (2, 2), block="relation:pair=2x3")
        write_texts(root, prepared)

    dataset = Dataset.open(once(tmp_path_factory, "described-relations", make))
    benchmark = dataset.benchmark(BENCHMARK)
    truths = list(read_truths(dataset.world, benchmark, ("seen", "partial", "unseen")))
    triples = {tuple(triple) for triple in (benchmark.holdout or {})["triples"]}
    assert truths[0].held_out_relations == triples
    return truths


def half_of(truth: ImageTruth) -> tuple[Description, tuple[int, int, int, int]]:
    """Every second true relation, and the script's own counts: held-out ones, those that are named,
    seen ones, and those that are named."""
    whole = description_of(truth, relations=True)
    counts = [0, 0, 0, 0]
    for number, (subject, name, target) in enumerate(truth.true_relations):
        categories = truth.objects[subject].category, truth.objects[target].category
        held_out = (categories[0], name, categories[1]) in truth.held_out_relations
        first = 0 if held_out else 2
        counts[first] += 1
        counts[first + 1] += number % 2 == 0
    return replace(whole, relations=whole.relations[::2]), (
        counts[0],
        counts[1],
        counts[2],
        counts[3],
    )


def test_recall_of_held_out_relations_is_the_script_s_own_count(
    withheld: list[ImageTruth],
) -> None:
    measures = []
    gaps = []
    for truth in withheld:
        description, (n_held_out, named_held_out, n_seen, named_seen) = half_of(truth)
        image = measure_image(description, truth)
        assert (image.relations_held_out, image.relations_seen) == (n_held_out, n_seen)
        # Objects with the same category and values may be matched either way round.
        assert image.relations_held_out_recalled + image.relations_seen_recalled == (
            named_held_out + named_seen
        )
        measures.append(image)
        if n_held_out and n_seen:
            share = Fraction(image.relations_held_out_recalled, n_held_out)
            gaps.append(share - Fraction(image.relations_seen_recalled, n_seen))
    assert gaps
    (row,) = [
        row for row in aggregate_measures(measures, withheld, by=()) if row.measure == RELATION_GAP
    ]
    assert row.estimate.value == pytest.approx(float(sum(gaps) / len(gaps)), abs=1e-12)
    assert row.n_images == len(gaps)
    sentence = main_sentence(measures, withheld)
    assert sentence.startswith(f"In {len(gaps)} images with both")
    assert "held-out relations" in sentence


def test_seen_images_have_no_held_out_relation(withheld: list[ImageTruth]) -> None:
    n_unseen = 0
    for truth in withheld:
        image = measure_image(description_of(truth, relations=True), truth)
        assert image.relations_held_out_recalled == image.relations_held_out
        assert image.relations_seen_recalled == image.relations_seen
        if truth.split == "seen":
            assert image.relations_held_out == 0
        n_unseen += image.relations_held_out > 0
    assert n_unseen


def test_records_keep_held_out_relations(withheld: list[ImageTruth]) -> None:
    for truth in withheld[:3]:
        assert ImageTruth.read(truth.to_json()).held_out_relations == truth.held_out_relations


def test_bindings_alone_have_no_relations(truths: list[ImageTruth]) -> None:
    for truth in truths[:5]:
        image = measure_image(description_of(truth, relations=True), truth)
        assert image.relations_held_out == image.relations_seen == 0
        assert image.relations_seen_recalled == 0
