"""Cut an answer into words and marks, without markup."""

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from .reasoning import lower_in_place
from .translations import LONGEST_PHRASE, SIGNS, TRANSLATIONS
from .vocabulary import words

WORD = "word"
MARK = "mark"
LINE_END = "line"
BOX_START = "open"
BOX_END = "close"
LABEL = "label"

_BOX_TAG_OPENINGS = ("<answer>", "<final_answer>", "<conclusion>", "<|begin_of_box|>", "<final>")
_BOX_TAG_CLOSINGS = ("</answer>", "</final_answer>", "</conclusion>", "<|end_of_box|>", "</final>")
_LINE_TAGS = ("</p>", "</li>", "</div>")
_LONGEST_TAG = 60
"""Longest tag that is removed, in characters. "<" without ">" within it is text; without the bound,
every "<" would search the rest of the answer."""
_BOX_COMMANDS = ("boxed", "fbox")

_QUOTES = "'’‘"
_MARKUP = "*_#`~"
_SINGLE_MARKS = '.?!;:,()[]"/|=&+-'
_ASCII_MARKS = dict(zip("。！？；，、：–—।", ".!?;,,:--.", strict=True)) | dict.fromkeys(
    "“”„«»「」『』", '"'
)

_VERBS_BEFORE_NOT = {"ca": "can", "wo": "will"}
"""The verbs of "can't" and "won't", without "n't"."""
_CONTRACTIONS = {
    "s": "is",
    "d": "would",
    "ll": "will",
    "m": "am",
    "re": "are",
    "ve": "have",
}
_WITHOUT_APOSTROPHE = words("isnt doesnt dont didnt wasnt arent")

_GERMAN_WORDS = words("ist sind nicht der das und ich weil")


class Token(NamedTuple):
    """A part of an answer."""

    kind: str
    """WORD, MARK (punctuation), LINE_END, BOX_START and BOX_END (around a boxed answer), or
    LABEL."""
    text: str
    """The word in lower case and in English, or the mark."""
    raw: str = ""
    """The word as the answer writes it; "" for all but words."""
    label: int = -1
    """Of a label: its index, from 0; else -1."""
    in_words: bool = False
    """Of a label: whether the answer gives the words of the option instead of its letter."""


NO_TOKEN = Token(LINE_END, "\n")
"""Stands for the neighbour of the first and of the last token."""


def neighbour(tokens: Sequence[Token], place: int) -> Token:
    """Return the token at a place, or NO_TOKEN outside the answer.

    Args:
        tokens: All tokens of an answer.
        place: Any index; negative ones are outside.

    Returns:
        The token.
    """
    return tokens[place] if 0 <= place < len(tokens) else NO_TOKEN


def split_tokens(text: str) -> list[Token]:
    """Split a text into tokens.

    Markup, quotes inside words, and invisible characters are dropped.

    Args:
        text: An answer without its reasoning, in Unicode's form NFKC.

    Returns:
        The tokens in order; none is a label yet.

    Example:
        >>> [token.text for token in split_tokens("It isn't **B**.")]
        ['it', 'is', 'not', 'b', '.']
    """
    scanner = _Scanner(text)
    scanner.scan()
    # Words whose meaning depends on their neighbours, once all neighbours are known.
    return _drop_assurances(_rename_also(_rename_directions(scanner.tokens)))


class _Scanner:
    """Goes through a text once; every step reads one tag, command, word or mark."""

    def __init__(self, text: str) -> None:
        self.tokens: list[Token] = []
        self._text = text
        self._lowered = lower_in_place(text)
        self._place = 0
        self._depth = 0
        """Number of open braces."""
        self._box_depths: list[int] = []
        """For each open \\boxed{, the number of open braces inside it."""

    def scan(self) -> None:
        """Read the whole text into `tokens`."""
        while self._place < len(self._text):
            character = self._text[self._place]
            if character == "\n":
                self._add(LINE_END, "\n")
            elif character == "<":
                self._read_tag()
            elif character == "\\":
                self._read_command()
            elif character == "{":
                self._depth += 1
                self._add(MARK, "{")
            elif character == "}":
                self._read_closing_brace()
            elif character in SIGNS and not self._is_between_digits():
                self._add(WORD, SIGNS[character], character)
            elif _in_word(character):
                self._read_word()
            else:
                self._read_mark()

    def _is_between_digits(self) -> bool:
        """Whether a sign is a part of a number, as in "3×3"."""
        before = self._text[self._place - 1 : self._place]
        after = self._text[self._place + 1 : self._place + 2]
        return before.isdigit() and after.isdigit()

    def _add(self, kind: str, text: str, raw: str = "") -> None:
        """Add a token of one character of the text."""
        self.tokens.append(Token(kind, text, raw))
        self._place += 1

    def _read_tag(self) -> None:
        """Skip a tag such as <b> or <|im_end|>; a tag around an answer becomes a token."""
        start = self._place
        end = self._text.find(">", start, start + _LONGEST_TAG)
        first = self._text[start + 1 : start + 2]
        begins_like_tag = not first or first.isalpha() or first in "/|"
        if end < 0 or not begins_like_tag:
            self._place += 1
            return
        tag = self._lowered[start : end + 1]
        if tag in _BOX_TAG_OPENINGS:
            self.tokens.append(Token(BOX_START, "tag"))
        elif tag in _BOX_TAG_CLOSINGS:
            self.tokens.append(Token(BOX_END, "tag"))
        elif tag.startswith("<br") or tag in _LINE_TAGS:
            self.tokens.append(NO_TOKEN)
        self._place = end + 1

    def _read_command(self) -> None:
        """Skip a command of LaTeX; a command that opens a box becomes a token."""
        end = self._place + 1
        while end < len(self._text) and _in_command(self._text[end]):
            end += 1
        command = self._text[self._place + 1 : end]
        self._place = end
        if command == "n":
            # A line break that a program has escaped.
            self.tokens.append(NO_TOKEN)
        if command not in _BOX_COMMANDS:
            return
        while self._text[self._place : self._place + 1] == " ":
            self._place += 1
        if self._text[self._place : self._place + 1] == "{":
            self._depth += 1
            self._box_depths.append(self._depth)
            self._add(BOX_START, "box")

    def _read_closing_brace(self) -> None:
        closes_box = bool(self._box_depths) and self._box_depths[-1] == self._depth
        if closes_box:
            self._box_depths.pop()
            self._add(BOX_END, "box")
        else:
            self._add(MARK, "}")
        self._depth = max(0, self._depth - 1)

    def _read_mark(self) -> None:
        mark = self._text[self._place]
        before = self._text[self._place - 1 : self._place]
        after = self._text[self._place + 1 : self._place + 2]
        is_punctuation = unicodedata.category(mark)[0] == "P" and mark not in _MARKUP
        # Before the other marks: a dash parts clauses, a hyphen parts a word.
        if mark == "-" and before.isalnum() and after.isalnum():
            self._add(MARK, "hyphen")
        elif mark == "." and before.isdigit() and after.isdigit():
            self._place += 1  # a decimal point
        elif mark in _QUOTES:
            self._add(MARK, '"')
        elif mark == "、" and before.isascii() and after.isascii():
            self._add(WORD, "and", mark)  # "B、C" is a list
        elif mark in _SINGLE_MARKS or is_punctuation:
            self._add(MARK, _ASCII_MARKS.get(mark, mark))
        else:
            self._place += 1

    def _read_word(self) -> None:
        """Read a word, a contraction, or a phrase of a script without spaces."""
        if _is_unspaced(self._text[self._place]):
            self._read_unspaced_phrase()
            return
        end = self._end_of_word()
        raw = self._text[self._place : end]
        lowered = raw.lower()
        after = self._text[end : end + 2]
        ends_in_n = lowered.endswith("n") and len(raw) > 1
        if ends_in_n and after.lower() in ("'t", "’t"):
            verb = lowered[:-1]
            verb = _VERBS_BEFORE_NOT.get(verb, verb)
            self.tokens.append(Token(WORD, verb, raw[:-1]))
            self.tokens.append(Token(WORD, "not", "n't"))
            self._place = end + 2
        elif after[:1] in ("'", "’") and after[1:].isalpha():
            self._read_contraction(raw, end)
        elif lowered in ("cannot", "cant"):
            self.tokens += [Token(WORD, "can", raw), Token(WORD, "not", raw)]
            self._place = end
        elif lowered in _WITHOUT_APOSTROPHE:
            self.tokens += [Token(WORD, lowered[:-2], raw), Token(WORD, "not", raw)]
            self._place = end
        elif lowered in ("e", "i") and after.lower() in (".g", ".e"):
            self._place = end + 3  # "e.g." holds no letter of an option
        else:
            self.tokens.append(_translated(raw))
            self._place = end

    def _end_of_word(self) -> int:
        end = self._place + 1
        while end < len(self._text) and _in_word(self._text[end]):
            # "B是" is a letter and a word.
            if _is_unspaced(self._text[end]):
                break
            end += 1
        return end

    def _read_unspaced_phrase(self) -> None:
        """Read the longest known phrase, or one character."""
        phrase = self._text[self._place : self._place + LONGEST_PHRASE]
        # Without spaces, the longest known phrase is the best guess at a word.
        while len(phrase) > 1 and phrase not in TRANSLATIONS:
            phrase = phrase[:-1]
        self.tokens.append(Token(WORD, TRANSLATIONS.get(phrase, phrase), phrase))
        self._place += len(phrase)

    def _read_contraction(self, raw: str, end: int) -> None:
        """Read "it's" as two words; of "l'option", read "l" alone."""
        self.tokens.append(_translated(raw))
        tail_end = end + 1
        while tail_end < len(self._text) and self._text[tail_end].isalpha():
            tail_end += 1
        tail = self._text[end + 1 : tail_end].lower()
        if tail not in _CONTRACTIONS:
            # With its apostrophe, the "c" of "c'est" is not the letter of an option.
            with_apostrophe = self._text[self._place : end + 1]
            self.tokens[-1] = self.tokens[-1]._replace(raw=with_apostrophe)
            self._place = end + 1
            return
        self.tokens.append(Token(WORD, _CONTRACTIONS[tail], self._text[end:tail_end]))
        self._place = tail_end


def _translated(raw: str) -> Token:
    lowered = raw.casefold()
    return Token(WORD, TRANSLATIONS.get(lowered, lowered), raw)


def _in_command(character: str) -> bool:
    return character.isascii() and character.isalpha()


def _in_word(character: str) -> bool:
    # Vowel signs of Hindi and accents that stand alone are marks of category M.
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def _is_unspaced(character: str) -> bool:
    """Whether a character is of Chinese, Japanese or Korean, whose words touch letters of
    options."""
    return (
        "\u3040" <= character <= "\u30ff"
        or "\u3400" <= character <= "\u9fff"
        or "\uac00" <= character <= "\ud7a3"
    )


def _drop_assurances(tokens: list[Token]) -> list[Token]:
    """Remove "without a doubt" and the like, whose negator denies nothing."""
    remaining: list[Token] = []
    place = 0
    while place < len(tokens):
        length = 0
        if tokens[place].text in ("without", "no", "beyond"):
            following = [token.text for token in tokens[place + 1 : place + 3]]
            if following[:1] in (["doubt"], ["question"]):
                length = 2
            elif following in (["a", "doubt"], ["any", "doubt"], ["a", "question"]):
                length = 3
        if length:
            place += length
        else:
            remaining.append(tokens[place])
            place += 1
    return remaining


def _rename_also(tokens: list[Token]) -> list[Token]:
    """Make "also" the English "so" in a German answer."""
    is_german = any(token.raw in _GERMAN_WORDS for token in tokens)
    if not is_german:
        return tokens
    renamed = []
    for token in tokens:
        if token.text == "also":
            token = token._replace(text="so")
        renamed.append(token)
    return renamed


def _rename_directions(tokens: list[Token]) -> list[Token]:
    """Make "right" another word where it is a direction: "right of the cube", "on the right"."""
    renamed = []
    for place, token in enumerate(tokens):
        if token.kind == WORD and token.text == "right" and _is_direction(tokens, place):
            token = token._replace(text="rightward")
        renamed.append(token)
    return renamed


def _is_direction(tokens: Sequence[Token], place: int) -> bool:
    before = neighbour(tokens, place - 1).text
    earlier = neighbour(tokens, place - 2).text
    after = neighbour(tokens, place + 1).text
    follows_preposition = before == "the" and earlier in ("on", "to", "at", "from", "towards")
    return (
        before in ("to", "far") or follows_preposition or after in ("of", "side", "hand", "hyphen")
    )
