"""A model as the reader of prose: what it is asked, and how its own error is measured.

The error is measured on the descriptions that the grammar reads whole: there the grammar's reading
stands in the place of an image's record, and the reader's is judged by it, as a description is
judged by an image.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaluator.descriptions.aggregation import clusters_of, shares_of
from evaluator.descriptions.measures import measure_image
from evaluator.statistics.intervals import LEVEL, cluster_means
from generator.dataset.descriptions.description import Description
from generator.dataset.descriptions.judging import Verdict, judge_description
from generator.dataset.descriptions.schema import answer_schema
from generator.dataset.descriptions.truth import ImageTruth, TrueObject, canonical_relation
from generator.dataset.descriptions.vocabulary import Vocabulary

READER_MEASURES = (
    "object recall",
    "object precision",
    "values right",
    "values exchanged",
    "values invented",
    "values missing",
)
"""Measures of descriptions that are computed of readings too."""
ALIKE, VALUES_ADDED = "read alike", "values added"
"""The share of descriptions whose readings are equal; of the reader's values, those for which the
grammar reads none."""
RELATIONS_READ, RELATIONS_ADDED = "relations read", "relations added"
"""Of the grammar's relations, those that the reader has; of the reader's relations, those that the
grammar does not have."""


@dataclass(frozen=True)
class Readings:
    """An answer in prose as the grammar and as a model reads it."""

    by_grammar: Description
    """The grammar's reading."""
    by_reader: Description
    """The model's reading."""
    truth: ImageTruth
    """The record of the image."""

    @property
    def can_compare(self) -> bool:
        """Whether the grammar reads all of it, and knows the category of each object."""
        objects = self.by_grammar.objects
        has_categories = all(described.category is not None for described in objects)
        return bool(objects) and has_categories and not self.by_grammar.unread


def reader_schema(vocabulary: Vocabulary, relations: bool) -> dict[str, Any]:
    """Make the JSON schema of a reading: that of an answer, with null for what is not said.

    Args:
        vocabulary: the words of the image's world.
        relations: whether relations are read.

    Returns:
        A JSON schema.
    """
    return answer_schema(vocabulary, relations=relations, may_lack=True)


def reader_question(prose: str, vocabulary: Vocabulary, relations: bool) -> str:
    """Write the question that asks a model to turn a description into JSON.

    Args:
        prose: the description.
        vocabulary: the words of the image's world.
        relations: whether relations are read.

    Returns:
        A few lines of text, the description last.
    """
    lines = [
        "Below is a description of an image. Write as JSON what it says, and nothing else.",
        "Use null for what it does not say, and leave out what it denies or doubts.",
        "Answer only with JSON of this schema:",
        json.dumps(reader_schema(vocabulary, relations)),
    ]
    if relations:
        lines.append("subject and object are places in the list of objects, counted from 0.")
    return "\n".join([*lines, "The description:", prose])


def reader_rows(readings: Sequence[Readings], level: float = LEVEL) -> list[dict[str, Any]]:
    """Measure the error of a reader on the answers that the grammar reads whole.

    Args:
        readings: both readings of each answer; those that cannot be compared are left out.
        level: of the intervals, in 0..1.

    Returns:
        Rows as JSON data, one for each measure that is defined: `measure`, `value`, `low`, `high`
        (None if unknown) and `images`.
    """
    compared = [reading for reading in readings if reading.can_compare]
    if not compared:
        return []
    shares = _shares_of(compared)
    clusters = clusters_of([reading.truth for reading in compared])
    rows = []
    for name, (count, count_of) in shares.items():
        # An answer without relations has no share of relations.
        defined = count_of > 0
        if not defined.any():
            continue
        own_shares = count[defined] / count_of[defined]
        (estimate,) = cluster_means(own_shares[:, None], clusters.take(defined), level)
        rows.append(
            {
                "measure": name,
                "value": estimate.value,
                "low": _number(estimate.low),
                "high": _number(estimate.high),
                "images": int(defined.sum()),
            }
        )
    return rows


def _number(value: float) -> float | None:
    """A number for JSON; None for nan."""
    return float(value) if np.isfinite(value) else None


def _shares_of(compared: Sequence[Readings]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """For each measure, what is counted in each answer, and of how many."""
    measures = []
    agreements = []
    for reading in compared:
        record = _record_of(reading)
        # The record has no relations to judge by; `_compare` counts them.
        without_relations = replace(reading.by_reader, relations=())
        measures.append(measure_image(without_relations, record))
        agreements.append(_compare(reading, record))

    def counts(name: str) -> np.ndarray:
        return np.array([getattr(one, name) for one in agreements], dtype=float)

    shares = {ALIKE: (counts("is_alike"), np.ones(len(compared)))}
    for name in READER_MEASURES:
        shares[name] = shares_of(name, measures)
    both = counts("relations_both")
    of_reader = counts("relations_of_reader")
    shares[VALUES_ADDED] = (counts("values_added"), counts("values_stated"))
    shares[RELATIONS_READ] = (both, counts("relations_of_grammar"))
    shares[RELATIONS_ADDED] = (of_reader - both, of_reader)
    return shares


def _record_of(reading: Readings) -> ImageTruth:
    """A record whose objects are those of the grammar's reading, without relations."""
    objects = []
    for described in reading.by_grammar.objects:
        objects.append(TrueObject(str(described.category), dict(described.attributes)))
    return replace(
        reading.truth,
        objects=tuple(objects),
        relations={},
        # What is tested and held out is known of the image, not of a text about it.
        tested_kind=None,
        held_out=frozenset(),
        held_out_relations=frozenset(),
    )


@dataclass(frozen=True)
class _Agreement:
    """How far two readings agree, beyond the measures of descriptions."""

    is_alike: bool
    """Whether they have the same objects, values and relations."""
    values_added: int
    """Values of the reader for which the grammar reads none, of objects that both have."""
    values_stated: int
    """Values of the reader, of objects that both have."""
    relations_both: int
    """Relations that both have."""
    relations_of_grammar: int
    """Relations of the grammar's reading."""
    relations_of_reader: int
    """Relations of the reader's."""


def _compare(reading: Readings, record: ImageTruth) -> _Agreement:
    """Compare the two readings of an answer. record: of the grammar's reading."""
    # Values of the objects that both readings have.
    judgement = judge_description(replace(reading.by_reader, relations=()), record)
    n_added = 0
    n_stated = 0
    for index in judgement.matches:
        verdicts = list(judgement.attributes[index].values())
        n_stated += len(verdicts)
        n_added += verdicts.count(Verdict.UNMATCHED)

    # Relations, by the places of their objects in the grammar's reading.
    of_grammar = set()
    for relation in reading.by_grammar.relations:
        of_grammar.add(canonical_relation(relation.subject, relation.relation, relation.target))
    of_reader = set()
    n_unmatched = 0
    for relation in reading.by_reader.relations:
        subject = judgement.matches.get(relation.subject)
        target = judgement.matches.get(relation.target)
        if subject is None or target is None:
            n_unmatched += 1
        else:
            of_reader.add(canonical_relation(subject, relation.relation, target))

    kinds = record.vocabulary.judged_kinds
    same_objects = _objects_of(reading.by_grammar, kinds) == _objects_of(reading.by_reader, kinds)
    return _Agreement(
        is_alike=same_objects and of_grammar == of_reader and not n_unmatched,
        values_added=n_added,
        values_stated=n_stated,
        relations_both=len(of_grammar & of_reader),
        relations_of_grammar=len(of_grammar),
        relations_of_reader=len(of_reader) + n_unmatched,
    )


def _objects_of(description: Description, kinds: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """How often each object occurs, by its category and judged values."""
    counts: Counter[tuple[Any, ...]] = Counter()
    for described in description.objects:
        values = [described.attributes.get(kind) for kind in kinds]
        counts[described.category, *values] += 1
    return counts
