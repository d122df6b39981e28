"""Matching and measures: known errors are counted exactly, and ties change nothing."""

from collections import Counter
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluator.descriptions.aggregation import aggregate_measures
from evaluator.descriptions.measures import BINDING_GAP, GAPS, SHARES, ImageMeasures, measure_image
from generator.base.streams import Stream
from generator.dataset.descriptions.description import (
    DescribedObject,
    DescribedRelation,
    Description,
    description_of,
)
from generator.dataset.descriptions.judging import Verdict, judge_description
from generator.dataset.descriptions.matching import count_relations
from generator.dataset.descriptions.truth import ImageTruth
from tests.generator.dataset.descriptions.answers import VOCABULARY
from tests.generator.dataset.descriptions.scenes import describe, image, moved

SCENE = image(
    "cube red large metal",
    "sphere blue small rubber",
    "cone green small metal",
    right=(0, 1, 1),
    held_out=[("red", "cube"), ("green", "cone")],
)


def counts(description: Description, truth: ImageTruth = SCENE) -> dict[str, int]:
    """The counts that are not 0."""
    measured = measure_image(description, truth)
    names = ImageMeasures.__dataclass_fields__
    return {name: getattr(measured, name) for name in names if getattr(measured, name)}


OF_SCENE = {"actual": 3, "relations_true": 2, "held_out": 2, "seen": 1}


def test_a_full_description_is_right_in_everything() -> None:
    measured = counts(description_of(SCENE, relations=True))
    assert measured == {
        **OF_SCENE,
        "described": 3,
        "named": 3,
        "complete": 3,
        "values_right": 9,
        "relations_right": 2,
        "relations_complete": 2,
        "held_out_recalled": 2,
        "seen_recalled": 1,
    }


def test_exchanged_invented_and_missing_values() -> None:
    # blue is on the sphere, yellow on nothing; the sphere has no material, the star is not there.
    described = describe("cube blue large metal", "sphere yellow small", "star red")
    assert counts(described) == {
        **OF_SCENE,
        "described": 3,
        "named": 2,
        "values_right": 3,
        "values_exchanged": 1,
        "values_invented": 1,
        "values_missing": 1,
    }
    judgement = judge_description(described, SCENE)
    assert judgement.objects == (Verdict.RIGHT, Verdict.RIGHT, Verdict.INVENTED)
    assert judgement.attributes[0]["color"] is Verdict.EXCHANGED
    assert judgement.attributes[1]["color"] is Verdict.INVENTED
    assert judgement.attributes[2] == {"color": Verdict.UNMATCHED}


def test_relations_are_three_valued_and_counted_once() -> None:
    facts = [
        (0, "left", 1),  # right
        (1, "right", 0),  # the same fact
        (0, "right", 2),  # reversed
        (1, "left", 2),  # undecided
        (3, "left", 0),  # of an object that is not there
    ]
    described = describe("cube", "sphere", "cone", "star", relations=facts)
    measured = measure_image(described, SCENE)
    assert measured.relations_right == 1
    assert measured.relations_reversed == 1
    assert measured.relations_undecided == 1
    assert measured.relations_invented == 1
    verdicts = judge_description(described, SCENE).relations
    assert verdicts == ("right", "right", "reversed", "undecided", "invented")


def test_a_symmetric_relation_is_never_reversed() -> None:
    near = ((None, True, False), (True, None, None), (False, None, None))
    truth = image("cube", "sphere", "cone", near=near)
    facts = [(1, "near", 0), (0, "near", 2), (0, "far", 2), (0, "far", 1), (1, "near", 2)]
    described = describe("cube", "sphere", "cone", relations=facts)
    verdicts = judge_description(described, truth).relations
    assert verdicts == ("right", "invented", "right", "invented", "undecided")


def test_bindings_are_recalled_as_multisets() -> None:
    truth = image("cube red", "cube red", "cube blue", held_out=[("red", "cube")])
    once = measure_image(describe("cube red", "cube green"), truth)
    assert (once.held_out, once.held_out_recalled, once.seen, once.seen_recalled) == (2, 1, 1, 0)


def test_nothing_described() -> None:
    measured = counts(describe())
    assert measured == OF_SCENE
    rows = {
        row.measure: row for row in aggregate_measures([measure_image(describe(), SCENE)], [SCENE])
    }
    assert rows["object precision"].n_undefined == 1
    assert np.isnan(rows["object precision"].estimate.value)
    assert rows["object recall"].estimate.value == 0


VALUES = st.sampled_from(["red", "blue"])
OBJECTS = st.lists(
    st.tuples(st.sampled_from(["cube", "cone"]), VALUES, st.sampled_from(["small", "large"])),
    min_size=1,
    max_size=4,
)
DESCRIBED = st.lists(
    st.tuples(
        st.sampled_from(["cube", "cone", "star"]),
        st.none() | VALUES | st.just("green"),
        st.none() | st.sampled_from(["small", "large"]),
    ),
    max_size=4,
)
FACTS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["left", "right"]), st.integers(0, 3)), max_size=4
)


def build(
    objects: Sequence[tuple[str, str, str]],
    described: Sequence[tuple[str, str | None, str | None]],
    facts: Sequence[tuple[int, str, int]],
    places: Sequence[int],
) -> tuple[ImageTruth, Description]:
    truth = image(*(" ".join(words) for words in objects), right=places[: len(objects)])
    named = [" ".join(word for word in words if word) for words in described]
    known = [fact for fact in facts if fact[0] != fact[2] and max(fact[0], fact[2]) < len(named)]
    return truth, describe(*named, relations=known)


@given(OBJECTS, DESCRIBED, FACTS, st.permutations([0, 1, 1, 2]), st.data())
@settings(max_examples=150)
def test_ties_change_nothing(
    objects: list[tuple[str, str, str]],
    described: list[tuple[str, str | None, str | None]],
    facts: list[tuple[int, str, int]],
    places: list[int],
    data: st.DataObject,
) -> None:
    """The order of objects, which decides among ties, changes no count."""
    truth, description = build(objects, described, facts, places)
    expected = measure_image(description, truth)
    order = data.draw(st.permutations(range(len(description.objects))))
    assert measure_image(moved(description, order), truth) == expected
    other = data.draw(st.permutations(range(len(objects))))
    reordered = image(*(" ".join(objects[i]) for i in other), right=[places[i] for i in other])
    assert measure_image(description, reordered) == expected


@given(OBJECTS, DESCRIBED, FACTS, st.permutations([0, 1, 1, 2]))
@settings(max_examples=150)
def test_matching_is_the_best_of_all(
    objects: list[tuple[str, str, str]],
    described: list[tuple[str, str | None, str | None]],
    facts: list[tuple[int, str, int]],
    places: list[int],
) -> None:
    """By brute force over all assignments."""
    truth, description = build(objects, described, facts, places)
    judgement = judge_description(description, truth)
    best = max(_key(matches, description, truth) for matches in _assignments(description, truth))
    assert _key(judgement.matches, description, truth) == best


def _assignments(description: Description, truth: ImageTruth) -> list[dict[int, int]]:
    n, m = len(description.objects), len(truth.objects)
    assignments = []
    for targets in permutations([*range(m), *[-1] * n], n):
        matches = {i: target for i, target in enumerate(targets) if target >= 0}
        if all(
            description.objects[i].category == truth.objects[j].category for i, j in matches.items()
        ):
            assignments.append(matches)
    return assignments or [{}]


def _key(matches: dict[int, int], description: Description, truth: ImageTruth) -> tuple[int, ...]:
    right = exchanged = invented = complete = 0
    for i, j in matches.items():
        complete += truth.objects[j].attributes == description.objects[i].attributes
        for kind, value in description.objects[i].attributes.items():
            if truth.objects[j].attributes[kind] == value:
                right += 1
            elif any(other.attributes[kind] == value for other in truth.objects):
                exchanged += 1
            else:
                invented += 1
    return (
        len(matches),
        right,
        -invented,
        -exchanged,
        complete,
        *count_relations(description, truth, matches),
    )


class Scripted:
    """Describes images with errors of its own choice, and counts them itself."""

    def __init__(self, seed: int):
        self.stream = Stream(seed, "scripted")
        self.counts: Counter[str] = Counter()

    def describe(self, truth: ImageTruth) -> Description:
        """Each category occurs once in these images, so no error changes the matching."""
        objects: list[DescribedObject] = []
        place: dict[int, int] = {}
        relations: list[DescribedRelation] = []
        for i, actual in enumerate(truth.objects):
            self.counts["actual"] += 1
            if self.stream.below(5) == 0:
                continue  # not named
            self.counts["named"] += 1
            values = {kind: self._value(i, kind, truth) for kind in actual.attributes}
            place[i] = len(objects)
            objects.append(
                DescribedObject(actual.category, {k: v for k, v in values.items() if v is not None})
            )
        absent = sorted(set(VOCABULARY.nouns) - {each.category for each in truth.objects})
        for _ in range(self.stream.below(3)):
            objects.append(
                DescribedObject(absent[self.stream.below(len(absent))], {"color": "red"})
            )
        self.counts["described"] += len(objects)
        for subject, name, target in truth.true_relations:
            self.counts["relations_true"] += 1
            if subject not in place or target not in place:
                continue
            ends = place[subject], place[target]
            choice = self.stream.below(3)
            if choice == 0:
                self.counts["relations_right"] += 1
                relations.append(DescribedRelation(ends[0], name, ends[1]))
            elif choice == 1 and name in ("right", "behind"):
                self.counts["relations_reversed"] += 1
                relations.append(DescribedRelation(ends[1], name, ends[0]))
        return Description(tuple(objects), tuple(relations))

    def _value(self, i: int, kind: str, truth: ImageTruth) -> str | None:
        own = truth.objects[i].attributes[kind]
        in_image = {each.attributes[kind] for each in truth.objects}
        choice = self.stream.below(4)
        others = sorted(in_image - {own})
        nowhere = sorted(set(VOCABULARY.values[kind]) - in_image)
        if choice == 1 and others:
            self.counts["values_exchanged"] += 1
            return others[self.stream.below(len(others))]
        if choice == 2 and nowhere:
            self.counts["values_invented"] += 1
            return nowhere[self.stream.below(len(nowhere))]
        if choice == 3:
            self.counts["values_missing"] += 1
            return None
        self.counts["values_right"] += 1
        return own


def test_the_measures_of_a_scripted_describer_are_its_own_counts(
    truths: list[ImageTruth], crowded_truths: list[ImageTruth]
) -> None:
    images = [
        truth
        for truth in (*truths, *crowded_truths)
        if len({each.category for each in truth.objects}) == len(truth.objects)
    ]
    assert len(images) > 30
    scripted = Scripted(0)
    measured = [measure_image(scripted.describe(truth), truth) for truth in images]
    for name in (
        "actual",
        "described",
        "named",
        "values_right",
        "values_exchanged",
        "values_invented",
        "values_missing",
        "relations_true",
        "relations_right",
        "relations_reversed",
    ):
        assert sum(getattr(each, name) for each in measured) == scripted.counts[name], name
    assert sum(each.relations_invented for each in measured) == 0
    rows = {row.measure: row for row in aggregate_measures(measured, images, by=())}
    own = scripted.counts
    n_values = sum(own[f"values_{name}"] for name in ("right", "exchanged", "invented", "missing"))
    wrong = own["relations_reversed"]
    for measure, total, total_of in (
        ("object precision", own["named"], own["described"]),
        ("object recall", own["named"], own["actual"]),
        ("values right", own["values_right"], n_values),
        ("values exchanged", own["values_exchanged"], n_values),
        ("values invented", own["values_invented"], n_values),
        ("values missing", own["values_missing"], n_values),
        ("relation precision", own["relations_right"], own["relations_right"] + wrong),
        ("relation recall", own["relations_right"], own["relations_true"]),
        ("relations reversed", wrong, own["relations_right"] + wrong),
    ):
        assert (rows[measure].total, rows[measure].total_of) == (total, total_of), measure


def test_rows_are_means_over_images_by_group(truths: list[ImageTruth]) -> None:
    scripted = Scripted(1)
    measured = [measure_image(scripted.describe(truth), truth) for truth in truths]
    rows = aggregate_measures(measured, truths, by=("split", "objects"))
    for row in rows:
        if row.measure != "object recall":
            continue
        shares = [
            each.named / each.actual
            for each, truth in zip(measured, truths, strict=True)
            if (truth.split, len(truth.objects)) == (row.labels["split"], row.labels["objects"])
        ]
        assert row.n_images == len(shares)
        assert row.estimate.value == pytest.approx(np.mean(shares))
        assert row.to_dict()["images"] == len(shares)
    groups = {tuple(row.labels.items()) for row in rows}
    assert len(rows) == len(groups) * (len(SHARES) + len(GAPS))
    splits = {row.labels["split"] for row in rows}
    assert splits == {"seen", "partial", "unseen"}


def test_the_gap_is_paired_within_partial_images(truths: list[ImageTruth]) -> None:
    """A describer that never names a held-out binding has recall 0 against 1."""
    measured = []
    for truth in truths:
        objects = []
        for i, described in enumerate(description_of(truth).objects):
            values = dict(described.attributes)
            if truth.binding_of(i) in truth.held_out:
                del values["color"]
            objects.append(DescribedObject(described.category, values))
        measured.append(measure_image(Description(tuple(objects)), truth))
    rows = {
        row.labels["split"]: row
        for row in aggregate_measures(measured, truths)
        if row.measure == BINDING_GAP
    }
    assert rows["partial"].estimate.value == -1
    assert rows["partial"].n_images > 0
    assert rows["seen"].n_images == 0
    assert np.isnan(rows["seen"].estimate.value)


def test_a_thousand_objects_are_matched_in_time() -> None:
    described = describe(*["cube red"] * 500, *["cone green"] * 500)
    measured = measure_image(described, SCENE)
    assert (measured.described, measured.named, measured.values_right) == (1_000, 2, 2)
