"""The yes-or-no question about an image and a text, and its score: from logits or listed tokens.

The question comes from VQAScore (Lin et al. 2024, "Evaluating Text-to-Visual Generation with
Image-to-Text Generation", section 3).
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from generator.base.errors import UserError

QUESTION = 'Does this figure show "{}"? Please answer yes or no.'
CHANNELS = ("log_odds", "p_yes")
"""The scores of an answer: log odds of yes against no, and the probability of yes."""
_ROUNDING = 1e-7
"""Rounding error of a sum of listed probabilities, float32."""
_WORD_STARTS = "Ġ▁ "
"""Marks of a word's start in tokens of GPT-2, SentencePiece and others."""


def question(text: str) -> str:
    """The question about a text. Phrases and sentences get the same wording, so that only the texts
    differ.

    >>> question("There is a red cube.")
    'Does this figure show "There is a red cube."? Please answer yes or no.'
    """
    return QUESTION.format(text)


def spelled(token: str) -> str:
    """A token without a leading space or mark of a word's start, in lower case.

    >>> spelled("▁Yes")
    'yes'
    """
    return token.lstrip(_WORD_STARTS).casefold()


class AnswerTokens:
    """The ids of tokens that spell yes, and of tokens that spell no, with or without a leading
    space and capitals.

    Raises UserError when the tokenizer has no token for yes or for no.
    """

    def __init__(self, tokenizer: Any, name: str):
        self.ids: dict[str, list[int]] = {"yes": [], "no": []}
        for token, id_ in tokenizer.get_vocab().items():
            answer = spelled(token)
            if answer in self.ids:
                self.ids[answer].append(id_)
        for answer, ids in self.ids.items():
            ids.sort()
            if not ids:
                raise UserError(
                    f"The tokenizer of '{name}' has no token for '{answer}'; name a model that "
                    f"answers in English."
                )

    def scores(self, logits: torch.Tensor) -> torch.Tensor:
        """log P(yes) − log P(no) and P(yes), float32 (n, 2), from the logits (n, vocabulary) of the
        answer's first token."""
        logits = logits.float()
        # Logarithms of sums of probabilities, all short of the same constant.
        yes = logits[:, self.ids["yes"]].logsumexp(1)
        no = logits[:, self.ids["no"]].logsumexp(1)
        all_tokens = logits.logsumexp(1)
        p_yes = (yes - all_tokens).exp()
        return torch.stack([yes - no, p_yes], dim=1)


class Score(NamedTuple):
    """The score of a yes-or-no answer."""

    log_odds: float
    """log P(yes) − log P(no)."""
    p_yes: float
    """P(yes), 0..1."""
    bounded: bool = False
    """Whether only one of yes and no was among the listed tokens, so that `log_odds` is a bound."""


def score_of_tokens(listed: Sequence[tuple[str, float]]) -> Score | None:
    """Score the most likely first tokens of an answer.

    Probabilities are summed over all tokens that spell an answer. An answer that is not listed gets
    an upper bound: the least listed probability, or 1 minus the listed sum if that is less. The
    true log odds are at least as far from 0. A token of probability 0 (some endpoints give -9999)
    counts as not listed.

    Args:
        listed: Tokens and their log-probabilities.

    Returns:
        None if neither yes nor no is listed.

    >>> score_of_tokens([("Yes", math.log(0.75)), ("no", math.log(0.25))]).p_yes
    0.75
    """
    possible = [(token, logarithm) for token, logarithm in listed if math.exp(logarithm)]
    logarithms: dict[str, list[float]] = {"yes": [], "no": []}
    for token, logarithm in possible:
        answer = spelled(token)
        if answer in logarithms:
            logarithms[answer].append(logarithm)
    if not logarithms["yes"] and not logarithms["no"]:
        return None
    listed_logarithms = [logarithm for _, logarithm in possible]
    listed_sum = sum(math.exp(logarithm) for logarithm in listed_logarithms)
    # Endpoints list the most likely tokens, so an answer that is not among them is no likelier than
    # the last of them, nor than all that is left.
    unlisted = max(_ROUNDING, 1 - listed_sum)
    bound = min(math.log(unlisted), *listed_logarithms)
    yes = float(np.logaddexp.reduce(logarithms["yes"] or [bound]))
    no = float(np.logaddexp.reduce(logarithms["no"] or [bound]))
    is_bounded = not (logarithms["yes"] and logarithms["no"])
    p_yes = math.exp(yes) if logarithms["yes"] else 0.0
    return Score(yes - no, p_yes, is_bounded)
