"""Counts the atoms of one judged description (docs/descriptions.md, "Measures").

Counts add up over images; `SHARES` says which count each measure divides by which.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from generator.dataset.descriptions.description import Description
from generator.dataset.descriptions.judging import Judgement, Verdict, judge_description
from generator.dataset.descriptions.matching import (
    Matches,
    distinct_relations,
    is_complete,
    relation_verdict,
)
from generator.dataset.descriptions.truth import Binding, ImageTruth


@dataclass(frozen=True, kw_only=True)
class ImageMeasures:
    """The counts of one image and its description."""

    described: int
    """Described objects."""
    actual: int
    """Objects of the image."""
    named: int
    """Described objects that match one of the image: of the same category."""
    complete: int
    """Those of which every judged value is named and right."""
    values_right: int
    """Right values of matched objects."""
    values_exchanged: int
    """Wrong values of matched objects that another object of the image has."""
    values_invented: int
    """Wrong values of matched objects that no object of the image has."""
    values_missing: int
    """Values of matched objects that are not named."""
    relations_right: int
    """Described relations that hold; a relation and its converse count once."""
    relations_reversed: int
    """Those that hold the other way round."""
    relations_invented: int
    """Those that hold neither way, and those of objects that are not in the image."""
    relations_undecided: int
    """Those within their margins."""
    relations_true: int
    """Relations that hold in the image, each once."""
    relations_complete: int
    """Right relations between two complete objects."""
    held_out: int
    """Objects of the image with a held-out binding."""
    held_out_recalled: int
    """Those whose value and category a described object has."""
    seen: int
    """Objects of the image with a binding that is not held out; 0 without a holdout."""
    seen_recalled: int
    """Those whose value and category a described object has."""
    relations_held_out: int
    """Relations that hold in the image and are held out between objects of these categories."""
    relations_held_out_recalled: int
    """Those that the description names."""
    relations_seen: int
    """Relations that hold and are not held out; 0 if the benchmark holds out no relation."""
    relations_seen_recalled: int
    """Those that the description names."""
    unread: int
    """Parts of the answer that were not read."""

    @property
    def values(self) -> int:
        """Judged values of the matched objects."""
        stated = self.values_right + self.values_exchanged + self.values_invented
        return stated + self.values_missing

    @property
    def relations_decided(self) -> int:
        """Described relations that are right or wrong."""
        return self.relations_right + self.relations_reversed + self.relations_invented

    @property
    def is_whole_scene(self) -> bool:
        """Whether every object is named once and completely, no other is, and no relation is
        wrong."""
        all_complete = self.complete == self.actual == self.described
        return all_complete and self.relations_right == self.relations_decided


Shares = Mapping[str, tuple[Callable[[Any], float], Callable[[Any], float]]]
"""For each measure, what is counted in an image and of how many; the counts are such as
ImageMeasures."""
SHARES: Shares = {
    "object precision": (lambda image: image.named, lambda image: image.described),
    "object recall": (lambda image: image.named, lambda image: image.actual),
    "exact count": (lambda image: image.described == image.actual, lambda image: 1),
    "whole scene": (lambda image: image.is_whole_scene, lambda image: 1),
    "values right": (lambda image: image.values_right, lambda image: image.values),
    "values exchanged": (lambda image: image.values_exchanged, lambda image: image.values),
    "values invented": (lambda image: image.values_invented, lambda image: image.values),
    "values missing": (lambda image: image.values_missing, lambda image: image.values),
    "recall of objects with all values": (
        lambda image: image.complete,
        lambda image: image.actual,
    ),
    "relation precision": (
        lambda image: image.relations_right,
        lambda image: image.relations_decided,
    ),
    "relation recall": (lambda image: image.relations_right, lambda image: image.relations_true),
    "relations reversed": (
        lambda image: image.relations_reversed,
        lambda image: image.relations_decided,
    ),
    "relations invented": (
        lambda image: image.relations_invented,
        lambda image: image.relations_decided,
    ),
    "relations undecided": (
        lambda image: image.relations_undecided,
        lambda image: image.relations_decided + image.relations_undecided,
    ),
    "relation recall of objects with all values": (
        lambda image: image.relations_complete,
        lambda image: image.relations_true,
    ),
    "recall of held-out bindings": (
        lambda image: image.held_out_recalled,
        lambda image: image.held_out,
    ),
    "recall of seen bindings": (lambda image: image.seen_recalled, lambda image: image.seen),
    "relation recall of held-out relations": (
        lambda image: image.relations_held_out_recalled,
        lambda image: image.relations_held_out,
    ),
    "relation recall of seen relations": (
        lambda image: image.relations_seen_recalled,
        lambda image: image.relations_seen,
    ),
}
"""For each measure, what is counted and of how many. A measure of an image is undefined where the
second is 0. COMPASS's levels: object recall (O), recall of objects with all values (OA), relation
recall (OR), relation recall of objects with all values (OAR)."""
BINDING_GAP, RELATION_GAP = "held-out minus seen bindings", "held-out minus seen relations"
"""The paired differences of recall within the same images."""
GAPS: Mapping[str, tuple[str, str]] = {
    BINDING_GAP: ("recall of held-out bindings", "recall of seen bindings"),
    RELATION_GAP: ("relation recall of held-out relations", "relation recall of seen relations"),
}
"""For each paired difference, the measures of which it is the difference."""
RELATION_MEASURES = frozenset(
    [RELATION_GAP, *(name for name in SHARES if name.startswith("relation"))]
)
"""The measures that count relations."""


def gaps_of(shares: Shares) -> list[str]:
    """List the paired differences that some measures have.

    Args:
        shares: the measures.

    Returns:
        Names of GAPS.
    """
    names = []
    for name, (held_out, seen) in GAPS.items():
        if held_out in shares and seen in shares:
            names.append(name)
    return names


def measure_image(
    description: Description, truth: ImageTruth, judgement: Judgement | None = None
) -> ImageMeasures:
    """Count the atoms of a description.

    Args:
        description: what an answer says.
        truth: the record of the image.
        judgement: of this description; None to judge it here.

    Returns:
        The counts.
    """
    if judgement is None:
        judgement = judge_description(description, truth)

    # Values: the verdicts on those that are described, and how many there are to describe.
    values: Counter[Verdict] = Counter()
    for verdicts in judgement.attributes:
        values.update(verdicts.values())
    stated = values[Verdict.RIGHT] + values[Verdict.EXCHANGED] + values[Verdict.INVENTED]
    n_values = _count_values(truth, judgement.matches)

    complete = _complete_objects(description, truth, judgement.matches)
    relations, n_between_complete = _judge_relations(
        description, truth, matches=judgement.matches, complete=complete
    )
    held_out, held_out_recalled, seen, seen_recalled = _recall_bindings(description, truth)
    of_relations = _recall_relations(description, truth, judgement.matches)
    return ImageMeasures(
        described=len(description.objects),
        actual=len(truth.objects),
        named=len(judgement.matches),
        complete=len(complete),
        values_right=values[Verdict.RIGHT],
        values_exchanged=values[Verdict.EXCHANGED],
        values_invented=values[Verdict.INVENTED],
        values_missing=n_values - stated,
        relations_right=relations["right"],
        relations_reversed=relations["reversed"],
        relations_invented=relations["invented"],
        relations_undecided=relations["undecided"],
        relations_true=len(truth.true_relations),
        relations_complete=n_between_complete,
        held_out=held_out,
        held_out_recalled=held_out_recalled,
        seen=seen,
        seen_recalled=seen_recalled,
        relations_held_out=of_relations[0],
        relations_held_out_recalled=of_relations[1],
        relations_seen=of_relations[2],
        relations_seen_recalled=of_relations[3],
        unread=len(description.unread),
    )


def _count_values(truth: ImageTruth, matches: Matches) -> int:
    """The number of judged values of the objects of an image that are named."""
    n_values = 0
    for actual_index in matches.values():
        own = truth.objects[actual_index].attributes
        n_values += sum(kind in own for kind in truth.vocabulary.judged_kinds)
    return n_values


def _complete_objects(description: Description, truth: ImageTruth, matches: Matches) -> set[int]:
    """The described objects of which every judged value is named and right, by their places."""
    complete = set()
    for index, actual_index in matches.items():
        if is_complete(description.objects[index], actual_index, truth):
            complete.add(index)
    return complete


def _judge_relations(
    description: Description, truth: ImageTruth, *, matches: Matches, complete: set[int]
) -> tuple[Counter[str], int]:
    """How many described relations have each verdict, and how many right ones are between objects
    of `complete`."""
    verdicts: Counter[str] = Counter()
    n_between_complete = 0
    for subject, name, target in distinct_relations(description):
        verdict = relation_verdict(subject, name, target=target, truth=truth, matches=matches)
        verdicts[verdict] += 1
        n_between_complete += verdict == "right" and {subject, target} <= complete
    return verdicts, n_between_complete


def _recall_relations(
    description: Description, truth: ImageTruth, matches: Matches
) -> tuple[int, int, int, int]:
    """Held-out relations of the image, those recalled, seen relations, and those recalled."""
    # Without a holdout nothing is seen in the sense of the comparison either.
    if not truth.held_out_relations:
        return 0, 0, 0, 0
    in_image: Counter[bool] = Counter()
    for subject, name, target in truth.true_relations:
        in_image[truth.is_held_out_relation(subject, name, target)] += 1
    recalled: Counter[bool] = Counter()
    for subject, name, target in distinct_relations(description):
        if relation_verdict(subject, name, target=target, truth=truth, matches=matches) == "right":
            is_held_out = truth.is_held_out_relation(matches[subject], name, matches[target])
            recalled[is_held_out] += 1
    return in_image[True], recalled[True], in_image[False], recalled[False]


def _recall_bindings(description: Description, truth: ImageTruth) -> tuple[int, int, int, int]:
    """Held-out bindings of the image, those recalled, seen bindings, and those recalled.

    Bindings are compared as multisets: an image with two red cubes needs two. So the matching of
    objects, which may tie, does not matter here.
    """
    if truth.tested_kind is None or not truth.held_out:
        return 0, 0, 0, 0
    described: Counter[Binding] = Counter()
    for described_object in description.objects:
        value = described_object.attributes.get(truth.tested_kind)
        if value is not None and described_object.category is not None:
            described[value, described_object.category] += 1
    # By whether a binding is held out.
    in_image: Counter[bool] = Counter()
    recalled: Counter[bool] = Counter()
    for binding, count in Counter(truth.bindings).items():
        is_held_out = binding in truth.held_out
        in_image[is_held_out] += count
        recalled[is_held_out] += min(count, described[binding])
    return in_image[True], recalled[True], in_image[False], recalled[False]
