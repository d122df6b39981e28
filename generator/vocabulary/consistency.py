"""Checks that the tables of a family fit together; each check raises ValueError with a sentence
that says how to fix it."""

from collections.abc import Iterator, Sequence

from generator.base.declarations import raise_all
from generator.base.errors import did_you_mean
from generator.vocabulary.english import plural_of
from generator.vocabulary.look_alikes import look_alikes
from generator.vocabulary.materials import check_inputs
from generator.vocabulary.relations import check_relations
from generator.vocabulary.tables import GRAMMAR, TEMPLATE_NAMES, FamilyTables, check_phrasing
from generator.vocabulary.templates import FamilyWords, template_mistakes


def check_names(family: FamilyTables) -> None:
    """The tested kind, category and adjectives agree with the attribute kinds; objects and
    environments exist."""
    kinds = family.attributes.keys()
    if family.tested not in kinds:
        raise ValueError(
            f"tested = '{family.tested}' is not an attribute kind; "
            f"{did_you_mean(family.tested, [*kinds])}"
        )
    if family.category in kinds:
        raise ValueError(
            f"category = '{family.category}' is also an attribute kind; give one of them another "
            f"name."
        )
    # `--holdout relation:pair=2x3` would have two meanings.
    if "relation" in (family.category, *kinds):
        raise ValueError(
            "'relation' stands for relations; give the attribute kind or category another name."
        )
    if len(family.objects) < 2:
        raise ValueError("expected at least two objects; add some to [objects].")
    if family.adjectives and sorted(family.adjectives) != sorted(kinds):
        raise ValueError(
            f"adjectives = {list(family.adjectives)} should name every attribute kind once: "
            f"{', '.join(kinds)}."
        )
    if not family.environments:
        raise ValueError("expected at least one environment; add one to [environments].")


def _check_words(family: FamilyTables) -> None:
    """No word or synonym has two meanings; words of values and objects contain no grammar words of
    captions."""
    declared_at: dict[str, str] = {}
    mistakes = []
    words: list[str] = []
    for values in family.attributes.values():
        for name, value in values.items():
            words += [name, *value.synonyms]
    for name, spec in family.objects.items():
        words += [name, *spec.synonyms]
    # Not those of environments, which have grammar words: "in a desert".
    for word in words:
        if not word.split() or not {*word.split()}.isdisjoint(GRAMMAR):
            mistakes.append(
                f"the word '{word}' is empty or contains a grammar word of captions; use another."
            )
    for name, place, synonyms in _words(family):
        for word in (name, *synonyms):
            if word in declared_at:
                mistakes.append(
                    f"the word '{word}' means both {declared_at[word]} and {place}; choose another "
                    f"for one of them."
                )
            # The first meaning stands, so that a third one is compared with it too.
            declared_at.setdefault(word, place)
    raise_all(mistakes)


def _words(family: FamilyTables) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield every word and phrase of captions, where it is declared, and its synonyms."""
    for kind, values in family.attributes.items():
        phrasing = family.phrases.get(kind)
        for name, value in values.items():
            place = f"{kind}.{name}"
            yield name, place, value.synonyms
            if phrasing:
                for word in (name, *value.synonyms):
                    yield phrasing.insert(word), place, ()
    for name, spec in family.objects.items():
        yield name, f"{family.category}.{name}", spec.synonyms
    for name, relation in family.relations.items():
        yield relation.phrase, f"relations.{name}", relation.synonyms
    yield family.generic, "generic", ()
    for name, environment in family.environments.items():
        yield environment.phrase, f"environments.{name}", ()


def _check_templates(family: FamilyTables) -> None:
    """Every declared template has one reading; `drawn_templates` names declared templates."""
    raise_all(template_mistakes(family.templates, TEMPLATE_NAMES, family_words(family)))
    for name in family.drawn_templates:
        if name not in family.templates:
            raise ValueError(
                f"drawn_templates names '{name}', which [templates] does not declare; "
                f"{did_you_mean(name, [*family.templates])}"
            )


def family_words(family: FamilyTables) -> FamilyWords:
    """The words of a family, as templates need them."""
    terms: dict[str, str] = {}
    environments = []
    for name, place, synonyms in _words(family):
        if place.startswith("environments."):
            environments.append(name)
        else:
            terms |= dict.fromkeys((name, *synonyms), place)
    for name, spec in family.objects.items():
        plurals = [spec.plural or plural_of(name)]
        plurals += [plural_of(synonym) for synonym in spec.synonyms]
        terms |= dict.fromkeys(plurals, f"{family.category}.{name}")
    # Counted objects may be of any category: "two objects".
    terms[plural_of(family.generic)] = "generic"
    return FamilyWords.from_terms(terms, environments)


def _check_phrasings(family: FamilyTables) -> None:
    """Every phrasing belongs to an attribute kind and does not begin with a grammar word of
    captions."""
    for kind, phrasing in family.kinds.items():
        if kind not in family.attributes:
            raise ValueError(
                f"kinds.{kind} names no attribute kind; {did_you_mean(kind, [*family.attributes])}"
            )
        check_phrasing(kind, phrasing)


def _check_paints(family: FamilyTables) -> None:
    """`paints` is empty or names two or more attribute kinds, each once."""
    paints = family.paints
    unknown = [kind for kind in paints if kind not in family.attributes]
    if unknown:
        raise ValueError(
            f"paints names '{unknown[0]}', which is not an attribute kind; "
            f"{did_you_mean(unknown[0], [*family.attributes])}"
        )
    has_duplicates = len(set(paints)) < len(paints)
    if paints and (len(paints) < 2 or has_duplicates):
        raise ValueError(
            f"paints = {list(paints)} should name two or more attribute kinds, each once; a world "
            f"uses one of them."
        )
    check_inputs(family.attributes, paints)


def _check_lamps(family: FamilyTables) -> None:
    """The lamps of an environment replace lamps of the family, of the same type."""
    lamps = family.lamps
    for place, environment in family.environments.items():
        for name, lamp in environment.lamps.items():
            if name not in lamps:
                raise ValueError(
                    f"environments.{place}.lamps.{name} replaces no lamp of the family; "
                    f"{did_you_mean(name, list(lamps))}"
                )
            if lamp.type != lamps[name].type:
                raise ValueError(
                    f"environments.{place}.lamps.{name} should have the type of the lamp '{name}', "
                    f"{lamps[name].type}."
                )


def _check_relations(family: FamilyTables) -> None:
    """Opposites are declared, with the same margin and distance (`check_relations`).

    With free depth orders, no relation is planned by clumps or stacks. Two of the largest objects
    can stand side by side within the distance of a clump.
    """
    check_relations(family.relations)
    _check_fronts(family)
    # Distance of the centres of two of the largest objects with the least gap between them, metres.
    side_by_side = 2 * max(family.radii, default=0) + family.placement.gap
    for name, relation in family.relations.items():
        planned_by = relation.axis.planned_by
        if family.placement.orders == "free" and planned_by in ("clumps", "stacks"):
            raise ValueError(
                f"relation '{name}' needs planned orders of the objects; set orders = \"planned\" "
                f"in [placement]."
            )
        if planned_by == "clumps" and (relation.distance or 0) - relation.margin <= side_by_side:
            raise ValueError(
                f"relation '{name}' has distance = {relation.distance} and margin = "
                f"{relation.margin}, but large objects side by side are {side_by_side:.3g} m "
                f"apart, so they could never be near; take a larger distance."
            )


def _check_fronts(family: FamilyTables) -> None:
    """Every category has a front where a relation means the directions of its second object, which
    may be of any category; no declared template has a place for such a relation."""
    framed = [relation for relation in family.relations.values() if relation.frame == "object"]
    without = [name for name, spec in family.objects.items() if spec.front is None]
    if framed and without:
        raise ValueError(
            f"relation '{framed[0].name}' means the directions of its second object, but "
            f"'{without[0]}' has no front; declare one, or leave out the object or the relation."
        )
    patterns = [name for name, relation in family.relations.items() if "{" in relation.phrase]
    for template, text in family.templates.items():
        if patterns and "{relation}" in text:
            raise ValueError(
                f"templates.{template} has {{relation}}, but the phrase of '{patterns[0]}' goes on "
                f"after its second object; leave out the template."
            )


def _check_stacks(family: FamilyTables) -> None:
    """Where relations are planned by stacks, some objects carry others, on tops wider than the
    relation's margin."""
    stacking = [
        relation for relation in family.relations.values() if relation.axis.planned_by == "stacks"
    ]
    if not stacking or not family.scales:
        return
    rule, margin = stacking[0].axis.rules[0], stacking[0].margin
    smallest_scale = min(family.scales)
    top_radii = {
        name: spec.top.radius * spec.size * smallest_scale
        for name, spec in family.objects.items()
        if spec.top
    }
    for name, radius in top_radii.items():
        if radius <= margin:
            raise ValueError(
                f"at its smallest, the top of '{name}' has a radius of {radius:.3g} m, which is "
                f"not above the margin of '{rule}' ({margin} m); reduce the margin, or declare no "
                f"top."
            )
    if not top_radii:
        raise ValueError(
            f"the rule '{rule}' needs an object to rest on; declare a top for an object, or leave "
            f"out the relation."
        )
    if not any(spec.foot is not None for spec in family.objects.values()):
        raise ValueError(
            f"the rule '{rule}' needs an object that rests; declare a foot for an object, or leave "
            f"out the relation."
        )


def _check_looks(family: FamilyTables) -> None:
    """No words, values or objects can be confused."""
    raise_all(look_alikes(family.model_dump(exclude_none=True)))


# The order of the mistakes that `gen vocab check` prints.
CHECKS = (
    _check_lamps,
    _check_looks,
    _check_phrasings,
    _check_paints,
    _check_words,
    _check_templates,
    _check_relations,
    _check_stacks,
)
