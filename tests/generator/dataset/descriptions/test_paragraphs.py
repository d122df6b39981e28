"""Paragraphs made from known objects in many turns of phrase: what is read is what was meant."""

from hypothesis import given, settings
from hypothesis import strategies as st

from generator.dataset.descriptions.reading import read_description
from generator.dataset.descriptions.truth import canonical_relation
from tests.generator.dataset.descriptions.answers import VOCABULARY, object_of, relations_of

INTRODUCTIONS = (
    "There is a {size} {color} {material} {noun}.",
    "A {noun}, {size} and {color}, is made of {material}.",
    "I can see a {color} {noun} that is {size} and made of {material}.",
    "The image shows a {size} {noun} with a {material} finish, {color} in color.",
    "In the background, there is a {size}, {color} {noun} made of {material}.",
    "- {color} {noun} ({size}, {material})",
    "A {noun} is on the plain floor. It is {color}. Its size is {size} and its material is {material}.",
    "The {noun} is {color}, {size} and {material}.",
    "The {color} {noun} has a {material} surface. The {noun} is {size}.",
    "{noun}: {color}, {size}, {material}",
    "Object 3:\n- shape: {noun}\n- color: {color}\n- size: {size}\n- material: {material}",
    "One {size} {noun} sits in the middle, and it is {color}. The material of the {noun} is {material}.",
)
RELATIONS = (
    "The {first} is {phrase} the {second}.",
    "{Phrase} the {second} is the {first}.",
    "The {color} {first} stands {phrase} the {second}.",
    "The {first} is slightly {phrase} the {second} on the floor.",
    "{Phrase} the {second}, there is the {first}.",
)
PHRASES = {
    "left": ("to the left of", "left of", "on the left side of"),
    "behind": ("behind",),
    "front": ("in front of",),
    "near": ("near", "close to"),
    "on": ("on top of",),
}


@st.composite
def paragraphs(draw: st.DrawFn) -> tuple[str, list[object], set[tuple[int, str, int]]]:
    """A text, its objects, and its relations. Each category occurs once."""
    categories = draw(st.permutations(list(VOCABULARY.nouns)))[: draw(st.integers(1, 4))]
    sentences, objects, facts = [], [], set()
    colors = []
    for category in categories:
        values = {kind: draw(st.sampled_from(list(own))) for kind, own in VOCABULARY.values.items()}
        colors.append(values["color"])
        sentences.append(draw(st.sampled_from(INTRODUCTIONS)).format(noun=category, **values))
        objects.append((category, frozenset(values.items())))
    for _ in range(draw(st.integers(0, 3)) if len(categories) > 1 else 0):
        i, j = draw(st.permutations(range(len(categories))))[:2]
        name = draw(st.sampled_from(list(PHRASES)))
        phrase = draw(st.sampled_from(PHRASES[name]))
        words = {"first": categories[i], "second": categories[j], "color": colors[i]}
        template = draw(st.sampled_from(RELATIONS))
        sentence = template.format(phrase=phrase, Phrase=phrase.capitalize(), **words)
        sentences.append(sentence)
        facts.add(canonical_relation(i, name, j))
    return "\n".join(sentences), objects, facts


@given(paragraphs())
@settings(max_examples=300)
def test_a_paragraph_is_read_as_it_was_meant(
    paragraph: tuple[str, list[object], set[tuple[int, str, int]]],
) -> None:
    text, objects, facts = paragraph
    description = read_description(text, VOCABULARY, form="prose")
    assert not description.unread
    assert [object_of(each) for each in description.objects] == objects
    assert {canonical_relation(*fact) for fact in relations_of(description)} == facts
