"""Reads the meaning of a text from its words. Independent of the grammar that writes texts (docs/language.md)."""

from collections.abc import Callable

from generator.judge.fragment_reader import FragmentReader
from generator.judge.lexicon import COUNTS, Lexicon, UnreadableError
from generator.judge.meaning import Meaning
from generator.judge.sentence_reader import SentenceReader

_Way = Callable[[str, list[str], Lexicon], Meaning]


def read_text(text: str, lexicon: Lexicon) -> Meaning:
    """The meaning of a text. Raises UnreadableError if the grammar does not allow it or if it has two readings."""
    found: Meaning | None = None
    fault: UnreadableError | None = None
    for words in lexicon.divide(text):
        for read in _ways(words):
            try:
                meaning = read(text, words, lexicon)
            except UnreadableError as error:
                fault = fault or error.with_traceback(None)  # which would hold this frame, and the frame it
                continue
            if found is not None and meaning != found:
                raise UnreadableError(f"'{text}': expected one reading, got two")
            found = meaning
    if found is None:
        raise fault or UnreadableError(f"'{text}': expected a text")
    return found


def _sentences(text: str, words: list[str], lexicon: Lexicon) -> Meaning:
    return SentenceReader(text, words, lexicon).sentences()


def _phrases(text: str, words: list[str], lexicon: Lexicon) -> Meaning:
    return FragmentReader(text, words, lexicon).phrases()


def _photo(text: str, words: list[str], lexicon: Lexicon) -> Meaning:
    return FragmentReader(text, words, lexicon).photo()


def _spare(text: str, words: list[str], lexicon: Lexicon) -> Meaning:
    return FragmentReader(text, words, lexicon).spare()


def _crepe(text: str, words: list[str], lexicon: Lexicon) -> Meaning:
    return FragmentReader(text, words, lexicon).crepe()


def _ways(words: list[str]) -> tuple[_Way, ...]:
    """The readers to try, by how the text begins and ends."""
    if words[-1] == ".":
        return (_sentences,)
    if words[0] in ("a", "an", "no"):
        return (_photo, _phrases) if words[1:3] == ["photo", "of"] else (_phrases,)
    return (_phrases, _spare, _crepe) if words[0] in COUNTS else (_spare, _crepe)
