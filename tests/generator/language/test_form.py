from dataclasses import replace
from itertools import permutations

from hypothesis import given

from generator.judge.held_out import HeldOut
from generator.judge.lexicon import Lexicon
from generator.judge.meaning import Meaning
from generator.judge.text_reader import read_text
from generator.language.form import (
    Form,
    count_bindings,
    count_held_out,
    count_triples,
    equally_familiar,
    merge_equal_mentions,
    names_absent,
)
from generator.language.grammar import Grammar
from tests.generator.scenes import HOLDOUT, VOCABULARY, VOCABULARY_TEXT, form_of, forms


def read(form: Form) -> Meaning:
    """What the judge reads in a text of a form."""
    grammar = Grammar(VOCABULARY)
    return read_text(
        grammar.realise(form, grammar.templates(form)[0]), Lexicon.from_toml(VOCABULARY_TEXT)
    )


@given(forms())
def test_json_and_counts_are_those_that_the_judge_reads(form: Form) -> None:
    meaning = read(form)
    assert form.to_json() == meaning.to_json()
    n_attributes = sum(len(obj.attributes) + (obj.without is not None) for obj in meaning.objects)
    assert form.n_objects == sum(max(1, obj.number) for obj in meaning.objects)
    assert (form.n_attributes, form.n_relations) == (n_attributes, len(meaning.relations))
    assert form.level == {(False, False): "L1", (True, False): "OA", (False, True): "OR"}.get(
        (n_attributes > 0, bool(meaning.relations)), "OAR"
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


HELD_OUT = replace(
    HOLDOUT,
    triples=tuple(
        (one, side, two)
        for one, two in permutations(("cube", "sphere"))
        for side in ("left", "right")
    ),
    absent_values=("red",),
    absent_objects=("cone",),
)


@given(forms(), forms())
def test_a_form_names_as_much_of_what_is_held_out_as_the_judge_says(
    form: Form, other: Form
) -> None:
    one, two = (
        (
            count_bindings(a_form, HELD_OUT),
            count_triples(a_form, HELD_OUT),
            names_absent(a_form, HELD_OUT),
        )
        for a_form in (form, other)
    )
    assert one == HeldOut.from_record(HELD_OUT.to_dict(), VOCABULARY_TEXT).counts_named(read(form))
    assert count_held_out(form, HELD_OUT) == one[0] + one[1]
    assert equally_familiar(form, other, HELD_OUT) == (one == two)
