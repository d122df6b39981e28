"""Read a model's answer in words: one of the labels of its question, a refusal, or nothing
readable.

This file needs only the standard library. `gen export` copies it beside the questions, so every
tool reads answers as
`score ask` does.

The rule: a label that is denied, excluded, hypothetical or taken back is not the answer. Two labels
that both stand are unread. The first explicit answer counts, and what follows it explains.

How it works, in time linear in the length of the answer:

1. `final_part` removes the reasoning, `split_tokens` cuts the rest into words and marks. Words of
   other languages become the English word of the same meaning, so that one set of rules serves all
   languages.
2. `split_sentences` cuts the tokens into sentences and clauses.
3. `ChoiceClauses` and `YesNoClauses` say for each clause which label it states, how explicitly, or
which it denies.
4. `Verdict` keeps the statements that still stand.
"""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

CUT_OFF = "an answer was cut off by the limit of tokens"
REFUSED = "the model refused to answer"
UNREAD = "an answer says nothing that can be read as one choice"

LONGEST = 20_000
"""Longest answer that is read, in characters without reasoning; of a longer one, the first and the
last half of this.
"""

# How explicitly a clause states a label. A more explicit statement beats a less explicit one.
HEDGED = 1  # "it could be B"
AFFIRMED = 2  # "B matches", "so B"
# "B." at the start of a line with more text; if several labels lead, they are a list and state
# nothing
LED = 3
ANSWERED = 4  # "B" alone, "Answer: B", "the correct caption is B"
FINAL = 5  # "final answer: B", \\boxed{B}, <answer>B</answer>

# How strongly a clause turns away from what was stated before it.
CONTRAST = 1  # "however": only an equally explicit statement replaces the earlier one
DOUBT = 2  # "actually", "wait": any later statement replaces the earlier one
RETRACTION = 3  # "I was wrong": the earlier statement no longer stands, even if nothing follows


class Reading(NamedTuple):
    """What an answer says."""

    label: int | None
    """Index of the label; None if there is none."""
    why: str = ""
    """Why there is no label: CUT_OFF, REFUSED or UNREAD; "" for a label."""


def read_choice(answer: str, finish: str, letters: str, captions: Sequence[str] = ()) -> Reading:
    """Return which option an answer chooses.

    An answer may give the words of an option instead of its letter. It is unread if its letter and
    its words are of different options.

    Args:
        answer: The whole answer, with its reasoning.
        finish: Why the answer ended, as `finish_reason` of chat completions.
        letters: One letter for each option.
        captions: The words of each option; empty if they must not count.

    Returns:
        The index of the option, or why there is none.

    Example:
        >>> read_choice("<think>A? No.</think> The answer is **B**.", "stop", "AB")
        Reading(label=1, why='')
    """
    text, reading = _readable_text(answer, finish)
    if reading is not None:
        return reading
    tokens = _join_captions(split_tokens(text), captions)
    tokens = _mark_letters(tokens, letters)
    if not any(token.kind == "label" for token in tokens):
        tokens = _mark_ordinals(tokens, len(letters))
    return _decide(ChoiceStatements(), tokens)


def read_yes_no(
    answer: str, finish: str, yes: Sequence[str] = ("yes",), no: Sequence[str] = ("no",)
) -> Reading:
    """Return whether an answer says yes (0) or no (1).

    Args: answer: The whole answer, with its reasoning. finish: Why the answer ended, as
        `finish_reason` of chat completions. yes: The words for yes that the question asks for.
        Common words of many languages are read as well. no: The words for no.

    Returns:
        0, 1, or why there is neither.

    Example:
        >>> read_yes_no("Yes. Wait, actually no.", "stop").label
        1
    """
    text, reading = _readable_text(answer, finish)
    if reading is not None:
        return reading
    meanings = {word.casefold(): "yes" for word in yes} | {word.casefold(): "no" for word in no}
    tokens = [
        token._replace(text=meanings.get(token.raw.casefold(), token.text))
        if token.kind == "word"
        else token
        for token in split_tokens(text)
    ]
    return _decide(YesNoStatements(), tokens)


# -------------------------------------------------------------------------------------------------
# Words
# -------------------------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in text.split("/"))


# What options are called: "option B", "caption B".
LABEL_NOUNS = _words(
    "option options caption captions choice choices image images picture pictures photo "
    "statement statements description descriptions letter sentence candidate text figure "
    "alternative label answer number img pic"
)
# What the reply to the question is called: "answer: B".
ANSWER_NOUNS = _words(
    "answer answers verdict conclusion choice selection decision pick response prediction "
    "result assistant ans output solution"
)
COPULAS = _words("is its are be was being becomes remains equals")
# Adjectives and verbs by which a clause accepts an option.
ACCEPTING = _words(
    "correct right true accurate accurately correctly truthful valid best better closest "
    "matches match matching matched describes describe described describing fits fit fitting "
    "corresponds correspond corresponding consistent holds reflects reflect captures agrees "
    "agree aligns align aligned works applies supported supports confirms confirmed appropriate "
    "suitable preferable closer likely likelier faithful precise exact winner yes survives"
)
# Adjectives and verbs by which a clause rejects an option.
REJECTING = _words(
    "false wrong incorrect incorrectly inaccurate inaccurately untrue invalid mismatch mismatched "
    "mismatches contradicts contradict contradicted contradictory inconsistent impossible "
    "eliminated excluded rejected discarded dismissed fails fail misdescribes misrepresents swaps "
    "swapped reverses reversed flawed worse implausible unlikely no unsupported ruled misses"
)
# Verbs whose object is the rejected option: "we can exclude A".
EXCLUDING = _words(
    "exclude excludes excluding reject rejects eliminate eliminates discard dismiss unlike rule "
    "rules ruling"
)
NEGATORS = _words("not none never neither nor no hardly cannot without nowhere")
CHOOSING = _words(
    "choose chose choosing decided settle select selected selecting pick picking accept favor "
    "favour get go going vote prefer picked lean leaning want take taking"
)
BELIEVING = _words("think believe say guess suppose conclude answer infer")
# With a negator, these verbs reject an option: "A does not show the scene".
DEPICTING = _words(
    "show depict shown depicted represent appear exist apply mention portray illustrate contain "
    "hold work"
)
CONCLUDING = _words(
    "so therefore thus hence overall accordingly consequently ultimately finally leaving leaves "
    "summary"
)
HYPOTHETICAL = _words("if unless suppose supposing assuming whether were provided hypothetically")
HEDGING = _words("could might may possibly perhaps maybe")
# Words of a belief that the answer has left behind: "at first glance A seems right".
OUTDATED = _words(
    "initially thought seemed glance tempting tempted considered assumed originally appeared "
    "impression"
)
# Words that can stand beside a label without changing what is said about it.
FILLERS = _words(
    "the a an it this that i we my me us is are be am was would will should must has have to do "
    "does did can of in here there then just only indeed clearly definitely certainly probably "
    "most likely very well ok okay sure and therefore so thus hence as final correct letter one "
    "ones which single both final's following s best below above with selected choose given"
)
# A letter before any other word is an article: "A cube stands".
AFTER_LABEL = _words(
    "is are was were be do does did has have can cannot could may might must should would will "
    "not no because since as and or but so while whereas matches match describes describe seems "
    "seem appears looks it that which rather instead fits corresponds shows show says say "
    "states state claims claim mentions contains depicts reads gives gets swaps swapped "
    "reverses misdescribes contradicts fails works holds agrees aligns captures reflects "
    "correctly incorrectly accurately better best over than correct incorrect true false wrong "
    "right yes therefore thus hence also alone only if unless then too with from for misses "
    "here leaves leaving out nor neither the"
)
PRONOUNS = _words("this that it which these they c ce")
SUBJECT_NOUNS = LABEL_NOUNS | _words("scene one")
NOTHING = _words("none both neither all unclear unknown undetermined nothing ambiguous")
# After one of these an answer explains itself.
EXPLAINING = _words(
    "explanation reason reasoning rationale justification note because why details analysis"
)
# What follows is the next question, which the model has made up.
NEXT_TURN = _words("question q human user")

# Words of other languages by the English word of the same meaning. Each entry lists its words after
# a colon.
_TRANSLATIONS = """
answer: án antwort réponse reponse respuesta risposta resposta antwoord ответ odpowiedź cevap svar
 jawaban jawabannya 答案 答え 回答 正解 정답 정답은 답 답은 답변 الإجابة الجواب उत्तर उत्तरः
 vastaus απάντηση válasz odpověď răspunsul
option: opción opcion opção opcao opzione optie вариант seçenek 选项 選項 選択肢 선택지 보기
 الخيار विकल्प opcja pilihan
caption: bildunterschrift aussage beschreibung légende legende description legenda didascalia
 leyenda descripción descrizione descrição beschrijving bijschrift подпись описание описания 描述
 描述是 説明文 キャプション 字幕 说法 陈述 설명 캡션
image: bild imagen immagine imagem afbeelding изображение картинка 图片 图像 圖片 画像 그림 이미지
is: です でしょう ist est es è é это являются является 是 为 為 は が 입니다 이다 이며 हैं है هي
 هو adalah là jest är er este
not: nicht nie pas niet нет не 不是 不 没有 沒有 ではありません ではなく ではない じゃない
 아닙니다 아니다 아니라 नहीं ليس ليست tidak không nem non não nao kein keine není inte ikke
correct: vrai vraie verdadero verdadera vero vera wahr exacte exacto certo richtig richtige
 korrekt correcte correcto correcta corretto corretta correto juste juist juiste goed правильный
 правильно верно верный верна правильная poprawna doğru 正确 正确的 正確 正しい 符合 匹配 吻合
 准确 맞습니다 맞다 맞는 올바른 옳습니다 صحيح الصحيحة सही benar đúng korrekte zutreffend
 zutreffende stimmt adecuada exacta
incorrect: falsa falso falsos errada sbagliato unwahr faux 違います 不正确 不正確 错误 错误的 錯誤
 不符合 不符 不匹配 不对 正しくない 正しくありません 間違い 誤り 틀렸습니다 틀리다 falsch falsche
 fausse incorrecta incorrecto errata sbagliata errado неверно неправильно неверный onjuist fout
 salah sai yanlış خطأ गलत błędna incorrecte
matches: passt entspricht stimmt correspond coincide corrisponde corresponde klopt соответствует
 подходит décrit describe beschreibt descreve descrive описывает 符合图片
choose: wähle wählen choisis elijo escojo scelgo escolho kies выбираю 选择 选 選 選擇 選びます
 应选 故选
so: also daher deshalb folglich donc ainsi portanto quindi perciò dus поэтому следовательно итак
 所以 因此 故 综上 综上所述 したがって よって 따라서 그러므로 لذلك इसलिए → ⇒
but: aber sondern mais pero ma però mas maar но 而是 但是 但 而 しかし 하지만 그러나
and: und et y e и 和 與 과 와
or: oder ou o или 或 或者
if: wenn falls si se als если 如果 もし
because: weil denn da parce car porque perché omdat потому 因为 なぜなら 왜냐하면
yes: yeah yep yup ja jawohl genau oui sí sì si sim да evet 是的 对 對 对的 はい 네 예 نعم हाँ हां
 vâng có jep tak ναι 正是
no: nope nah nee nein negative нет hayır いいえ 아니요 아니오 لا nahi 否 没 negatief όχι ne
the: der die le la les el los lo il de het o os
final: endgültige finale définitive definitiva definitivo окончательный 最终 最終 최종
does: tut
this: das dies diese cela ceci esto questo isso dit dat cette
one: eine einer une una uma een
""".strip()


# English words of another meaning, and words that are also letters of options.
_ALSO_ENGLISH = _words("description legend a e o y se de la le die ma also als no finale dit")


def _read_translations() -> dict[str, str]:
    meanings: dict[str, str] = {}
    meaning = ""
    for line in _TRANSLATIONS.split("\n"):
        start, colon, words = line.partition(":")
        if colon:
            meaning = start
        for word in (words if colon else line).split():
            meanings.setdefault(word, meaning)
    for word in _ALSO_ENGLISH:
        meanings.pop(word, None)
    # These are in several lists; the meaning that clauses need most counts.
    return meanings | {"es": "is", "est": "is", "non": "not", "ne": "not", "si": "if", "nah": "no"}


TRANSLATIONS = _read_translations()
LONGEST_PHRASE = 8
"""Longest phrase of TRANSLATIONS in a script without spaces, in characters."""
SIGNS = {
    "✓": "correct",
    "✔": "correct",
    "☑": "correct",
    "✅": "correct",
    "👍": "correct",
    "→": "so",
    "⇒": "so",
}
SIGNS |= dict.fromkeys("✗✘❌❎👎☒", "wrong")

# -------------------------------------------------------------------------------------------------
# Reasoning, markup, tokens
# -------------------------------------------------------------------------------------------------

_TAGS = (
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "scratchpad",
    "reflection",
    "seed:think",
    "analysis",
)
OPENINGS = (
    *(f"<{tag}>" for tag in _TAGS),
    "◁think▷",
    "[think]",
    "<|begin_of_thought|>",
    "<|start_thinking|>",
    "<|channel|>analysis",
)
CLOSINGS = (
    *(f"</{tag}>" for tag in _TAGS),
    "◁/think▷",
    "[/think]",
    "<|end_of_thought|>",
    "<|end_thinking|>",
    "<|channel|>final<|message|>",
    "...done thinking.",
    "assistantfinal",  # gpt-oss after a tokenizer that drops special tokens
)
# Tags around the answer; \boxed{} is the same.
ANSWER_OPENINGS = ("<answer>", "<final_answer>", "<conclusion>", "<|begin_of_box|>", "<final>")
ANSWER_CLOSINGS = ("</answer>", "</final_answer>", "</conclusion>", "<|end_of_box|>", "</final>")
_LONGEST_TAG = 60
"""Longest tag that is removed, in characters; "<" without ">" within it is text."""


def final_part(answer: str) -> str:
    """Return an answer without its reasoning.

    This is the text after the last closing tag, up to an opening tag. If there is none, it is the
    text before the first opening tag.

    Example:
        >>> final_part("It may be A </think> B")
        'B'
    """
    lowered = answer.lower()
    if len(lowered) != len(
        answer
    ):  # a few capitals have longer lower-case forms, which would shift all places
        lowered = "".join(c.lower() if len(c.lower()) == 1 else c for c in answer)
    start = 0
    for tag in CLOSINGS:
        place = lowered.rfind(tag)
        if place >= 0:
            start = max(start, place + len(tag))
    end = len(answer)
    for tag in OPENINGS:
        place = lowered.find(tag, start)
        if place >= 0:
            end = min(end, place)
    return answer[start:end].strip()


def _readable_text(answer: str, finish: str) -> tuple[str, Reading | None]:
    """Return the text to read, or the reading if how the answer ended decides it."""
    if finish == "length":
        return "", Reading(None, CUT_OFF)
    if finish in ("content_filter", "refusal"):
        return "", Reading(None, REFUSED)
    text = _shortened(final_part(answer))
    # A model that repeats the question as "Q:" answers it as "A:", which is not option A.
    if text.lower().startswith(("q:", "question:")):
        text = text.replace("\nA:", "\nAnswer:")
    text = _checked_lines(text)
    # NFKC makes "Ｂ" a "B"; it can make text 18 times longer.
    return _shortened(unicodedata.normalize("NFKC", text)), None


def _checked_lines(text: str) -> str:
    """A list of check boxes without the boxes and without the entries that are not checked; other
    texts stay as they are.

    Example:
        >>> _checked_lines("- [ ] A\\n- [x] B")
        'B'
    """
    lines = text.split("\n")
    entries = [line.lstrip(" -*+") for line in lines]
    if not any(entry.lower().startswith("[x] ") for entry in entries):
        return text
    chosen = [
        entry[4:] if entry.lower().startswith("[x] ") else line
        for line, entry in zip(lines, entries, strict=True)
        if not entry.startswith("[ ] ")
    ]
    return "\n".join(chosen)


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]}\n{text[-LONGEST // 2 :]}"


class Token(NamedTuple):
    """A part of an answer."""

    kind: str
    """"word", "mark" (punctuation), "line" (a line ends), "open" and "close" (around a boxed
    answer), or "label"."""
    text: str
    """The word in lower case and in English, or the mark."""
    raw: str = ""
    """The word as the answer writes it."""
    label: int = -1
    """Of a label: its index."""
    in_words: bool = False
    """Of a label: whether the answer gives the words of the option instead of its letter."""


def split_tokens(text: str) -> list[Token]:
    """Split a text into tokens. Drops markup, quotes inside words, and invisible characters.

    Example:
        >>> [token.text for token in split_tokens("It isn't **B**.")]
        ['it', 'is', 'not', 'b', '.']
    """
    tokens: list[Token] = []
    boxes: list[int] = []  # for each open \boxed{, how deeply its brace is nested
    depth = place = 0
    lowered = text.lower() if len(text.lower()) == len(text) else text
    while place < len(text):
        sign = text[place]
        if sign == "\n":
            tokens.append(Token("line", "\n"))
            place += 1
        elif sign == "<":
            place = _read_tag(text, lowered, place, tokens)
        elif sign == "\\":
            place, boxed = _read_command(text, place, tokens)
            if boxed:
                depth += 1
                boxes.append(depth)
                tokens.append(Token("open", "box"))
        elif sign == "{":
            depth += 1
            tokens.append(Token("mark", "{"))
            place += 1
        elif sign == "}":
            tokens.append(
                Token("close", "box") if boxes and boxes[-1] == depth else Token("mark", "}")
            )
            if boxes and boxes[-1] == depth:
                boxes.pop()
            depth = max(0, depth - 1)
            place += 1
        elif sign in SIGNS:
            tokens.append(Token("word", SIGNS[sign], sign))
            place += 1
        elif _in_word(sign):
            place = _read_word(text, place, tokens)
        else:
            place = _read_mark(text, place, tokens)
    return _without_directions(tokens)


def _without_directions(tokens: list[Token]) -> list[Token]:
    """Tokens in which "right" is another word where it is a direction: "right of the cube", "on the
    right"."""
    read = []
    for place, token in enumerate(tokens):
        if token.kind == "word" and token.text == "right":
            before = tokens[place - 1].text if place else ""
            after = tokens[place + 1].text if place + 1 < len(tokens) else ""
            earlier = tokens[place - 2].text if place > 1 else ""
            beside = before in ("to", "far") or (
                before == "the" and earlier in ("on", "to", "at", "from", "towards")
            )
            if beside or after in ("of", "side", "hand", "hyphen"):
                token = token._replace(text="rightward")
        read.append(token)
    return read


def _in_word(sign: str) -> bool:
    return sign.isalnum() or unicodedata.category(sign)[0] == "M"


def _read_tag(text: str, lowered: str, start: int, tokens: list[Token]) -> int:
    """Skip a tag such as <b> or <|im_end|>; a tag of an answer becomes a token. Returns where the
    text goes on."""
    end = text.find(">", start, start + _LONGEST_TAG)
    if end < 0 or (
        start + 1 < len(text) and not (text[start + 1].isalpha() or text[start + 1] in "/|")
    ):
        return start + 1
    tag = lowered[start : end + 1]
    if tag in ANSWER_OPENINGS:
        tokens.append(Token("open", "tag"))
    elif tag in ANSWER_CLOSINGS:
        tokens.append(Token("close", "tag"))
    elif tag.startswith("<br") or tag in ("</p>", "</li>", "</div>"):
        tokens.append(Token("line", "\n"))
    return end + 1


def _read_command(text: str, start: int, tokens: list[Token]) -> tuple[int, bool]:
    """Skip a command of LaTeX. Returns where the text goes on, and whether the command opens a
    box."""
    end = start + 1
    while end < len(text) and text[end].isascii() and text[end].isalpha():
        end += 1
    command = text[start + 1 : end]
    if command == "n":  # a line break that a program has escaped
        tokens.append(Token("line", "\n"))
        return end, False
    if command not in ("boxed", "fbox"):
        return max(end, start + 1), False
    while end < len(text) and text[end] == " ":
        end += 1
    if end < len(text) and text[end] == "{":
        return end + 1, True
    return end, False


_ASCII_MARKS = dict(zip("。！？；，、：–—।", ".!?;,,:--.", strict=True)) | dict.fromkeys(
    "“”„«»「」『』", '"'
)


def _read_mark(text: str, place: int, tokens: list[Token]) -> int:
    sign = text[place]
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if sign == "-" and before.isalnum() and after.isalnum():
        tokens.append(Token("mark", "hyphen"))
    elif sign == "." and before.isdigit() and after.isdigit():
        pass  # a decimal point
    elif sign in '.?!;:,()[]"/|=&+-' or (
        unicodedata.category(sign)[0] == "P" and sign not in "*_#`~'’‘"
    ):
        tokens.append(Token("mark", _ASCII_MARKS.get(sign, sign)))
    elif sign in "'’‘":
        tokens.append(Token("mark", '"'))
    return place + 1


def _read_word(text: str, start: int, tokens: list[Token]) -> int:
    """Read a word, or a phrase of a script without spaces."""
    if _unspaced(text[start]):
        for end in range(min(start + LONGEST_PHRASE, len(text)), start, -1):
            if text[start:end] in TRANSLATIONS or end == start + 1:
                phrase = text[start:end]
                tokens.append(Token("word", TRANSLATIONS.get(phrase, phrase), phrase))
                return end
    end = start + 1
    while end < len(text) and _in_word(text[end]) and not _unspaced(text[end]):
        end += 1
    raw = text[start:end]
    if text[end : end + 2].lower() in ("'t", "’t") and raw[-1:].lower() == "n" and len(raw) > 1:
        # isn't, can't, won't
        verb = {"ca": "can", "wo": "will"}.get(raw[:-1].lower(), raw[:-1].lower())
        tokens += [Token("word", verb, raw[:-1]), Token("word", "not", "n't")]
        return end + 2
    if end + 1 < len(text) and text[end] in "'’" and text[end + 1].isalpha():
        tokens.append(_word(raw))
        tail = end + 1
        while tail < len(text) and text[tail].isalpha():
            tail += 1
        short = text[end + 1 : tail].lower()
        full = {"s": "is", "d": "would", "ll": "will", "m": "am", "re": "are", "ve": "have"}.get(
            short
        )
        if full is None:  # l'option, c'est
            return end + 1
        tokens.append(Token("word", full, text[end:tail]))
        return tail
    if raw.lower() in ("cannot", "cant"):
        tokens += [Token("word", "can", raw), Token("word", "not", raw)]
    elif raw.lower() in _CONTRACTED:
        tokens += [Token("word", raw.lower()[:-2], raw), Token("word", "not", raw)]
    elif raw.lower() in ("e", "i") and text[end : end + 2].lower() in (".g", ".e"):
        return end + 3  # "e.g." holds no letter of an option
    else:
        tokens.append(_word(raw))
    return end


_CONTRACTED = _words("isnt doesnt dont didnt wasnt arent")


def _word(raw: str) -> Token:
    lowered = raw.casefold()
    return Token("word", TRANSLATIONS.get(lowered, lowered), raw)


def _unspaced(sign: str) -> bool:
    """Whether a character is of Chinese, Japanese or Korean, whose words touch letters of
    options."""
    return (
        "\u3040" <= sign <= "\u30ff" or "\u3400" <= sign <= "\u9fff" or "\uac00" <= sign <= "\ud7a3"
    )


def _join_captions(tokens: list[Token], captions: Sequence[str]) -> list[Token]:
    """Replace each run of words that are an option's caption by a label; the longest caption first.

    A caption counts without its first words ("There is a"), if at least three words remain and no
    other caption begins or ends alike.
    """
    starts: dict[str, list[tuple[list[str], int]]] = {}
    phrases_of = _phrases_of_captions(captions)
    for label, phrases in enumerate(phrases_of):
        for phrase in phrases:
            starts.setdefault(phrase[0], []).append((phrase, label))
    if not starts:
        return tokens
    for found in starts.values():
        found.sort(key=lambda pair: -len(pair[0]))
    # Only words count, so that captions are found across commas and line breaks.
    places = [place for place, token in enumerate(tokens) if token.kind == "word"]
    words = [tokens[place].raw.casefold() for place in places]
    joined: list[Token] = []
    word = kept = 0
    while word < len(words):
        label, length = _caption_at(words, word, starts.get(words[word], []))
        if length:
            joined += tokens[kept : places[word]]
            shortened = length not in (len(phrase) for phrase in phrases_of[label][:1])
            joined.append(
                Token("label", "core" if shortened else "caption", "", label, in_words=True)
            )
            kept = places[word + length - 1] + 1
            word += length
        else:
            word += 1
    return joined + tokens[kept:]


def _phrases_of_captions(captions: Sequence[str]) -> list[list[list[str]]]:
    """The word lists by which each caption is known; none for a caption without words."""
    whole = [
        [token.raw.casefold() for token in split_tokens(caption) if token.kind == "word"]
        for caption in captions
    ]
    short = [_without_opening(words) for words in whole]
    phrases = []
    for label, words in enumerate(whole):
        own = [words] if words and whole.count(words) == 1 else []
        core = short[label]
        others = [f" {' '.join(other)} " for place, other in enumerate(short) if place != label]
        if (
            own
            and len(core) > 2
            and core != words
            and not any(f" {' '.join(core)} " in other for other in others)
        ):
            own.append(core)
        phrases.append(own)
    return phrases


def _without_opening(words: list[str]) -> list[str]:
    start = 0
    while start < len(words) and words[start] in (
        "there",
        "is",
        "are",
        "a",
        "an",
        "the",
        "photo",
        "picture",
        "image",
        "of",
    ):
        start += 1
    return words[start:]


def _caption_at(
    words: list[str], start: int, known: list[tuple[list[str], int]]
) -> tuple[int, int]:
    """The label of the longest caption that begins at a word, and its number of words; 0 words for
    none."""
    for phrase, label in known:
        if words[start : start + len(phrase)] == phrase:
            return label, len(phrase)
    return -1, 0


def _mark_letters(tokens: list[Token], letters: str) -> list[Token]:
    """Turn letters of options into labels. "a" and "A" before a word are articles, unless a noun or
    bracket is before them."""
    lowered = letters.casefold()
    marked: list[Token] = []
    for place, token in enumerate(tokens):
        one_letter = (
            token.kind == "word" and len(token.raw) == 1 and token.raw.casefold() in lowered
        )
        if one_letter and _is_letter_of_option(tokens, place, lowered):
            token = Token("label", token.text, token.raw, lowered.index(token.raw.casefold()))
        marked.append(token)
    return marked


_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def _mark_ordinals(tokens: list[Token], n: int) -> list[Token]:
    """Turn "the first caption", "caption 2", "#2" and "the latter" into labels.

    For answers without letters only: beside letters, an ordinal may count objects or steps.
    """
    marked: list[Token] = []
    for place, token in enumerate(tokens):
        index = _index_of_ordinal(tokens, place, n)
        if index is not None:
            token = Token("label", token.text, token.raw, index)
        marked.append(token)
    return marked


def _index_of_ordinal(tokens: list[Token], place: int, n: int) -> int | None:
    """The option that a word names by its place; None if it names none."""
    token = tokens[place]
    before = tokens[place - 1] if place else _NONE
    after = tokens[place + 1] if place + 1 < len(tokens) else _NONE
    if token.kind != "word":
        return None
    if token.text.isdigit() and len(token.text) == 1:
        named = before.text in LABEL_NOUNS or before.text == "#" or token.raw.startswith("#")
        index = int(token.text) - 1
        return index if named and 0 <= index < n else None
    if token.text in ("former", "latter"):
        return ("former", "latter").index(token.text) if n == 2 else None
    if token.text == "last":
        index = n - 1
    elif token.text in _ORDINALS[:n]:
        index = _ORDINALS.index(token.text)
    else:
        return None
    alone = after.kind != "word" and (before.kind != "word" or before.text == "the")
    noun = after.text in LABEL_NOUNS or after.text == "one"
    return index if alone or noun else None


_NONE = Token("line", "\n")


def _is_letter_of_option(tokens: list[Token], place: int, letters: str) -> bool:
    token = tokens[place]
    before = tokens[place - 1] if place else _NONE
    after = tokens[place + 1] if place + 1 < len(tokens) else _NONE
    before_quote = tokens[place - 2] if place > 1 and before.text in _WRAPS else before
    wrapped = before.text in _WRAPS and after.text in _WRAPS
    named = before_quote.kind == "word" and before_quote.text in LABEL_NOUNS
    if after.text == "hyphen" or before.text == "hyphen":
        return False
    if named or wrapped or before.kind == "open":
        return True
    if after.text == "core":
        return False  # "A red cube" without "There is"
    lower_case = token.raw != token.raw.upper()
    if after.kind == "word":
        foreign = not after.raw[:1].isascii()
        other_label = (
            len(after.raw) == 1 and after.raw.isupper() and after.raw.casefold() in letters
        )
        if token.raw in _NO_WORDS:
            return True
        if lower_case:  # an article is before no verb
            return after.text in ("is", "does", "matches", "seems", "fits") and before.kind in (
                "line",
                "mark",
            )
        return foreign or after.text in AFTER_LABEL or after.text in COPULAS or other_label
    if lower_case and after.kind != "word":
        return before.kind in ("line", "mark") or before.text in _BEFORE_SMALL_LETTER
    return True


_NO_WORDS = ("B", "C", "D")
"""Capital letters that are no word of the languages that are read: before any word they are labels.
"""
_WRAPS = frozenset('()[]"{}')
_BEFORE_SMALL_LETTER = (
    COPULAS | CHOOSING | BELIEVING | CONCLUDING | _words("with probably likely definitely")
)

# -------------------------------------------------------------------------------------------------
# Sentences and clauses
# -------------------------------------------------------------------------------------------------


class Clause(NamedTuple):
    """A part of a sentence without commas or conjunctions inside."""

    tokens: list[Token]
    """Words, labels and colons."""
    opening: str
    """The conjunction or mark that begins the clause; "" at the start of a sentence."""
    boxed: bool
    """Whether the clause is inside \\boxed{} or <answer>."""


class Sentence(NamedTuple):
    """A sentence, or a part of a line."""

    clauses: list[Clause]
    asks: bool
    """Whether it ends with a question mark."""
    begins_line: bool
    ends_line: bool
    begins_block: bool
    """Whether an empty line, or nothing, is before it."""

    @property
    def words(self) -> list[str]:
        """All its words, in order."""
        return [
            token.text for clause in self.clauses for token in clause.tokens if token.kind == "word"
        ]


SPLITTING = _words(
    "but however so because since while whereas therefore thus hence although though which where "
    "then yet"
)
_BREAKS = frozenset(',-()|"[]')


def split_sentences(tokens: list[Token]) -> list[Sentence]:
    """Split tokens into sentences with their clauses."""
    sentences: list[Sentence] = []
    clauses: list[Clause] = []
    current: list[Token] = []
    opening = ""
    boxed = False
    begins_line = begins_block = True
    lines = 2  # line ends since the last word

    def end_clause(next_opening: str) -> None:
        nonlocal current, opening
        if any(token.kind != "mark" for token in current):
            clauses.append(Clause(current, opening, boxed))
            opening = next_opening
        elif next_opening:
            opening = next_opening
        current = []

    def end_sentence(asks: bool, ends_line: bool) -> None:
        nonlocal clauses, opening, begins_line, begins_block
        end_clause("")
        if clauses:
            sentences.append(Sentence(clauses, asks, begins_line, ends_line, begins_block))
            begins_line = begins_block = False
        clauses, opening = [], ""

    for place, token in enumerate(tokens):
        if token.kind == "line":
            end_sentence(False, True)
            if sentences:
                sentences[-1] = sentences[-1]._replace(ends_line=True)
            begins_line = True
            lines += 1
            begins_block = lines > 1
            continue
        if token.kind in ("open", "close"):
            end_clause("box" if token.kind == "open" else "")
            boxed = token.kind == "open"
            if boxed:
                # An empty box is a statement as well, one without a label.
                following = tokens[place + 1].kind if place + 1 < len(tokens) else "close"
                if following == "close":
                    clauses.append(Clause([], "box", True))
        elif token.kind == "mark" and token.text in ".!?;":
            end_sentence(token.text == "?", False)
        elif token.text == "," and _in_list(tokens, place):
            current.append(token)
        elif token.kind == "mark" and token.text in _BREAKS:
            wraps_label = token.text in _WRAPS and _beside_label(tokens, place)
            if not wraps_label and token.text != '"' and token.text not in "[]":
                end_clause(token.text)
        elif token.kind == "word" and token.text in SPLITTING and not _ends_sentence(tokens, place):
            end_clause(token.text)
        elif _begins_clause(tokens, place):
            end_clause(token.text)
            current.append(token)
        else:
            current.append(token)
        if token.kind in ("word", "label"):
            lines = 0
    end_sentence(False, True)
    return sentences


def _ends_sentence(tokens: list[Token], place: int) -> bool:
    """Whether no word follows in the sentence, as after "I think so"."""
    return (
        place + 1 == len(tokens)
        or tokens[place + 1].kind in ("line", "close")
        or tokens[place + 1].text in ".!?;"
    )


def _beside_label(tokens: list[Token], place: int) -> bool:
    """Whether a bracket encloses just one label."""
    token = tokens[place].text
    if token in "([":
        return (
            place + 2 < len(tokens)
            and tokens[place + 1].kind == "label"
            and tokens[place + 2].text in ")]"
        )
    return place > 1 and tokens[place - 1].kind == "label" and tokens[place - 2].text in "(["


def _in_list(tokens: list[Token], place: int) -> bool:
    """Whether a comma is between the labels of a list such as "A, B and C"."""
    if not place or tokens[place - 1].kind != "label":
        return False
    for following in range(place + 1, min(place + 12, len(tokens))):
        text = tokens[following].text
        if text in ("and", "or", "&", "nor"):
            return _label_follows(tokens, following)
        if tokens[following].kind != "label" and text != "," and text not in LABEL_NOUNS:
            return False
    return False


def _begins_clause(tokens: list[Token], place: int) -> bool:
    """Whether "and" joins two statements, or "not", "over" and the like introduce another label."""
    text = tokens[place].text
    if text in ("and", "or", "&", "+", "/"):
        # "A, B, and C" is a list with a comma before "and".
        previous = place - 2 if place > 1 and tokens[place - 1].text == "," else place - 1
        joins_labels = (
            previous >= 0 and tokens[previous].kind == "label" and _label_follows(tokens, place)
        )
        return text in ("and", "or") and not joins_labels
    following = tokens[place + 1].text if place + 1 < len(tokens) else ""
    if text in ("rather", "instead"):
        return following in ("than", "of") and _label_follows(tokens, place)
    if text in ("not", "over", "unlike", "than", "nor", "neither"):
        return place > 0 and tokens[place - 1].kind != "mark" and _label_follows(tokens, place)
    return False


def _label_follows(tokens: list[Token], place: int) -> bool:
    """Whether a label is next, after words such as "option"."""
    for token in tokens[place + 1 : place + 5]:
        if token.kind == "label":
            return True
        if token.text not in LABEL_NOUNS and token.text not in (
            "than",
            "of",
            "the",
            "also",
            '"',
            "(",
        ):
            return False
    return False


# -------------------------------------------------------------------------------------------------
# Statements that stand
# -------------------------------------------------------------------------------------------------

SEVERAL = -1
"""The label of a statement that names several options, none, or one that does not exist."""


class Verdict:
    """The statements of an answer that still stand."""

    def __init__(self) -> None:
        self._standing: dict[int, set[int]] = {}  # how explicit: the labels
        self._denied: set[int] = set()
        self._turned = 0  # CONTRAST or DOUBT since the last statement
        self._explains = False

    @property
    def explicit(self) -> int:
        """How explicit the most explicit standing statement is; 0 if there is none."""
        return max(self._standing, default=0)

    def state(self, label: int, explicit: int) -> None:
        """Take a statement of a label."""
        replaces = self._turned == DOUBT and explicit > HEDGED
        replaces |= self._turned == CONTRAST and explicit >= max(self.explicit, AFFIRMED)
        if replaces:
            self._forget()
        self._turned = 0
        if self._explains and explicit < FINAL:
            return
        if explicit >= ANSWERED:
            self._denied.discard(label)
        self._standing.setdefault(explicit, set()).add(label)

    def deny(self, label: int, strictly: bool) -> None:
        """Take a denial of a label. A strict one ("A is wrong") also ends explicit statements of
        the label."""
        self._denied.add(label)
        if strictly:
            for labels in self._standing.values():
                labels.discard(label)
            self._standing = {
                explicit: labels for explicit, labels in self._standing.items() if labels
            }

    def is_denied(self, label: int) -> bool:
        """Whether a label was denied."""
        return label in self._denied

    def turn(self, how: int) -> None:
        """Take a turn away from what was stated: CONTRAST, DOUBT or RETRACTION."""
        if how == RETRACTION:
            self._forget()
        self._turned = max(self._turned, how) if self._standing else 0

    def explain(self) -> None:
        """Ignore further statements if there is an explicit one: they explain it."""
        self._explains = self._explains or self.explicit >= LED

    def answer(self) -> int | None:
        """The label that the most explicit statements agree on; None if they differ or there are
        none."""
        for explicit in sorted(self._standing, reverse=True):
            labels = self._standing[explicit]
            if explicit < ANSWERED:
                labels = labels - self._denied
            if len(labels) > 1 and explicit == LED:
                continue  # a list of options
            if labels:
                (first, *more) = labels
                return None if more or first == SEVERAL else first
        return None

    def _forget(self) -> None:
        self._standing.clear()
        self._denied.clear()
        self._explains = False


# Words that begin a clause which doubts, or takes back, what was stated before.
DOUBTING = _phrases(
    "actually / wait / hmm / hold on / on second thought / on second thoughts / on closer / "
    "upon closer / on further / upon further / looking again / looking closer / looking more "
    "closely / let me check / let me double / let me re / let me reconsider / let me recheck / "
    "let me look / let me verify / after reconsidering / reconsidering / re examining / taking "
    "another / on reflection / tatsächlich / doch / 等等 / espera / attendez / moment"
)
RETRACTING = _phrases(
    "wait no / no wait / scratch that / strike that / correction / i was wrong / i made a "
    "mistake / i made an error / my mistake / my bad / i misread / i misspoke / i mixed / i "
    "meant / i mean / i take that back / i take it back / let me correct / i need to correct / "
    "i have to correct / i apologize / oops / i got that wrong / that is not right / that is "
    "wrong / that was wrong / that is a mistake / that was a mistake / i should correct / edit"
)
_REASONS_OF_RETRACTION = _phrases("i misread / i mixed / i made / my mistake / my bad / i was")
# Words before these phrases.
_INTERJECTIONS = _words("oh ah hmm sorry well so and but no")
# A condition that holds: "if I had to choose, I would say B".
_HOLDING = _phrases(
    "if i had to / if i have to / if i must / if forced / if i am forced / if we look / if you "
    "look / if i look / if asked / if pressed / if i were to / if one looks / if required"
)


def turn_of(words: Sequence[str], opening: str) -> tuple[int, int]:
    """How strongly a clause turns away from what was stated before it (0 if it does not), and how
    many words say so.

    Example:
        >>> turn_of("sorry i meant".split(), ","), turn_of(["but"], ""), turn_of(["it"], "but")
        ((3, 3), (0, 0), (1, 0))
    """
    start = 0
    while start < len(words) and words[start] in _INTERJECTIONS:
        start += 1
    for first in (0, start):
        beginning = " ".join(words[first : first + 6]) + " "
        for phrases, strength in ((RETRACTING, RETRACTION), (DOUBTING, DOUBT)):
            for phrase in phrases:
                if beginning.startswith(f"{phrase} "):
                    length = 0 if phrase.startswith("that") else first + len(phrase.split())
                    return strength, length
    return (CONTRAST if opening in ("but", "however", "although", "though", "yet") else 0), 0


def is_outdated(words: Sequence[str]) -> bool:
    """Whether a clause tells what the answer believed before."""
    spoken = " ".join(words[:8])
    judged = "be considered" in spoken  # "it cannot be considered accurate"
    return (
        (bool(OUTDATED.intersection(words)) and not judged)
        or "about to" in spoken
        or spoken.startswith("at first")
        or "was going" in spoken
    )


def is_hypothetical(words: Sequence[str]) -> bool:
    """Whether a sentence speaks of a case that it does not say to be so."""
    for place, word in enumerate(words):
        if word in HYPOTHETICAL:
            following = " ".join(words[place : place + 4]) + " "
            return not any(following.startswith(f"{phrase} ") for phrase in _HOLDING)
        if word == "had" and "been" in words[place + 1 : place + 4]:
            return True
    return False


def _is_elliptic(words: Sequence[str]) -> bool:
    """Whether words only repeat the predicate of the sentence before: "does", "is not"."""
    return (
        bool(words)
        and all(word in _AUXILIARIES or word in NEGATORS for word in words)
        and words[-1] != "no"
    )


def _first_of(words: Sequence[str], wanted: frozenset[str]) -> str:
    return next((word for word in words if word in wanted), "")


_AUXILIARIES = _words("is are was does do did has have it this that can be")


def sign_of(words: Sequence[str], of_option: bool = True) -> int:
    """Whether the words after a subject accept it (1), reject it (−1), or neither (0).

    Args: words: The words after the subject, in English. of_option: Whether the subject surely is
        an option. Then "does not show" rejects it; of "it", which may be the image, these words say
        nothing.

    Example:
        >>> sign_of("is not quite correct".split()), sign_of(["does"]), sign_of(["shows", "two"])
        (-1, 1, 0)
    """
    negated = False
    named = bool(COPULAS.intersection(words[:3]))  # "is the answer", "must be the answer"
    for place, word in enumerate(words):
        last = place + 1 == len(words)
        following = words[place + 1] if not last else ""
        if word == "not" and following in ("only", "just"):
            continue
        if word in ("no", "without") and following in ("doubt", "question"):
            continue
        if word == "no" and last and not negated:
            return -1
        if word in NEGATORS or word in _LESSENING:
            negated = not negated
        elif word in _UNLIKELY and negated:
            return 0  # "B is not impossible" accepts nothing
        elif word in REJECTING:
            return 1 if negated else -1
        elif (word, following) == ("checks", "out") or (
            word == "plausible" and words[place - 1] in ("most", "more")
        ):
            return -1 if negated else 1
        elif word in ACCEPTING and following == "not":
            return -1  # "stimmt nicht"
        elif (
            word in ACCEPTING
            or (named and (word in ANSWER_NOUNS or _is_the_one(words, place)))
            or (word in _DEPICTS and place + 2 < len(words) and words[place + 2] in _SHOWN)
        ):
            return -1 if negated else 1
        elif word in DEPICTING and negated and of_option:
            return -1
    if _is_elliptic(words):
        return -1 if negated else 1
    return 0


def _is_the_one(words: Sequence[str], place: int) -> bool:
    """Whether a predicate ends with "the one", "the case" or is "what the image shows"."""
    following = "".join(words[place + 1 : place + 2])
    the_one = (
        words[place] in ("one", "case")
        and words[place - 1] == "the"
        and following in ("", "that", "to", "which", "i", "we", "for")
    )
    the_caption = (
        words[place] in LABEL_NOUNS
        and words[place - 1] == "the"
        and following in ("that", "we", "i", "you", "to")
    )
    return the_one or the_caption or words[place] == "what"


_DEPICTS = _words("shows depicts represents portrays illustrates conveys summarizes")
_UNLIKELY = _words("impossible unlikely implausible improbable")
_LESSENING = _words("almost partially partly nearly half less")


class Statements(ABC):
    """Collects the statements of an answer, sentence by sentence. A subclass reads clauses."""

    def __init__(self) -> None:
        self.verdict = Verdict()
        self._pending = 0  # how explicit the statement is whose label has not come yet
        self._waits = False  # whether it may come in the next sentence
        self._needs_label = False  # whether the statement is unreadable without a label

    def take(self, sentence: Sentence) -> bool:
        """Read a sentence. Returns whether the answer ends before it, because it begins another
        question."""
        words = sentence.words
        has_colon = any(token.text == ":" for token in sentence.clauses[0].tokens[:3])
        if (
            sentence.begins_line
            and has_colon
            and words[:1]
            and words[0] in NEXT_TURN
            and self.verdict.explicit
        ):
            return True
        if words[:1] and words[0] in EXPLAINING and (has_colon or len(words) == 1):
            self.verdict.explain()
        conditional = False
        asks = sentence.asks or words[:1] in (["which"], ["whether"])
        outdated = False
        waited = self._pending
        for number, clause in enumerate(sentence.clauses):
            spoken = [token.text for token in clause.tokens if token.kind == "word"]
            turn, length = turn_of(spoken, clause.opening)
            stated_before = number > 0 and bool(self.labels_in(sentence.clauses[number - 1]))
            if stated_before and " ".join(spoken[:2]) in _REASONS_OF_RETRACTION:
                turn = 0  # "the answer is B, I misread the colours"
            self.verdict.turn(turn)
            if length:
                clause = clause._replace(tokens=_without_words(clause.tokens, length))
                spoken = spoken[length:]
            # What an answer supposes, or believed at first, ends with "but".
            if number == 0 or clause.opening in ("but", "however", "though", "yet"):
                conditional = is_hypothetical(_words_until_contrast(sentence.clauses, number))
                outdated = False
            # In "thought: …" the word is the name of a value.
            names_value = any(token.text == ":" for token in clause.tokens[:3])
            outdated = outdated or (is_outdated(spoken) and not names_value)
            if clause.boxed:
                self._take_boxed(clause)
            elif not clause.tokens:
                continue
            elif (
                asks
                or outdated
                or (
                    conditional
                    and not (number == 0 and "would" not in spoken and self.stands_alone(clause))
                )
            ):
                self.mention(clause)
            else:
                self.take_clause(clause, sentence, number)
        if (waited and self._pending == waited and not self._waits) or (
            self._pending and not self._waits
        ):
            self._end_pending()
        self._waits = self._waits and not waited
        return False

    def answer(self) -> int | None:
        """The label that the answer states; None if it states none, or several."""
        self._end_pending()
        return self.verdict.answer()

    @abstractmethod
    def stands_alone(self, clause: Clause) -> bool:
        """Whether a clause is nothing but a label."""

    def mention(self, clause: Clause) -> None:  # noqa: B027 - answers of yes or no have nothing to remember
        """Take a clause that states nothing, because it asks or supposes."""

    @abstractmethod
    def take_clause(self, clause: Clause, sentence: Sentence, number: int) -> None:
        """Take the `number`-th clause of a sentence."""

    @abstractmethod
    def labels_in(self, clause: Clause) -> set[int]:
        """The labels that a boxed clause names."""

    def state(self, label: int, explicit: int) -> None:
        """Take a statement, which a statement that waits for its label makes more explicit."""
        explicit = max(explicit, self._pending)
        self._pending, self._waits, self._needs_label = 0, False, False
        self.verdict.state(label, explicit)

    def begin(self, explicit: int, waits: bool, needs_label: bool) -> None:
        """Take the beginning of a statement, such as "Answer:", whose label comes later."""
        self._end_pending()
        self._pending, self._waits, self._needs_label = explicit, waits, needs_label

    def _take_boxed(self, clause: Clause) -> None:
        labels = self.labels_in(clause)
        self._pending, self._needs_label = 0, False
        self.verdict.state(labels.pop() if len(labels) == 1 else SEVERAL, FINAL)

    def _end_pending(self) -> None:
        if self._pending and self._needs_label:
            self.verdict.state(SEVERAL, self._pending)
        self._pending, self._waits, self._needs_label = 0, False, False


def _words_until_contrast(clauses: Sequence[Clause], start: int) -> list[str]:
    """The words from a clause on, up to the next one that "but" begins."""
    words = [token.text for token in clauses[start].tokens]
    for clause in clauses[start + 1 :]:
        if clause.opening in ("but", "however", "though", "yet"):
            break
        words += [clause.opening, *(token.text for token in clause.tokens)]
    return words


def _without_words(tokens: Sequence[Token], number: int) -> list[Token]:
    """Tokens without the first words, and without the marks after these."""
    place = 0
    while place < len(tokens) and (number > 0 or tokens[place].kind == "mark"):
        number -= tokens[place].kind == "word"
        place += 1
    return list(tokens[place:])


def _decide(statements: Statements, tokens: list[Token]) -> Reading:
    """The reading of an answer: its label, or why it has none."""
    for sentence in split_sentences(tokens):
        if statements.take(sentence):
            break
    label = statements.answer()
    if label is not None:
        return Reading(label)
    return Reading(None, REFUSED if refuses(tokens) else UNREAD)


def _begun_answer(tokens: Sequence[Token]) -> tuple[int, int]:
    """How explicit the statement is that a clause begins ("the final answer is", "answer:"), and
    the place after its copula or colon; 0 if the clause begins none."""
    words = [token.text for token in tokens]
    if not ANSWER_NOUNS.intersection(words[:8]) or REJECTING.intersection(words[:4]) - {"no"}:
        return 0, 0
    noun = next(place for place, word in enumerate(words) if word in ANSWER_NOUNS)
    explicit = FINAL if "final" in words[:noun] else ANSWERED
    for place in range(noun + 1, min(len(words), noun + 9)):
        if words[place] in (":", "=") or words[place] in COPULAS:
            return explicit, place + 1
    # A heading: "### Answer".
    is_heading = all(
        word in _IN_HEADING or word in ANSWER_NOUNS or word in LABEL_NOUNS for word in words
    )
    return (explicit, len(words)) if is_heading else (0, 0)


_IN_HEADING = FILLERS | _words("correct right true best accurate")


class Group(NamedTuple):
    """Labels that a clause names together, such as "A and B"."""

    labels: list[int]
    before: list[str]
    """The words and colons since the previous group."""
    after: list[str]
    """The words up to the next group."""
    in_words: bool
    """Whether all are the words of options."""
    joined: bool
    """Whether "and", "or" or a slash joins them."""


_JOINING = _words("and or & / + nor , both")


def _groups_of_labels(tokens: Sequence[Token]) -> list[Group]:
    groups: list[Group] = []
    between: list[str] = []
    for token in tokens:
        if token.kind != "label":
            if token.text not in ('"', "(", ")", "[", "]", "{", "}"):
                between.append(token.text)
            continue
        if groups and all(
            word in _JOINING or word in LABEL_NOUNS or word == ":" for word in between
        ):
            last = groups[-1]
            last.labels.append(token.label)
            joined = last.joined or bool(_JOINING.intersection(between))
            groups[-1] = last._replace(in_words=last.in_words and token.in_words, joined=joined)
        else:
            if groups:
                groups[-1].after.extend(between)
            groups.append(Group([token.label], between, [], token.in_words, False))
        between = []
    if groups:
        groups[-1].after.extend(between)
    return groups


class ChoiceStatements(Statements):
    """Reads clauses about options. A label is the index of an option."""

    def __init__(self) -> None:
        super().__init__()
        self._topic: int | None = None  # the option that "this" means
        self._predicate = (
            1  # whether the last predicate accepts (1) or rejects (-1) without its negation
        )
        self._led: int | None = (
            None  # the option whose letter ended the previous sentence of this line
        )

    def labels_in(self, clause: Clause) -> set[int]:
        """As Statements.labels_in."""
        return {token.label for token in clause.tokens if token.kind == "label"}

    def mention(self, clause: Clause) -> None:
        """As Statements.mention; "this" in later clauses means its option."""
        labels = self.labels_in(clause)
        if labels:
            self._topic = labels.pop() if len(labels) == 1 else None

    def stands_alone(self, clause: Clause) -> bool:
        """As Statements.stands_alone, with its noun: "option B"."""
        words = [token for token in clause.tokens if token.kind == "word"]
        plain = all(token.text in LABEL_NOUNS or token.text in _AROUND_LABEL for token in words)
        return plain and len(words) < len(clause.tokens) and bool(self.labels_in(clause))

    def take_clause(self, clause: Clause, sentence: Sentence, number: int) -> None:
        """As Statements.take_clause."""
        groups = _groups_of_labels(clause.tokens)
        led = None if sentence.begins_line or number else self._led
        self._led = None
        if not groups:
            self._take_words(clause, sentence, number)
            return
        labels = self.labels_in(clause)
        self._topic = next(iter(labels)) if len(labels) == 1 else None
        last = clause.tokens[-1]
        if last.kind == "label" and not last.in_words and not sentence.ends_line:
            self._led = last.label
        if led is not None and groups[0].in_words and not groups[0].before:
            # The words after "B." repeat option B; the words of another option contradict it.
            if labels != {led}:
                self.verdict.state(SEVERAL, ANSWERED)
            return
        if clause.opening in _EXCLUDING_OPENINGS or _excludes(groups[0].before):
            previous = (
                {token.text for token in sentence.clauses[number - 1].tokens} if number else set()
            )
            if clause.opening == "than" and previous & {"less", "worse"}:
                self.state(groups[0].labels[0], AFFIRMED)  # "A is less accurate than B"
            else:
                for label in groups[0].labels:
                    self.verdict.deny(label, strictly=True)
            groups = groups[1:]
        elif self.stands_alone(clause):
            self._take_alone(groups, clause, sentence, number)
            return
        hedged = any(token.text in HEDGING for token in clause.tokens)
        for place, group in enumerate(groups):
            self._take_group(group, clause, leads=place == 0 and number == 0, hedged=hedged)

    def _take_alone(
        self, groups: list[Group], clause: Clause, sentence: Sentence, number: int
    ) -> None:
        """Take a clause that only names labels."""
        labels = {label for group in groups for label in group.labels}
        label = labels.pop() if len(labels) == 1 else SEVERAL
        repeats_words = any(token.in_words for token in clause.tokens)
        whole_line = sentence.ends_line and len(sentence.clauses) == 1
        words = {token.text for token in clause.tokens}
        if HEDGING & words:
            self.state(label, HEDGED)
            return
        previous = sentence.clauses[number - 1].tokens[-1:] if number else []
        if number == 0 and ":" in words and words & (LABEL_NOUNS | ANSWER_NOUNS):
            self.state(label, FINAL if "final" in words else ANSWERED)
        elif clause.opening == "(":
            return
        elif number == 0 and _is_subject(sentence):
            self._topic = None if label == SEVERAL else label
        elif clause.opening in (",", "and", "or") and previous and previous[0].kind == "label":
            # "A, B" names several options.
            denied = self.verdict.is_denied(previous[0].label)
            self.state(label if denied or label == previous[0].label else SEVERAL, ANSWERED)
        elif repeats_words or (number == 0 and not whole_line and not _ends_answer(sentence)):
            self.state(label, LED)
        elif number == 0:
            self.state(label, ANSWERED)
        else:
            self.state(label, AFFIRMED)

    def _take_group(self, group: Group, clause: Clause, leads: bool, hedged: bool) -> None:
        """Take what a clause says of a group of labels."""
        before, after = group.before, group.after
        said = [word for word in after if word != ":"]
        sign = sign_of(said)
        if said == ["it", "is"]:
            sign = 1  # "B it is"
        elif _is_elliptic(said):
            sign *= self._predicate  # "A contradicts it, B does not"
        elif sign:
            self._predicate = -1 if _first_of(said, REJECTING | ACCEPTING) in REJECTING else 1
        elif _first_of(before, REJECTING | ACCEPTING):
            self._predicate = -1 if _first_of(before, REJECTING | ACCEPTING) in REJECTING else 1
        negated = _is_negated(before)
        if negated or sign < 0:
            for label in group.labels:
                self.verdict.deny(label, strictly=sign < 0 or before[-1:] == ["not"])
            return
        label = group.labels[0] if len(set(group.labels)) == 1 else SEVERAL
        if sign > 0 and {"also", "too", "equally"}.intersection(after) and self.verdict.explicit:
            label = SEVERAL
        if clause.opening == "so" and before[:1] in (["is"], ["does"], ["are"]) and not after:
            label = SEVERAL  # "A is possible, and so is B"
        explicit = self._explicit_after(group) if sign > 0 else self._explicit_before(group, clause)
        if (
            not explicit
            and self._pending
            and all(word in FILLERS or word in (":", "=") for word in before)
        ):
            explicit = self._pending
        if not explicit and leads and not before and _begins_list_entry(after):
            explicit = LED
        if explicit:
            self.state(label, HEDGED if hedged else explicit)

    def _explicit_after(self, group: Group) -> int:
        """How explicit a clause is that accepts its subject: "B is correct"."""
        subject = [word for word in group.before if word not in LABEL_NOUNS and word != "the"]
        if subject[-1:] and subject[-1] in _PREPOSITIONS and not ACCEPTING.intersection(subject):
            return HEDGED  # "the colour in A is right" accepts only the colour
        names_answer = ANSWER_NOUNS.intersection(group.after) - {"picture", "image"}
        names_answer |= LABEL_NOUNS.intersection(group.after) - _words(
            "image images picture pictures photo figure text"
        )
        copula = bool(COPULAS.intersection(group.after[:3]))
        if copula and "what" in group.after and {"i", "we"}.intersection(group.after):
            return ANSWERED  # "B is what I would choose"
        return ANSWERED if names_answer and copula and not group.joined else AFFIRMED

    def _explicit_before(self, group: Group, clause: Clause) -> int:
        """How explicit a clause is whose object is a label: "the answer is B", "I choose B", "it
        matches B"."""
        before = group.before
        named = set(before)
        significant = [
            word for word in before if word not in LABEL_NOUNS and word not in _AROUND_OBJECT
        ]
        last = significant[-1] if significant else ""
        points = last in COPULAS or last in (":", "=", "with", "for", "to", "as")
        own_words = named & {"i", "we", "would"}
        if REJECTING.intersection(named) - {"no"}:
            return 0  # "the one with the wrong colours is A"
        if "between" in named or _SAYING.intersection(named) or ("say" in named and not own_words):
            return 0
        answer_noun = bool(ANSWER_NOUNS.intersection(before))
        if answer_noun and points:
            return FINAL if "final" in named else ANSWERED
        if (
            ACCEPTING.intersection(named)
            and (LABEL_NOUNS | {"one", "that"}).intersection(named)
            and points
        ):
            return ANSWERED if last in COPULAS or last in (":", "=") else AFFIRMED
        if CHOOSING.intersection(named):
            return ANSWERED
        if last in ("makes", "making") and (ACCEPTING | ANSWER_NOUNS).intersection(group.after):
            return ANSWERED  # "that makes B the right one"
        if last in ("makes", "making") and "most" in group.after:
            return AFFIRMED
        left_with = last == "with" and significant[-2:-1] == ["left"]
        if last in ("leaves", "leaving") or left_with:
            return AFFIRMED  # "which leaves B", "I am left with B"
        if last == "with" and {"agreement", "accordance", "line", "accord"}.intersection(named):
            return AFFIRMED
        if last == "as" and group.after[:1] and group.after[0] in _SAYING_WORDS:
            return AFFIRMED  # "just as B puts it"
        if ACCEPTING.intersection(named) or last in COPULAS or BELIEVING.intersection(named):
            return AFFIRMED
        concludes = clause.opening in CONCLUDING or CONCLUDING.intersection(before[:2])
        if concludes and not [
            word
            for word in significant
            if word not in FILLERS and word not in CONCLUDING and word != ":"
        ]:
            return AFFIRMED
        if group.in_words:
            return AFFIRMED
        return HEDGED if last == ":" and not group.after else 0

    def _take_words(self, clause: Clause, sentence: Sentence, number: int) -> None:
        """Take a clause without labels: the beginning of a statement, or what is said of the last
        option."""
        words = [
            token.text
            for token in clause.tokens
            if token.kind == "word" or token.text in (":", "=")
        ]
        explicit, place = _begun_answer(clause.tokens)
        if explicit:
            rest = [token for token in clause.tokens[place:] if token.kind == "word"]
            has_colon = clause.tokens[place - 1].text == ":"
            if NOTHING.intersection(token.text for token in rest[:2]):
                self.verdict.state(SEVERAL, explicit)
            elif not rest or has_colon or len(clause.tokens) == place:
                last_clause = clause is sentence.clauses[-1]
                self.begin(explicit, waits=not rest and last_clause, needs_label=has_colon)
            return
        if (
            len(words) == 1
            and number == 0
            and len(clause.tokens[0].raw) == 1
            and clause.tokens[0].raw.isupper()
        ):
            if clause.tokens[0].raw.isascii():
                self.verdict.state(SEVERAL, ANSWERED)  # a letter that no option has
            return
        if self._topic is None:
            return
        sign = _sign_of_topic([word for word in words if word not in (":", "=")])
        if sign > 0:
            several = self.verdict.explicit and {"also", "too", "equally"}.intersection(words)
            self.verdict.state(SEVERAL if several else self._topic, AFFIRMED)
        elif sign < 0:
            self.verdict.deny(self._topic, strictly=True)


_AROUND_LABEL = _words(
    "namely rather la le el the so final correct my and or probably likely definitely clearly "
    "certainly most obviously surely maybe perhaps possibly one"
)
_AROUND_OBJECT = _words(
    "la le el the a an clearly definitely certainly probably most likely indeed just only "
    "therefore thus then very single both either rather namely"
)
_SAYING_WORDS = _words("puts says states describes has claims reads")
_EXCLUDING_OPENINGS = _words("not nor neither unlike over rather instead than")
_PREPOSITIONS = _words("in of for to with than as by from on under about between")
_SAYING = _words(
    "says states state stating claims claim claiming mentions reads asks saying according"
)


def _excludes(before: Sequence[str]) -> bool:
    """Whether the words before a label compare it unfavourably: "rather than A", "over A"."""
    pair = tuple(before[:2])
    excluding = before[:1] and before[0] in ("not", "nor", "neither", "unlike", "over", "than")
    return bool(excluding or pair in (("rather", "than"), ("instead", "of"))) and len(before) < 5


def _is_negated(before: Sequence[str]) -> bool:
    """Whether the words before a label deny it: "it is not A", "we exclude A", "the wrong caption
    is A"."""
    negated = False
    for place, word in enumerate(before):
        following = before[place + 1] if place + 1 < len(before) else ""
        if (
            (word in NEGATORS and following not in ("doubt", "only", "just", "question", "sure"))
            or word in EXCLUDING
            or (
                word in REJECTING
                and (following in LABEL_NOUNS or following in COPULAS or following in ("one", ":"))
            )
        ):
            negated = not negated
    return negated


def _is_subject(sentence: Sentence) -> bool:
    """Whether the label that begins a sentence is its subject, before words in commas: "B, on the
    other hand, shows two cubes"."""
    if len(sentence.clauses) < 3 or sentence.clauses[1].opening != ",":
        return False
    words = [token.text for token in sentence.clauses[1].tokens]
    return " ".join(words) in _INSERTED


_INSERTED = _phrases(
    "on the other hand / in contrast / by contrast / meanwhile / however / conversely / instead / "
    "in turn / in comparison / though / of course / as well / too / for example / for instance"
)


def _ends_answer(sentence: Sentence) -> bool:
    """Whether a label is followed on its line only by a reason, as in "B, because the cube is
    red"."""
    return len(sentence.clauses) > 1 and sentence.clauses[1].opening in (
        "because",
        "since",
        "not",
        "rather",
        "over",
    )


def _begins_list_entry(after: Sequence[str]) -> bool:
    """Whether the words after a label at the start of a line do not make it their subject: "A: the
    cube is red"."""
    return bool(after) and after[0] in (
        ":",
        "=",
        "as",
        "for",
        "with",
        "from",
        "that",
        "in",
        "given",
        "due",
        "based",
    )


def _sign_of_topic(words: list[str]) -> int:
    """Whether a clause accepts (1) or rejects (−1) the option that was named last; 0 if it does
    neither."""
    start = 0
    while start < len(words) and words[start] in _BEFORE_TOPIC:
        start += 1
    words = words[start:]
    if not words:
        return 0
    if words[0] in PRONOUNS:
        noun = len(words) > 1 and words[1] in LABEL_NOUNS
        return sign_of(words[2:] if noun else words[1:], of_option=noun)
    if words[0] in ("the", "image", "picture") and len(words) > 2:
        skipped = 2 if words[0] == "the" else 1
        if words[skipped - 1] in LABEL_NOUNS or words[skipped - 1] == "scene":
            return sign_of(words[skipped:], of_option=words[skipped - 1] not in _SHOWN)
        return 0
    if words[0] in ACCEPTING or words[0] in REJECTING or words[0] in ("does", "do", "not", "is"):
        # "No red cube" says nothing of the option.
        return 0 if words[0] == "no" and len(words) > 1 else sign_of(words)
    return 0


_BEFORE_TOPIC = _words(
    "so and but therefore thus hence clearly really also then because since which indeed still"
)
_SHOWN = _words("image images picture pictures photo figure scene")


class YesNoStatements(Statements):
    """Reads clauses that say yes (0) or no (1)."""

    def __init__(self) -> None:
        super().__init__()
        self._sentences = 0
        self._after_question = False

    def take(self, sentence: Sentence) -> bool:
        """As Statements.take."""
        ends = super().take(sentence)
        self._sentences += 1
        self._after_question = sentence.asks
        return ends

    def labels_in(self, clause: Clause) -> set[int]:
        """As Statements.labels_in."""
        label = _yes_or_no([token.text for token in clause.tokens if token.kind == "word"])
        return set() if label is None else {label}

    def stands_alone(self, clause: Clause) -> bool:
        """As Statements.stands_alone."""
        return bool(self.labels_in(clause))

    def take_clause(self, clause: Clause, sentence: Sentence, number: int) -> None:
        """As Statements.take_clause."""
        tokens = [
            token for token in clause.tokens if token.kind == "word" or token.text in (":", "=")
        ]
        words = [token.text for token in tokens]
        if not words:
            return
        explicit, place = _begun_answer(tokens)
        if explicit:
            rest = [word for word in words[place:] if word not in (":", "=")]
            label = _yes_or_no(rest)
            if label is not None:
                self.state(label, explicit)
            elif not rest:
                self.begin(
                    explicit,
                    waits=clause is sentence.clauses[-1],
                    needs_label=words[place - 1] == ":",
                )
            return
        concludes = (
            clause.opening in CONCLUDING
            or words[0] in CONCLUDING
            or words[:2] == ["in", "conclusion"]
            or "whole" in words  # "the statement as a whole is false"
        )
        after_colon = words[-1:] if words[-2:-1] == [":"] else []
        words = [word for word in words if word not in (":", "=")]
        # In "matches: false" the value decides, not the name before it.
        value = after_colon[0] if after_colon else ""
        has_value = (
            value in ("yes", "no", "true", "false")
            and len(words) < 4
            and bool(ACCEPTING.intersection(words[:-1]))
        )
        label = _yes_or_no(after_colon if has_value else words)
        if label is None:
            label = _yes_or_no(after_colon)
            if label is not None:
                self.state(
                    label, AFFIRMED
                )  # "the cube is red: yes" may be about a part of the question
            return
        if words in (["and", "yes"], ["and", "no"], ["or", "yes"], ["or", "no"]):
            self.verdict.state(SEVERAL, LED)  # "yes and no"
        elif any(word in HEDGING for word in words):
            self.state(label, HEDGED)
        elif concludes:
            self.state(label, ANSWERED)
        elif self._sentences == 0 and number == 0 and not self._after_question:
            self.state(label, LED)
        elif (
            number == 0
            and sentence.begins_line
            and sentence.ends_line
            and len(sentence.clauses) == 1
            and len(words) == 1
        ):
            self.state(label, ANSWERED)
        else:
            self.state(label, AFFIRMED)


_BEFORE_YES = _words(
    "well so therefore thus hence overall the a it is answer would be i and but final in "
    "conclusion clearly then we can say that based sorry probably likely my short simply "
    "summary finally definitely ah oh ok okay right"
)
_AFTER_YES = _words(
    "it the this that there i because since as we these they indeed is in he she figure image "
    "picture caption not a an you sir absolutely for according both all based exactly sure"
)
_DENIALS = _phrases(
    "absolutely not / definitely not / certainly not / no way / hell no / yes not / not quite / "
    "not really / not exactly / not entirely / not at all / i doubt it / i doubt that / "
    "does not look like it / it does not look like it / does not seem so / "
    "i do not think so / i do not "
    "believe so / i think not / of course not / almost / partly / partially / only partly / "
    "only partially / by no means / think not"
)
_AGREEMENTS = _phrases(
    "absolutely / definitely / certainly / indeed / affirmative / of course / sure / i think so "
    "/ looks like it / it looks like it / i believe so / it seems so / sure is / exactly / "
    "i would say so"
)
_ABOUT_CAPTION = _words(
    "statement caption description claim figure image picture photo sentence scene answer text "
    "depiction"
)


def _yes_or_no(words: Sequence[str]) -> int | None:
    """0 if a clause says yes, 1 if it says no, else None.

    Example:
        >>> _yes_or_no(["yes", "it", "does"]), _yes_or_no(["it", "does", "not"])
        (0, 1)
        >>> _yes_or_no(["no", "doubt"])
    """
    if not words:
        return None
    if len(words) == 1 and words[0] in (
        "y",
        "if",
        "n",
        "not",
    ):  # "si" is "if" in French and "yes" in Spanish
        return 0 if words[0] in ("y", "if") else 1
    start = 0
    while start + 1 < len(words) and _is_before_yes(words[start]):
        start += 1
    rest = list(words[start:])
    if words[0] == "i" and words[1:2] and words[1] in ("believe", "think", "guess"):
        claim = _yes_or_no(words[2:])
        if claim is not None:
            return claim  # "I believe it does"
    if "indeed" in words[1:] and words[0] in ("there", "the", "it", "this", "a", "an"):
        return 1 if NEGATORS.intersection(words) else 0
    if words[0] == "i" and "that" in words[2:6] and not NEGATORS.intersection(words[:6]):
        return _yes_or_no(words[words.index("that") + 1 :])  # "I can confirm that it is true"
    if " ".join(words) in _AGREEMENTS:
        return 0
    if " ".join(rest) in _DENIALS or " ".join(words) in _DENIALS:
        return 1
    follows = rest[1] if len(rest) > 1 else ""
    agreeing = follows in (ACCEPTING if rest[0] == "yes" else REJECTING)  # "yes, correct"
    if rest[0] in ("yes", "no") and (
        len(rest) == 1 or follows in _AFTER_YES or follows in ("yes", "no") or agreeing
    ):
        return (
            None if rest[1:2] in (["yes"], ["no"]) and rest[0] != rest[1] else int(rest[0] == "no")
        )
    before_last = words[-2] if len(words) > 1 else ""
    pointing = before_last in COPULAS or before_last in BELIEVING or before_last in _BEFORE_YES
    if words[-1] in ("yes", "no") and pointing:
        return int(words[-1] == "no")
    return {1: 0, -1: 1}.get(_sign_of_claim(rest))


def _is_before_yes(word: str) -> bool:
    return word.isdigit() or (word in _BEFORE_YES and word not in ("it", "the", "that", "is"))


def _sign_of_claim(words: list[str]) -> int:
    """Whether a clause accepts (1) or rejects (−1) what the question asks about; 0 if it does
    neither."""
    if words[0] in ("yes", "no"):
        return 0
    if words[0] in PRONOUNS:
        noun = len(words) > 1 and words[1] in _ABOUT_CAPTION
        return _sign_or_emphasis(words[2:] if noun else words[1:])
    if words[0] == "the" and len(words) > 2 and words[1] in _ABOUT_CAPTION:
        return _sign_or_emphasis(words[2:])
    if words[0] in _ABOUT_CAPTION and len(words) > 1:
        return _sign_or_emphasis(words[1:])
    if words[0] in ("everything", "all") and not HEDGING.intersection(words):
        return sign_of(words[1:])
    if words[0] in ("there", "they") and len(words) < 4:
        return sign_of(words[1:])
    short = len(words) < 5 or words[0] in ("does", "matches")
    begins = (
        words[0] in ACCEPTING
        or words[0] in REJECTING
        or words[0] in ("does", "do", "not", "is", "almost", "partially")
    )
    return sign_of(words) if begins and short and words[:2] != ["not", "sure"] else 0


def _sign_or_emphasis(words: list[str]) -> int:
    """As sign_of; "does show" accepts."""
    if (
        words[:1] == ["does"]
        and words[1:2]
        and (words[1] in DEPICTING or words[1] in ("indeed", "in"))
    ):
        return 1
    return sign_of(words)


# -------------------------------------------------------------------------------------------------
# Refusals
# -------------------------------------------------------------------------------------------------

_ADVERBS = _words(
    "really currently directly definitively confidently reliably accurately actually truly "
    "visually properly just"
)
_CANNOT = (
    *(
        f"{who} {verb} not"
        for who in ("i", "we")
        for verb in ("can", "could", "will", "do", "am able to")
    ),
    "i am not able to", "we are not able to", "i am unable to", "unable to", "not able to",
    "impossible to", "not possible to",
)  # fmt: skip
_ABILITIES = _words(
    "assist help comply answer provide see view access process determine tell identify say "
    "decide know analyze inspect interpret examine evaluate fulfill choose pick make respond "
    "open display verify confirm judge have"
)
_REFUSALS = _phrases(
    "sorry / i am afraid / as an ai / my guidelines / must decline / not comfortable / i refuse "
    "/ i decline / no image was / no image is / no image has / no image provided / can not be "
    "answered / can not be determined / do not see an image / do not see any image / image is "
    "missing / image did not load / please provide the image / please upload / please share the "
    "image / i would need to see / es tut mir leid / lo siento / je suis désolé / désolé / mi "
    "dispiace / desculpe / 抱歉 / 对不起 / 申し訳 / 죄송 / извините"
)


def refuses(tokens: Sequence[Token]) -> bool:
    """Whether an answer without a label is a refusal.

    Example:
        >>> refuses(split_tokens("I'm unable to view images."))
        True
    """
    words = [
        token.text
        for token in tokens
        if token.kind in ("word", "label") and token.text not in _ADVERBS
    ]
    spoken = f" {' '.join(words)} "
    written = f" {' '.join(token.raw.casefold() for token in tokens)} "
    together = "".join(token.raw for token in tokens)
    if any(f" {phrase} " in text for phrase in _REFUSALS for text in (spoken, written)):
        return True
    if any(
        phrase in together
        for phrase in ("抱歉", "对不起", "無法", "无法", "申し訳", "죄송", "できません")
    ):
        return True
    return any(f" {start} {verb} " in spoken for start in _CANNOT for verb in _ABILITIES)
