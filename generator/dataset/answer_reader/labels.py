"""Find the options that an answer names: by their words, their letters or their places."""

from collections.abc import Sequence

from .tokens import BOX_START, LABEL, LINE_END, MARK, WORD, Token, neighbour, split_tokens
from .vocabulary import BELIEVING, CHOOSING, CONCLUDING, COPULAS, LABEL_NOUNS, words

WHOLE_CAPTION = "caption"
"""Text of a label for the whole words of a caption."""
SHORT_CAPTION = "core"
"""Text of a label for the words of a caption without its opening."""
_OPENING_WORDS = words("there is are a an the photo picture image of")
"""Words with which captions open, and which answers leave out."""
_SHORTEST_CAPTION = 3
"""Fewest words of a caption without its opening; fewer could be any remark about the image."""

_CARDINALS = ("one", "two", "three", "four", "five", "six")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")

_COUNTED = LABEL_NOUNS | {"two"}
_WRAPS = frozenset('()[]"{}')
_NOT_WORDS = ("B", "C", "D")
"""Capital letters that are not a word of any language that is read: before any word they are
labels."""
_AFTER_SMALL_LETTER = words("is does matches seems fits")
_BEFORE_SMALL_LETTER = (
    COPULAS | CHOOSING | BELIEVING | CONCLUDING | words("with probably likely definitely")
)
_AFTER_CAPITAL = COPULAS | words(
    "is are was were be do does did has have can cannot could may might must should would will "
    "not no because since as and or but so while whereas matches match describes describe seems "
    "seem appears looks it that which rather instead fits corresponds shows show says say states "
    "state claims claim mentions contains depicts reads gives gets swaps swapped reverses "
    "misdescribes contradicts fails works holds agrees aligns captures reflects correctly "
    "incorrectly accurately better best over than correct incorrect true false wrong right yes "
    "therefore thus hence also alone only if unless then too with from for misses here leaves "
    "leaving out nor neither the to of on at by in i probably obviously maybe perhaps definitely "
    "clearly surely certainly imo lol tbh lmao survives passes meets satisfies remains stays sums "
    "tells nails wins beats"
)
"""Words that do not follow an article. Before any other word, "A" is one: "A cube stands"."""


def mark_captions(tokens: list[Token], captions: Sequence[str]) -> list[Token]:
    """Replace each run of words that are an option's caption by a label.

    A caption counts without its opening ("There is a") too, if at least three words remain and no
    other caption contains them.

    Args:
        tokens: The tokens of an answer.
        captions: The words of each option. A caption without words, or with those of another
            option, is not searched.

    Returns:
        The tokens with labels. Where several captions begin, the longest counts.
    """
    wordings = _wordings_of_captions(captions)
    wordings_by_first_word = _index_by_first_word(wordings)
    if not wordings_by_first_word:
        return tokens

    # Only words count, so that captions are found across commas and line breaks.
    word_places = [place for place, token in enumerate(tokens) if token.kind == WORD]
    answer_words = [tokens[place].raw.casefold() for place in word_places]
    marked: list[Token] = []
    next_token = next_word = 0
    while next_word < len(answer_words):
        candidates = wordings_by_first_word.get(answer_words[next_word], [])
        label, length = _caption_at(answer_words, next_word, candidates)
        if not length:
            next_word += 1
            continue
        marked += tokens[next_token : word_places[next_word]]
        is_whole = length == len(wordings[label][0])
        text = WHOLE_CAPTION if is_whole else SHORT_CAPTION
        marked.append(Token(LABEL, text, "", label, in_words=True))
        next_token = word_places[next_word + length - 1] + 1
        next_word += length
    return marked + tokens[next_token:]


def _wordings_of_captions(captions: Sequence[str]) -> list[list[list[str]]]:
    """The word lists by which each caption is known, the longest first."""
    whole = []
    for caption in captions:
        tokens = split_tokens(caption)
        whole.append([token.raw.casefold() for token in tokens if token.kind == WORD])
    short = [_without_opening(wording) for wording in whole]
    wordings: list[list[list[str]]] = []
    for label, wording in enumerate(whole):
        # Words that two options share would choose neither, and none can be found by no words.
        if not wording or whole.count(wording) > 1:
            wordings.append([])
            continue
        accepted = [wording]
        core = short[label]
        others = short[:label] + short[label + 1 :]
        is_long_enough = _SHORTEST_CAPTION <= len(core) < len(wording)
        if is_long_enough and not any(_contains(other, core) for other in others):
            accepted.append(core)
        wordings.append(accepted)
    return wordings


def _contains(wording: Sequence[str], part: Sequence[str]) -> bool:
    return f" {' '.join(part)} " in f" {' '.join(wording)} "


def _index_by_first_word(wordings: list[list[list[str]]]) -> dict[str, list[tuple[list[str], int]]]:
    """The wordings with their labels by their first word, the longest first."""
    index: dict[str, list[tuple[list[str], int]]] = {}
    for label, accepted in enumerate(wordings):
        for wording in accepted:
            index.setdefault(wording[0], []).append((wording, label))
    for entries in index.values():
        entries.sort(key=lambda entry: -len(entry[0]))
    return index


def _without_opening(wording: list[str]) -> list[str]:
    start = 0
    while start < len(wording) and wording[start] in _OPENING_WORDS:
        start += 1
    return wording[start:]


def _caption_at(
    answer_words: list[str], start: int, candidates: list[tuple[list[str], int]]
) -> tuple[int, int]:
    """The label of the longest caption that begins at a word, and its number of words; 0 words for
    none."""
    for wording, label in candidates:
        if answer_words[start : start + len(wording)] == wording:
            return label, len(wording)
    return -1, 0


def mark_letters(tokens: list[Token], letters: str) -> list[Token]:
    """Turn letters of options into labels.

    Args:
        tokens: The tokens of an answer.
        letters: One letter for each option, in any case.

    Returns:
        The tokens with labels. "a", and "A" before a word, stay articles, unless a noun or bracket
        is before them.

    Example:
        >>> tokens = mark_letters(split_tokens("A cube: option A"), "AB")
        >>> [token.label for token in tokens]
        [-1, -1, -1, -1, 0]
    """
    lowered = letters.casefold()
    marked: list[Token] = []
    for place, token in enumerate(tokens):
        letter = token.raw.casefold()
        is_letter = token.kind == WORD and len(token.raw) == 1 and letter in lowered
        if is_letter and _names_option(tokens, place, lowered):
            token = Token(LABEL, token.text, token.raw, lowered.index(letter))
        marked.append(token)
    return marked


def _names_option(tokens: list[Token], place: int, letters: str) -> bool:
    """Whether a letter that an option has names this option, and is not a word."""
    token = tokens[place]
    before = neighbour(tokens, place - 1)
    after = neighbour(tokens, place + 1)
    # "B-movie", "vitamin-A": a part of a word.
    if "hyphen" in (before.text, after.text):
        return False

    # Brackets, a noun such as "option" or a box leave no doubt, even for a small "a".
    is_wrapped = before.text in _WRAPS and after.text in _WRAPS
    # In 'option "B' the noun is before the quote.
    noun = neighbour(tokens, place - 2) if place > 1 and before.text in _WRAPS else before
    follows_noun = noun.kind == WORD and noun.text in LABEL_NOUNS
    if is_wrapped or follows_noun or before.kind == BOX_START:
        return True

    if after.text == SHORT_CAPTION:
        return False  # "A red cube" without "There is"
    is_small = token.raw != token.raw.upper()
    if after.kind == WORD:
        if is_small:
            # An article is before no verb.
            begins_part = before.kind in (LINE_END, MARK)
            return begins_part and after.text in _AFTER_SMALL_LETTER
        return _is_capital_label(token, after, letters)
    # Small letters are words more often than labels, as "c" of "c'est".
    if is_small:
        return before.kind in (LINE_END, MARK) or before.text in _BEFORE_SMALL_LETTER
    return True


def _is_capital_label(token: Token, after: Token, letters: str) -> bool:
    """Whether a capital before a word is a label."""
    if token.raw in _NOT_WORDS or after.text in _AFTER_CAPITAL:
        return True
    is_foreign = not after.raw[:1].isascii()
    # "A B" names two options.
    is_capital = len(after.raw) == 1 and after.raw.isupper()
    return is_foreign or (is_capital and after.raw.casefold() in letters)


def mark_ordinals(tokens: list[Token], number_of_options: int) -> list[Token]:
    """Turn "the first caption", "caption 2", "#2" and "the latter" into labels.

    For answers without letters only: beside letters, an ordinal may count objects or steps.

    Args:
        tokens: The tokens of an answer.
        number_of_options: How many options the question has.

    Returns:
        The tokens with labels.

    Example:
        >>> [token.label for token in mark_ordinals(split_tokens("the latter"), 2)]
        [-1, 1]
    """
    marked: list[Token] = []
    is_noun_of_label = False
    for place, token in enumerate(tokens):
        if is_noun_of_label:
            # "The second image is right" is read as "B is right".
            is_noun_of_label = False
            continue
        index = _index_of_ordinal(tokens, place, number_of_options)
        if index is not None:
            token = Token(LABEL, token.text, token.raw, index)
            following = neighbour(tokens, place + 1).text
            is_noun_of_label = following in LABEL_NOUNS or following == "one"
        marked.append(token)
    return marked


def _index_of_ordinal(tokens: list[Token], place: int, number_of_options: int) -> int | None:
    """The option that a word names by its place; None if it names none."""
    token = tokens[place]
    before = neighbour(tokens, place - 1)
    after = neighbour(tokens, place + 1)
    if token.kind != WORD:
        return None

    if token.text.isdigit() and len(token.text) == 1:
        index = int(token.text) - 1
        # A bare digit is a number of objects.
        follows_noun = before.text in LABEL_NOUNS or before.text == "#"
        return index if follows_noun and 0 <= index < number_of_options else None
    if before.text in LABEL_NOUNS and token.text in _CARDINALS[:number_of_options]:
        # "Image one" names an option, "the image one sees" does not.
        return _CARDINALS.index(token.text) if after.kind != WORD else None
    if token.text in ("former", "latter"):
        return ("former", "latter").index(token.text) if number_of_options == 2 else None

    if token.text == "last":
        index = number_of_options - 1
    elif token.text in _ORDINALS[:number_of_options]:
        index = _ORDINALS.index(token.text)
    else:
        return None
    # Chinese and Japanese have no articles.
    has_article = before.text == "the" or not token.raw.isascii()
    stands_alone = after.kind != WORD and (before.kind != WORD or has_article)
    if has_article and (after.text in COPULAS or after.text in _AFTER_SMALL_LETTER):
        return index  # "the second does"
    if after.text == "of" and neighbour(tokens, place + 3).text in _COUNTED:
        return index  # "the second of the two images"
    precedes_noun = after.text in LABEL_NOUNS or after.text == "one"
    return index if stands_alone or precedes_noun else None
