"""Read a model's answer: one of the labels of the question, a refusal, or nothing that can be read.

Uses only rules. Removes the reasoning first. Then the last final statement decides (`\\boxed{}`, `<answer>`,
"Answer:"), else the last line that concludes, else the only label that the answer leads with or names.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

CUT_OFF = "an answer was cut off by the limit of tokens"
REFUSED = "the model refused to answer"
UNREAD = "an answer says nothing that can be read as one choice"

_MOST = 20_000
"""Maximum characters of an answer without reasoning that are read: half from its start, half from its end."""
_TAGS = "(?:think|thinking|thoughts?|reasoning|scratchpad|reflection)"
_OPEN = re.compile(rf"<{_TAGS}>|◁think▷|\[think\]|<\|begin_of_thought\|>|<\|channel\|>analysis", re.I)
_CLOSE = re.compile(rf"</{_TAGS}>|◁/think▷|\[/think\]|<\|end_of_thought\|>|<\|channel\|>final<\|message\|>", re.I)
_STRONG = re.compile(
    r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}|<answer>([^<]*)|\banswer\W{0,4}:[\s*_]{0,9}(?=([^\n]{1,300}))",
    re.I,
)
_NAMES = "(?:option|caption|choice|image|picture|statement|description|letter|answer|one)"
_SOFT = re.compile(
    rf"\b(?:(?:final|correct|right|true|best|accurate|matching) {_NAMES}|answer|verdict|conclusion)[ *_]{{0,4}}"
    r"(?:is|would be|should be|must be|has to be|:|=|->|→)[\s*_:]{0,9}(?=([^\n]{1,300}))"
    r"|\b(?:i(?:'ll| will| would|'d)? (?:choose|select|pick|say|go with)|actually|correction|i meant?|no wait)\b"
    r"[\s,:*]{0,9}(?=([^\n]{1,300}))",
    re.I,
)
_CONCLUDES = re.compile(r"\b(?:so|therefore|thus|hence|correct|true|right|best|matches|choose|conclu\w+)\b", re.I)
_REFUSAL = re.compile(
    r"\bsorry\b|\bi(?:'m| am) afraid|\bas an ai\b|\bmy guidelines\b|\bmust decline\b|\bnot comfortable\b"
    r"|\b(?:i|we) (?:can(?:'t|not| not)|could not|couldn't|won't|will not|do not|don't) "
    r"(?:\w+ )?(?:assist|help|comply|answer|provide|see|view|access|process|determine|tell|identify|say|decide|know)"
    r"|\b(?:unable|not able) to (?:\w+ )?(?:assist|help|answer|provide|see|view|access|process|determine|tell|say)"
    r"|\bno image (?:was|is|has been)\b|\bcannot be (?:answered|determined)\b|\bi refuse\b",
    re.I,
)
_WRAPS = re.compile(r"\\(?:text|mathbf|mathrm|textbf|mathsf)\s*\{([^{}]*)\}")
_VERBS = "is|was|are|do|does|has|can|because|since|as|matches|describes|it|and|or|would|seems|rather|instead|not|but"
_BEFORE = re.compile(rf"(?:\bnot|n't|\bthan|\bnor|\bneither|\bunlike|\bexclude|\breject)\s+(?:{_NAMES} ?)?\W*$", re.I)
_ARTICLE = re.compile(rf"\s+(?!(?:{_VERBS})\b)\w")
_AFTER = re.compile(
    r"[^\w,;.]{0,9}(?:is|was|are|seems|can be|must be)?\s*(?:not\b|n't|false|wrong|incorrect|inaccurate|ruled)", re.I
)
_JOINED = r"\W{0,3}(?:\b(?:and|or)\b|[/&,|+])\W{0,3}"
_FOLLOWS = "there|it|the|this|that|i|because|since|as|we|these|indeed"
_TELLS = "is|absolutely|say|be|so|therefore|thus|hence|definitely|answer|a|clearly|then|but|mean|actually"


class Reading(NamedTuple):
    """What an answer says: the index of a label, or why there is none (CUT_OFF, REFUSED or UNREAD)."""

    label: int | None
    why: str = ""


def read_choice(answer: str, finish: str, letters: str, captions: Sequence[str] = ()) -> Reading:
    """Which option an answer chooses. letters: a letter for each option. captions: the words of the options.

    An answer may give the words of an option instead of its letter. If its letter and its words are of different
    options, it is not read. finish: why the answer ended, as in chat completions.

    >>> read_choice("<think>A? No.</think> The answer is **B**.", "stop", "AB")
    Reading(label=1, why='')
    """
    return _read(answer, finish, _Letters(letters, captions))


def read_yes_no(answer: str, finish: str, yes: Sequence[str] = ("yes",), no: Sequence[str] = ("no",)) -> Reading:
    """Whether an answer says yes (0) or no (1), by the words that say so.

    >>> read_yes_no("Yes. Wait, actually no.", "stop").label
    1
    """
    return _read(answer, finish, _Words(yes, no))


def final_part(answer: str) -> str:
    """An answer without its reasoning: the text after the last closing tag, up to an opening tag without a closing tag.

    >>> final_part("It may be A </think> B")
    'B'
    """
    closed = _CLOSE.split(answer)[-1]
    return _OPEN.split(closed)[0].strip()


class _Letters:
    """Finds a letter: `stated` in a short statement, `plain` in an answer without a final statement."""

    def __init__(self, letters: str, captions: Sequence[str]):
        self._letters, self._captions = letters, [_plain_words(each) for each in captions]
        some = re.escape(letters[0]) if len(letters) == 1 else f"[{re.escape(letters)}]"
        label = rf"[(\[\"']{{0,4}}({some})(?=[^\w'’]|$)[)\]\"']*"
        self._leading = re.compile(
            rf"\W{{0,3}}(?:{_NAMES} )?\W{{0,3}}{label}(?:\s*$|\s*[.:,;)\]–—-]|\s*\n| (?:{_VERBS})\b)", re.I
        )
        self._alone = re.compile(rf"\W{{0,9}}(?:{_NAMES} )?\W{{0,9}}{label}\W*", re.I)
        self._named = re.compile(rf"(?<![\w'’])(?:({_NAMES})\s)?([(\[\"']{{0,4}})({some})(?![\w'’])", re.I)
        other = rf"(?-i:{label})(?!\s+(?!(?:{_VERBS})\b)\w)"
        self._several = re.compile(rf"\W{{0,9}}(?:{_NAMES} )?(?-i:{label}){_JOINED}(?:{_NAMES} )?{other}", re.I)

    def stated(self, text: str) -> int | None:
        if self._several.match(text):
            return None
        if (found := self._alone.fullmatch(text)) is not None:
            return self._place(found[1])
        spoken = self._spoken(text)
        lead = self._lead(text)
        if lead is not None:
            return lead if spoken in (None, lead) else None
        named = self._names(text)
        if len(named) == 1:
            (only,) = named
            return only if spoken in (None, only) else None
        return None if named else spoken

    def plain(self, text: str) -> int | None:
        lines = [line for line in text.split("\n") if line.strip()]
        leads = {lead for line in lines if (lead := self._lead(line)) is not None}
        if self._several.match(text):
            return None
        last = lines[-1]
        if (alone := self._alone.fullmatch(last)) is not None:
            return self._place(alone[1])
        if len(lines) > 1 and self._lead(last) is None and _CONCLUDES.search(last):
            found = self.stated(last)
            if found is not None:
                return found
        if len(leads) == 1:
            (only,) = leads
            return only if len(lines) > 1 else self.stated(text)
        if leads:
            return None
        for sentence in reversed(re.split(r"(?<=[.!?])\s+|\n", text)):
            if _CONCLUDES.search(sentence) and (found := self.stated(sentence)) is not None:
                return found
        return self.stated(text)

    def _place(self, letter: str) -> int:
        return self._letters.lower().index(letter.lower())

    def _lead(self, text: str) -> int | None:
        """The label that a line begins with. A lower-case letter needs punctuation after it, since "a" is a word."""
        found = self._leading.match(text)
        if found is None or (found[1].islower() and " " in found[0].lstrip()):
            return None
        return None if _AFTER.match(text, found.end(1)) else self._place(found[1])

    def _names(self, text: str) -> set[int]:
        """The labels that a text names and does not reject. A letter before a word is an article, unless "option" or
        the like is before it."""
        named = set()
        for found in self._named.finditer(text):
            bare, end = not (found[1] or found[2]), found.end()
            article = not found[1] and _ARTICLE.match(text, end) is not None
            if article or (bare and found[3] not in self._letters):
                continue
            if not (_BEFORE.search(text, max(0, found.start() - 40), found.start(3)) or _AFTER.match(text, end)):
                named.add(self._place(found[3]))
        return named

    def _spoken(self, text: str) -> int | None:
        """The only option whose words a text contains; ignores options that are part of another found option."""
        said = f" {_plain_words(text)} "
        found = [i for i, words in enumerate(self._captions) if words and f" {words} " in said]
        whole = [i for i in found if not any(i != j and self._captions[i] in self._captions[j] for j in found)]
        return whole[0] if len(whole) == 1 else None


class _Words:
    """Finds a word, with the methods of _Letters."""

    def __init__(self, *words: Sequence[str]):
        self._words = [[word.casefold() for word in each] for each in words]
        some = "|".join(re.escape(word) for each in self._words for word in each)
        self._said = re.compile(rf"\W{{0,9}}({some})(?:\W*$|\s+(?:{_FOLLOWS})\b)", re.I)
        self._told = re.compile(rf"\b(?:{_TELLS})\s+[\"'*(]*({some})[\"'*)]*\W*$", re.I)
        self._both = re.compile(rf"\b(?:{some}){_JOINED}(?:{some})\b(?!\s*(?:{_FOLLOWS}))", re.I)

    def stated(self, text: str) -> int | None:
        if self._both.search(re.split(r"[.\n]", text)[0]) and not re.search(r"\bactually\b", text, re.I):
            return None
        said = [
            next(i for i, words in enumerate(self._words) if found[1].casefold() in words)
            for clause in re.split(r"[.!?\n,;:—–(]|\s-\s", text)
            if (found := self._said.match(clause) or self._told.search(clause))
        ]
        return said[-1] if said else None

    plain = stated


def _read(answer: str, finish: str, labels: _Letters | _Words) -> Reading:
    if finish == "length":
        return Reading(None, CUT_OFF)
    if finish in ("content_filter", "refusal"):
        return Reading(None, REFUSED)
    whole = final_part(answer)
    text = _normal(whole if len(whole) <= _MOST else f"{whole[: _MOST // 2]}\n{whole[-_MOST // 2 :]}").strip()
    label = _label(text, labels) if text else None
    if label is not None:
        return Reading(label)
    return Reading(None, REFUSED if _REFUSAL.search(text) else UNREAD)


def _label(text: str, labels: _Letters | _Words) -> int | None:
    """The label of the last final statement; a _STRONG statement counts even if it cannot be read."""
    strong = soft = None
    for start, said in _statements(_STRONG, text):
        strong = start, said
    for start, said in _statements(_SOFT, text):
        if (found := labels.stated(said)) is not None:
            soft = start, found
    if strong is not None and (soft is None or strong[0] + len("answer") >= soft[0]):
        return labels.stated(strong[1])
    return labels.plain(text) if soft is None else soft[1]


def _statements(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, str]]:
    for found in pattern.finditer(text):
        yield found.start(), next(each for each in found.groups() if each is not None).strip()


def _normal(text: str) -> str:
    """Normalize text: NFKC, straight quotes, crosses as "false"; removes invisible characters and type markup."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'").replace("“", '"').replace("”", '"')
    text = re.sub("[✗✘❌❎]", " false ", text)
    text = "".join(c for c in text if c == "\n" or unicodedata.category(c) not in ("Cf", "Cc", "Cs"))
    text = _WRAPS.sub(r"\1", text)
    return re.sub(r"[*`]+|(?<!\w)_+|_+(?!\w)", "", text)


def _plain_words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
