"""From form to words."""

from generator.language.form import Form, Mention
from generator.vocabulary import Vocabulary

TEMPLATE = "a-and-a"


def realise(form: Form, vocabulary: Vocabulary) -> str:
    """The caption of a form: "a red cube and a blue sphere" (template "a-and-a"; the style of PUG:SPARE's captions)."""
    *others, last = [_phrase(mention, vocabulary) for mention in form.objects]
    return f"{', '.join(others)} and {last}" if others else last


def _phrase(mention: Mention, vocabulary: Vocabulary) -> str:
    words = [value for _, value in mention.attributes] + [mention.category]
    return f"{_article(words[0], vocabulary)} {' '.join(words)}"


def _article(word: str, vocabulary: Vocabulary) -> str:
    kind = vocabulary.objects.get(word)
    declared = kind.article if kind else None
    return declared or ("an" if word[0] in "aeiou" else "a")
