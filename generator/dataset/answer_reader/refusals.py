"""Tell refusals from answers that say nothing readable."""

from collections.abc import Sequence

from .tokens import LABEL, WORD, Token
from .vocabulary import phrases, words

_ADVERBS = words(
    "really currently directly definitively confidently reliably accurately actually truly "
    "visually properly just"
)
"""Words that may stand between "cannot" and its verb."""
_VERBS_BEFORE_NOT = ("can", "could", "will", "do", "am able to")
_INABILITIES = (
    *(f"{who} {verb} not" for who in ("i", "we") for verb in _VERBS_BEFORE_NOT),
    "i am not able to",
    "we are not able to",
    "i am unable to",
    "unable to",
    "not able to",
    "not be able to",
    "impossible to",
    "not possible to",
)
# Only these verbs: "I cannot find a red cube, so B" is no refusal.
_ABILITIES = words(
    "assist help comply answer provide see view access process determine tell identify say decide "
    "know analyze inspect interpret examine evaluate fulfill choose pick make respond look open "
    "display verify confirm judge have"
)
_REFUSALS = phrases(
    "sorry / i am afraid / as an ai / my guidelines / must decline / not comfortable / i refuse / "
    "i decline / no image was / no image is / no image has / no image provided / can not be "
    "answered / can not be determined / do not see an image / do not see any image / image is "
    "missing / image did not load / please provide the image / please upload / please share the "
    "image / i would need to see / tut mir leid / lo siento / je suis désolé / désolé / mi "
    "dispiace / desculpe / 抱歉 / 对不起 / 申し訳 / 죄송 / извините / nicht beantworten / "
    "nicht beurteilen / kann kein / kann keine / kann nicht / bild nicht sehen / "
    "bild leider nicht / entschuldigung / no puedo / je ne peux / não posso / non posso / не могу"
)
_UNSPACED_REFUSALS = (
    "抱歉",
    "对不起",
    "無法",
    "无法",
    "申し訳",
    "죄송",
    "できません",
    "看不到",
    "볼 수 없",
)


def refuses(tokens: Sequence[Token]) -> bool:
    """Return whether an answer without a label is a refusal.

    Args:
        tokens: All tokens of the answer.

    Returns:
        True if it says that it cannot, or will not, answer.

    Example:
        >>> from .tokens import split_tokens
        >>> refuses(split_tokens("I'm unable to view images."))
        True
    """
    spoken_words = []
    for token in tokens:
        if token.kind in (WORD, LABEL) and token.text not in _ADVERBS:
            spoken_words.append(token.text)
    # Some phrases are of English words, others of words as they were written.
    spoken = f" {' '.join(spoken_words)} "
    written = f" {' '.join(token.raw.casefold() for token in tokens)} "
    for phrase in _REFUSALS:
        if f" {phrase} " in spoken or f" {phrase} " in written:
            return True
    # Chinese, Japanese and Korean are cut into known phrases, which need not end where these do.
    unspaced = "".join(token.raw for token in tokens)
    if any(phrase in unspaced for phrase in _UNSPACED_REFUSALS):
        return True
    for inability in _INABILITIES:
        for ability in _ABILITIES:
            if f" {inability} {ability} " in spoken:
                return True
    return False
