"""Matches the objects of a description to those of an image, so that most atoms agree.

It is an assignment problem: at most one described object for each actual one. Agreement is compared
in this order: categories, right values, fewest invented values, fewest exchanged values, most
objects whose values are all right, and then right relations. Each count in this list is therefore
the same for all best assignments, so ties change no measure.

Only objects of one category can match, so an assignment is best if it is best in each category.
Values are decided by `scipy.optimize.linear_sum_assignment`. Relations join two matches, which
makes the problem quadratic; they only choose among the assignments that are best by values, by
depth-first search.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .description import DescribedObject, Description
from .truth import ImageTruth, canonical_relation

_MOST_STEPS = 20_000
"""Steps of the search among assignments that tie. Five objects that nothing tells apart need 326.
When they are spent, the best assignment so far is taken."""
Matches = dict[int, int]
"""Actual object by described object."""
RelationCounts = tuple[int, int, int, int]
"""Right relations, the negative numbers of invented and of reversed ones, and right relations
between two complete objects: larger is better."""


@dataclass(frozen=True)
class _Block:
    """The objects of one category."""

    described: list[int]
    """Described objects, those with relations first."""
    actual: list[int]
    """Actual objects."""
    gains: list[list[int]]
    """(described, actual): how much a match gains; always above 0."""
    best: int
    """The gain of a best assignment."""
    matches: Matches
    """A best assignment."""


def match_objects(description: Description, truth: ImageTruth) -> Matches:
    """Match described to actual objects.

    Args:
        description: what an answer says.
        truth: the record of the image.

    Returns:
        The index of the actual object for each described object that has one. Matched objects are
        of the same category.
    """
    in_relations = set()
    for relation in description.relations:
        in_relations |= {relation.subject, relation.target}
    blocks = [_block(*block, truth) for block in _by_category(description, truth, in_relations)]
    matches: Matches = {}
    for block in blocks:
        matches |= block.matches
    # The usual case, without a search.
    if not description.relations:
        return matches
    return _choose_by_relations(blocks, matches, description=description, truth=truth)


def value_counts(
    described: DescribedObject, actual_index: int, truth: ImageTruth
) -> tuple[int, int, int]:
    """Count the values of a described object against an actual one.

    Args:
        described: the described object.
        actual_index: index of the actual object.
        truth: the record of the image.

    Returns:
        How many values of judged kinds are right, exchanged (on another object of the image) and
        invented (on none).
    """
    right = exchanged = invented = 0
    own = truth.objects[actual_index].attributes
    for kind in truth.vocabulary.judged_kinds:
        value = described.attributes.get(kind)
        if value is None or kind not in own:
            continue
        if own[kind] == value:
            right += 1
        elif any(other.attributes.get(kind) == value for other in truth.objects):
            exchanged += 1
        else:
            invented += 1
    return right, exchanged, invented


def is_complete(described: DescribedObject, actual_index: int, truth: ImageTruth) -> bool:
    """Whether a described object has all values of judged kinds of an actual one.

    Args:
        described: the described object.
        actual_index: index of the actual object.
        truth: the record of the image.

    Returns:
        False if a value is wrong or not stated.
    """
    own = truth.objects[actual_index].attributes
    for kind in truth.vocabulary.judged_kinds:
        if kind in own and described.attributes.get(kind) != own[kind]:
            return False
    return True


def _by_category(
    description: Description, truth: ImageTruth, in_relations: set[int]
) -> Iterator[tuple[list[tuple[int, DescribedObject]], list[int]]]:
    """The described and the actual objects of each category that both have.

    Of equal described objects, only as many as the image has objects are kept: more cannot match,
    and an answer may repeat one object a thousand times.
    """
    actual_of: defaultdict[str, list[int]] = defaultdict(list)
    for index, actual in enumerate(truth.objects):
        actual_of[actual.category].append(index)
    described_of: defaultdict[str, list[tuple[int, DescribedObject]]] = defaultdict(list)
    copies: Counter[tuple[str, frozenset[tuple[str, str]]]] = Counter()
    # Objects in relations first: their copies differ by what they are related to.
    order = sorted(range(len(description.objects)), key=lambda index: index not in in_relations)
    for index in order:
        described = description.objects[index]
        category = described.category
        if category is None or category not in actual_of:
            continue
        key = category, frozenset(described.attributes.items())
        copies[key] += 1
        if copies[key] <= len(actual_of[category]) or index in in_relations:
            described_of[category].append((index, described))
    for shared, members in described_of.items():
        yield members, actual_of[shared]


def _block(
    described: Sequence[tuple[int, DescribedObject]], actual: list[int], truth: ImageTruth
) -> _Block:
    """A category with a best assignment."""
    # scipy.optimize takes 0.2 s to import, and rewards must be importable in 0.3 s.
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    # In this base no sum of counts over all matches carries into the next count.
    base = 1 + len(actual) * (1 + len(truth.vocabulary.judged_kinds))
    gains = []
    for _, described_object in described:
        row = []
        for index in actual:
            right, exchanged, invented = value_counts(described_object, index, truth)
            values = ((base + right) * base - invented) * base - exchanged
            row.append(values * base + is_complete(described_object, index, truth))
        gains.append(row)
    # Floats are exact here: gains of a few objects and kinds stay far below 2^53.
    rows, columns = linear_sum_assignment(np.array(gains, dtype=float), maximize=True)
    matches = {}
    best = 0
    for row_number, column in zip(rows.tolist(), columns.tolist(), strict=True):
        matches[described[row_number][0]] = actual[column]
        best += gains[row_number][column]
    return _Block([index for index, _ in described], actual, gains, best, matches)


def _choose_by_relations(
    blocks: Sequence[_Block], first: Matches, *, description: Description, truth: ImageTruth
) -> Matches:
    """Of all assignments that are best by values, one with the best relations."""
    best = first
    best_counts = count_relations(description, truth, first)
    for matches in _tied_assignments(blocks):
        counts = count_relations(description, truth, matches)
        if counts > best_counts:
            best, best_counts = matches, counts
    return best


def _tied_assignments(blocks: Sequence[_Block]) -> Iterator[Matches]:
    """The assignments that are best by values, at most as many as `_MOST_STEPS` steps find.

    Depth first over the actual objects of all blocks. A branch ends when even the largest gains of
    the remaining objects of its block do not reach the block's best.
    """
    steps = 0
    # Each entry: block, place of the actual object in it, gain so far in this block, matches.
    stack: list[tuple[int, int, int, Matches]] = [(0, 0, 0, {})]
    while stack and steps < _MOST_STEPS:
        steps += 1
        number, place, gain, matches = stack.pop()
        if number == len(blocks):
            yield matches
            continue
        block = blocks[number]
        if place == len(block.actual):
            if gain == block.best:
                stack.append((number + 1, 0, 0, matches))
            continue
        # The bound that ends branches: each remaining object at its best, whatever the others take.
        remaining = 0
        for column in range(place, len(block.actual)):
            remaining += max(row[column] for row in block.gains)
        if gain + remaining < block.best:
            continue
        # Without a match for this object, then with each described object that is free.
        stack.append((number, place + 1, gain, matches))
        for row_number, index in enumerate(block.described):
            if index not in matches:
                extended = {**matches, index: block.actual[place]}
                new_gain = gain + block.gains[row_number][place]
                stack.append((number, place + 1, new_gain, extended))


def count_relations(
    description: Description, truth: ImageTruth, matches: Mapping[int, int]
) -> RelationCounts:
    """Count the relations of a description under a matching; undecided ones count neither way.

    Args:
        description: what an answer says.
        truth: the record of the image.
        matches: actual object by described object.

    Returns:
        The counts, to compare matchings by.
    """
    complete = set()
    for index, actual_index in matches.items():
        if is_complete(description.objects[index], actual_index, truth):
            complete.add(index)
    right = invented = reversed_ = between_complete = 0
    for subject, name, target in distinct_relations(description):
        verdict = relation_verdict(subject, name, target=target, truth=truth, matches=matches)
        right += verdict == "right"
        invented += verdict == "invented"
        reversed_ += verdict == "reversed"
        between_complete += verdict == "right" and {subject, target} <= complete
    return right, -invented, -reversed_, between_complete


def distinct_relations(description: Description) -> list[tuple[int, str, int]]:
    """The relations of a description, each once: "left of" and its converse are one fact."""
    facts: dict[tuple[int, str, int], None] = {}
    for relation in description.relations:
        fact = canonical_relation(relation.subject, relation.relation, relation.target)
        facts[fact] = None
    return list(facts)


def relation_verdict(
    subject: int, name: str, *, target: int, truth: ImageTruth, matches: Mapping[int, int]
) -> str:
    """Judge one described relation.

    Args:
        subject: index of the described subject.
        name: the relation.
        target: index of the described second object.
        truth: the record of the image.
        matches: actual object by described object.

    Returns:
        `right`; `undecided`; `reversed` if it holds of the two objects the other way round; else
        `invented`, also if one of them is not in the image.
    """
    # A relation to an object that is not there says something false of the image.
    if subject not in matches or target not in matches:
        return "invented"
    first, second = matches[subject], matches[target]
    holds = truth.holds(name, first, second)
    if holds is None:
        return "undecided"
    if holds:
        return "right"
    return "reversed" if truth.holds(name, second, first) else "invented"
