from dataclasses import replace

import pytest
from hypothesis import given

from generator.judge.lexicon import Lexicon
from generator.judge.text_reader import read_text
from generator.language.familiarity import (
    count_bindings,
    count_held_out,
    count_triples,
    equally_familiar,
    names_absent,
)
from generator.language.form import Form, Link, Mention, merge_equal_mentions
from generator.language.grammar import Grammar
from tests.generator.scenes import CATEGORIES, HOLDOUT, VOCABULARY, VOCABULARY_TEXT, form_of, forms


@given(forms())
def test_json_and_counts_are_those_that_the_judge_reads(form: Form) -> None:
    grammar = Grammar(VOCABULARY)
    read = read_text(grammar.realise(form, grammar.templates(form)[0]), Lexicon.of(VOCABULARY_TEXT))
    assert form.to_json() == read.to_json()
    n_attributes = sum(len(thing.attributes) + (thing.without is not None) for thing in read.things)
    assert form.n_objects == sum(max(1, thing.number) for thing in read.things)
    assert (form.n_attributes, form.n_relations) == (n_attributes, len(read.links))
    assert form.level == {(False, False): "L1", (True, False): "OA", (False, True): "OR"}.get(
        (n_attributes > 0, bool(read.links)), "OAR"
    )


def test_attributes_stay_in_order_of_kind() -> None:
    mention = form_of("a large red cube").objects[0]
    metal = form_of("a large red metal cube").objects[0]
    assert mention.with_value("material", "metal") == metal
    assert mention.with_value("color", "blue") == form_of("a large blue cube").objects[0]
    assert metal.without_kind("material") == mention


def test_equal_mentions_are_counted_together() -> None:
    form = form_of("a red cube, a cone, a red cube and a cube")
    assert merge_equal_mentions(form) == form_of("two red cubes, a cone and a cube")


KIND, VALUE, CATEGORY = HOLDOUT.kind, HOLDOUT.values[0], HOLDOUT.objects[0]
FREE = next(name for name in CATEGORIES if name not in HOLDOUT.objects)
OTHER = next(value for value in VOCABULARY.values(KIND) if value not in HOLDOUT.values)


@pytest.mark.parametrize(
    ("mention", "number"),
    [
        (Mention(CATEGORY, ((KIND, VALUE),)), 1),
        (Mention(CATEGORY, ((KIND, OTHER),)), 0),
        (Mention(FREE, ((KIND, VALUE),)), 0),
        (Mention(CATEGORY, without=((KIND, VALUE),)), 1),  # a denial names it too
        (Mention(None, ((KIND, VALUE),), ((HOLDOUT.category, CATEGORY),)), 1),
        (Mention(None, ((KIND, VALUE),)), 0),
    ],
)
def test_bindings_are_named_by_assertions_and_denials(mention: Mention, number: int) -> None:
    assert count_bindings(Form((mention,)), HOLDOUT) == number
    assert count_held_out(Form((mention, mention)), HOLDOUT) == 2 * number


def test_triples_are_named_in_their_direction() -> None:
    holdout = replace(HOLDOUT, triples=(("cube", "left", "cone"),))
    for subject, other, number in (("cube", "cone", 1), ("cone", "cube", 0), ("cube", None, 0)):
        form = Form((Mention(subject), Mention(other)), (Link(0, "left", 1, False),))
        assert count_triples(form, holdout) == number
        assert count_triples(form, HOLDOUT) == 0


def test_equally_familiar_forms_name_as_many_bindings_and_both_or_neither_an_absent_atom() -> None:
    held_out, free = Form((Mention(CATEGORY, ((KIND, VALUE),)),)), Form((Mention(CATEGORY, ((KIND, OTHER),)),))
    assert not equally_familiar(held_out, free, HOLDOUT)
    assert equally_familiar(free, Form((Mention(FREE),)), HOLDOUT)
    absent = replace(HOLDOUT, absent_values=(OTHER,))
    assert names_absent(free, absent)
    assert not equally_familiar(free, Form((Mention(FREE),)), absent)
