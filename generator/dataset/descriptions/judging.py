"""Judges every atom of a description: its objects, their values, and its relations."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from .description import Description, Span
from .matching import Matches, match_objects, relation_verdict
from .truth import ImageTruth


class Verdict(StrEnum):
    """What an atom is."""

    RIGHT = "right"
    """True of the image."""
    EXCHANGED = "exchanged"
    """A value that another object of the image has: an illusory conjunction."""
    INVENTED = "invented"
    """An object, value or relation that the image does not have."""
    REVERSED = "reversed"
    """A relation that holds the other way round."""
    UNDECIDED = "undecided"
    """A relation within its margin; it counts neither way."""
    UNMATCHED = "unmatched"
    """A value of an object that is not in the image; it is not judged."""


@dataclass(frozen=True)
class Judgement:
    """The verdict of every atom of a description."""

    matches: Matches
    """Actual object by described object."""
    objects: tuple[Verdict, ...]
    """Of each described object, its category: RIGHT or INVENTED."""
    attributes: tuple[Mapping[str, Verdict], ...]
    """Of each described object, its values by judged kind."""
    relations: tuple[Verdict, ...]
    """Of each described relation, in the order of the description."""


@dataclass(frozen=True, kw_only=True)
class Atom:
    """One thing that a description says, with its verdict."""

    kind: str
    """An attribute kind, the vocabulary's word for categories, or `relation`."""
    value: str
    """The value, the category, or the name of the relation."""
    objects: tuple[int, ...]
    """Index of the described object; of a relation, its two objects."""
    verdict: Verdict
    """What it is."""
    span: Span | None
    """Its place in the answer; None for JSON."""


def judge_description(description: Description, truth: ImageTruth) -> Judgement:
    """Judge a description.

    Args:
        description: what an answer says.
        truth: the record of the image.

    Returns:
        The verdicts.
    """
    matches = match_objects(description, truth)
    objects = []
    attributes = []
    for index in range(len(description.objects)):
        objects.append(Verdict.RIGHT if index in matches else Verdict.INVENTED)
        attributes.append(_judge_values(index, description, truth=truth, matches=matches))
    relations = []
    for relation in description.relations:
        verdict = relation_verdict(
            relation.subject,
            relation.relation,
            target=relation.target,
            truth=truth,
            matches=matches,
        )
        relations.append(Verdict(verdict))
    return Judgement(matches, tuple(objects), tuple(attributes), tuple(relations))


def _judge_values(
    index: int, description: Description, *, truth: ImageTruth, matches: Matches
) -> dict[str, Verdict]:
    """The verdicts of the values of a described object, by judged kind."""
    verdicts = {}
    for kind in truth.vocabulary.judged_kinds:
        value = description.objects[index].attributes.get(kind)
        if value is None:
            continue
        if index not in matches:
            verdicts[kind] = Verdict.UNMATCHED
            continue
        # The order is the point: a value that another object has is a failure of binding, one that
        # none has a failure of recognition.
        actual_value = truth.objects[matches[index]].attributes.get(kind)
        if actual_value is None:
            verdicts[kind] = Verdict.UNMATCHED
        elif actual_value == value:
            verdicts[kind] = Verdict.RIGHT
        elif any(other.attributes.get(kind) == value for other in truth.objects):
            verdicts[kind] = Verdict.EXCHANGED
        else:
            verdicts[kind] = Verdict.INVENTED
    return verdicts


def list_atoms(description: Description, judgement: Judgement, category_word: str) -> list[Atom]:
    """List the atoms of a description, for tables and for colouring an answer.

    Args:
        description: what an answer says.
        judgement: of this description.
        category_word: the vocabulary's word for categories.

    Returns:
        Categories and judged values object by object, then the relations.
    """
    atoms = []
    for index, described in enumerate(description.objects):
        verdicts = dict(judgement.attributes[index])
        values = dict(described.attributes)
        # "A red object" names no category, so there is no atom to colour.
        if described.category is not None:
            verdicts[category_word] = judgement.objects[index]
            values[category_word] = described.category
        for kind, verdict in verdicts.items():
            span = described.spans.get(kind)
            atoms.append(
                Atom(kind=kind, value=values[kind], objects=(index,), verdict=verdict, span=span)
            )
    for relation, verdict in zip(description.relations, judgement.relations, strict=True):
        atoms.append(
            Atom(
                kind="relation",
                value=relation.relation,
                objects=(relation.subject, relation.target),
                verdict=verdict,
                span=relation.span,
            )
        )
    return atoms
