"""What a text says, read from its words alone. Written apart from the grammar that writes texts (docs/language.md)."""

from collections.abc import Callable

from generator.judge.fragments import FragmentReader
from generator.judge.lexicon import COUNTS, Lexicon, UnreadableError
from generator.judge.meaning import Link, Said, Thing
from generator.judge.sentences import SentenceReader

__all__ = ["Lexicon", "Link", "Said", "Thing", "UnreadableError", "read_sentence"]

_Way = Callable[[str, list[str], Lexicon], Said]


def read_sentence(text: str, lexicon: Lexicon) -> Said:
    """What a text says. Raises UnreadableError where the grammar does not allow it, or where it has two readings."""
    found: Said | None = None
    fault: UnreadableError | None = None
    for words in lexicon.divide(text):
        for read in _ways(words):
            try:
                said = read(text, words, lexicon)
            except UnreadableError as error:
                fault = fault or error
                continue
            if found is not None and said != found:
                raise UnreadableError(f"'{text}': expected one reading, got two")
            found = said
    if found is None:
        raise fault or UnreadableError(f"'{text}': expected a text")
    return found


def _sentences(text: str, words: list[str], lexicon: Lexicon) -> Said:
    return SentenceReader(text, words, lexicon).sentences()


def _phrases(text: str, words: list[str], lexicon: Lexicon) -> Said:
    return FragmentReader(text, words, lexicon).phrases()


def _photo(text: str, words: list[str], lexicon: Lexicon) -> Said:
    return FragmentReader(text, words, lexicon).photo()


def _spare(text: str, words: list[str], lexicon: Lexicon) -> Said:
    return FragmentReader(text, words, lexicon).spare()


def _crepe(text: str, words: list[str], lexicon: Lexicon) -> Said:
    return FragmentReader(text, words, lexicon).crepe()


def _ways(words: list[str]) -> tuple[_Way, ...]:
    """The ways to read a text, by its ends."""
    if words[-1] == ".":
        return (_sentences,)
    if words[0] in ("a", "an", "no"):
        return (_photo, _phrases) if words[1:3] == ["photo", "of"] else (_phrases,)
    return (_phrases, _spare, _crepe) if words[0] in COUNTS else (_spare, _crepe)
