"""The score of a yes-or-no question, from what an endpoint answered: log-probabilities of the first token, or sampled answers."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evaluator.models.vqa import spelled

_FIRST_WORD = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


class Score(NamedTuple):
    """log P(yes) − log P(no) and P(yes). bounded: only one of the two was among the listed tokens."""

    log_odds: float
    p_yes: float
    bounded: bool = False


def score_of_tokens(listed: Sequence[tuple[str, float]]) -> Score | None:
    """The score from the most likely first tokens and their log-probabilities; None where neither yes nor no is listed.

    Probabilities are summed over all tokens that spell an answer. An answer that is not listed is less likely than each listed
    token, and than what the listed ones leave over: that bound stands for it, so the log odds are at least as far from 0.

    >>> score_of_tokens([("Yes", math.log(0.75)), ("no", math.log(0.25))]).p_yes
    0.75
    """
    found: dict[str, list[float]] = {"yes": [], "no": []}
    for token, logarithm in listed:
        found.get(spelled(token), []).append(logarithm)
    if not found["yes"] and not found["no"]:
        return None
    left = 1 - sum(math.exp(logarithm) for _, logarithm in listed)
    bound = min(logarithm for _, logarithm in listed)
    if 0 < left < 1:
        bound = min(bound, math.log(left))
    yes, no = (_sum(found[answer]) if found[answer] else bound for answer in ("yes", "no"))
    bounded = not (found["yes"] and found["no"])
    return Score(yes - no, math.exp(yes) if found["yes"] else 0.0, bounded)


def score_of_samples(answers: Sequence[str]) -> Score | None:
    """The score from sampled answers; None where none of them begins with yes or no.

    Half an answer is added to both, so that the log odds are finite (Haldane 1956). P(yes) is the share of all answers.

    >>> score_of_samples(["Yes.", "yes", "No", "A cube"]).p_yes
    0.5
    """
    counts: Mapping[str, int] = {"yes": 0, "no": 0} | _counted(answers)
    if not counts["yes"] + counts["no"]:
        return None
    return Score(math.log((counts["yes"] + 0.5) / (counts["no"] + 0.5)), counts["yes"] / len(answers))


def _counted(answers: Sequence[str]) -> dict[str, int]:
    words = [found[1].casefold() for answer in answers if (found := _FIRST_WORD.match(answer))]
    return {word: words.count(word) for word in set(words)}


def _sum(logarithms: Sequence[float]) -> float:
    """The logarithm of a sum of probabilities."""
    highest = max(logarithms)
    return highest + math.log(sum(math.exp(each - highest) for each in logarithms))
