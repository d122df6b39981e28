"""Words of a family that captions would misspell, or that the judge could not read back."""

import json
from collections.abc import Iterator

from generator.judge.lexicon import Lexicon, UnreadableError
from generator.judge.text_reader import read_text
from generator.language.form import Form, Link, Mention
from generator.language.grammar import Grammar, plural_of
from generator.vocabulary.schema import Vocabulary

_IRREGULAR = {
    "bison": "bison", "calf": "calves", "child": "children", "deer": "deer", "elf": "elves", "fish": "fish", "foot": "feet",
    "goose": "geese", "half": "halves", "knife": "knives", "leaf": "leaves", "life": "lives", "loaf": "loaves", "man": "men",
    "moose": "moose", "mouse": "mice", "ox": "oxen", "scarf": "scarves", "sheep": "sheep", "shelf": "shelves", "thief": "thieves",
    "tooth": "teeth", "wife": "wives", "wolf": "wolves", "woman": "women",
}  # fmt: skip
_SOUNDS_OTHERWISE = {
    "a": ("eu", "ewe", "one", "uni", "us", "ufo", "ute", "uke"),
    "an": ("heir", "honest", "honor", "honour", "hour"),
}
_BUT = ("unin", "unim", "unid", "unit ", "ush")  # "an uninteresting …" after all


def misspelt(vocabulary: Vocabulary) -> Iterator[str]:
    """A sentence for each plural or article that English forms differently from the captions."""
    for name, spec in vocabulary.objects.items():
        *before, last = name.split(" ")
        plural = " ".join([*before, _IRREGULAR.get(last, plural_of(last))])
        if spec.plural is None and plural != plural_of(name):
            yield f"two of '{name}' would be called '{plural_of(name)}'; add plural = \"{plural}\"."
        if spec.article is None and (article := _article(name)):
            yield f"'{name}' would be said with the wrong article; add article = \"{article}\"."
    for kind, values in vocabulary.attributes.items():
        for name, value in values.items():
            if kind not in vocabulary.phrases and value.article is None and (article := _article(name)):
                yield f"'{name}' would be said with the wrong article; add article = \"{article}\"."


def _article(word: str) -> str | None:
    """The article that a word needs by its sound, where its first letter misleads; else None."""
    if word.startswith(_BUT):
        return None
    return next((article for article, starts in _SOUNDS_OTHERWISE.items() if word.startswith(starts)), None)


def unreadable(vocabulary: Vocabulary, text: str) -> Iterator[str]:
    """A sentence for each caption that the judge cannot read back with the lexicon of the family's TOML `text`.

    There is one caption for each object, value, relation and environment.
    """
    grammar, lexicon = Grammar(vocabulary), Lexicon.of(text)
    for form, template in _forms(vocabulary):
        caption = grammar.realise(form, template)
        try:
            same = json.loads(read_text(caption, lexicon).to_json()) == form.to_dict()
        except UnreadableError:
            same = False
        if not same:
            yield f"the caption '{caption}' cannot be read back as it is meant; choose other words."


def _forms(vocabulary: Vocabulary) -> Iterator[tuple[Form, str]]:
    objects = list(vocabulary.objects)
    for name in objects:
        yield Form((Mention(name),)), "there-is"
        yield Form((Mention(name, count=2),)), "there-is"
    for kind, values in vocabulary.attributes.items():
        for value in values:
            yield Form((Mention(objects[0], ((kind, value),)),)), "there-is"
    for relation in vocabulary.pair_relations:
        yield Form((Mention(objects[0]), Mention(objects[1])), (Link(0, relation, 1),)), "that-is"
    for environment in vocabulary.environments:
        yield Form((Mention(objects[0]),), environment=environment), "there-is"
