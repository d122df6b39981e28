"""Convert answers in words to the scores of items, and count how often each label is chosen."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evaluator.models.contracts import FAILED
from evaluator.protocols.scores import ItemScores
from evaluator.scoring.words.prompt import Prompt
from evaluator.scoring.words.reader import AnsweredQuestion
from generator.dataset.answer_reader import CUT_OFF, REFUSED, UNREAD, Reading
from generator.dataset.questions import CHOICE, IMAGES, MATCHING, YES_NO, Candidates

_NO_CHOICE = -1
"""The label of an answer that chooses nothing: several labels are tied as the most frequent one, or
none was read."""
_YES, _NO = 0, 1
"""The labels of yes and no."""
_UNDECIDED = 0.5
"""The score of an option that neither won nor lost; options with equal scores are a tie, which
protocols count as wrong."""

AnswersByOrder = Mapping[int, Sequence[AnsweredQuestion]]
"""The answers to a question by the number of the order of its options."""


class _QuestionKey(NamedTuple):
    """A question in any order of its options."""

    item: str
    """Id of the item."""
    form: str
    """CHOICE, IMAGES, MATCHING or YES_NO."""
    true: int | None
    """Row of the true option; None for YES_NO, whose single option is true or false."""
    options: tuple[int, ...]
    """Rows of the options, sorted."""

    @property
    def foil_key(self) -> tuple[str, str, frozenset[int]]:
        """Equal for questions of an item that have the same false options."""
        return self.item, self.form, frozenset(self.options) - {self.true}


@dataclass(frozen=True)
class _Choice:
    """A question with several options, and its answers."""

    true: int
    """Row of the true option."""
    false: frozenset[int]
    """Rows of the false options."""
    shares_foils: bool
    """Whether another question of the item has the same false options."""
    answers_by_order: AnswersByOrder
    """The answers in each order of the options."""


def item_scores(
    answered: Iterable[AnsweredQuestion], rows: Candidates, *, samples: int
) -> dict[str, ItemScores]:
    """Convert the answers about items to scores of their candidates.

    The method: answers are grouped by question; each question of several options scores its
    options; captions that were asked alone, yes or no, are scored together for each item.

    The true option of a choice wins if it is chosen in every order. It scores 1/2. A false option
    chosen in a share t > 0 of the orders scores 1/2 + (1 + t)/4, any other 0, or 1/2 if only ties
    prevented the win. If several true options share their false options, these score 1/2, and a
    true option 1 if it won, 0 if a false option was chosen, else 1/2. Yes scores 1, and no 0.

    An answer without a label (unread, refused, cut off) chooses nothing, so its question is wrong.
    A question with a failed request is unscored, unless another of its answers is wrong already.

    Args:
        answered: The answers, in any order.
        rows: The candidates of the benchmark.
        samples: How often each question was asked. If more than once, a last sample is added: the
            most frequent label of each question.

    Returns:
        Scores of shape (samples, rows) by the form of the questions: CHOICE from choices of
        captions, from yes or no, and from questions about views; IMAGES from choices of images;
        MATCHING from choices of which caption belongs to which image.
    """
    questions = _group_by_question(answered)
    question_count_of_foils = Counter(key.foil_key for key in questions)
    sample_numbers: list[int | None] = list(range(samples))
    if samples > 1:
        sample_numbers.append(None)  # the majority of the samples
    shape = len(sample_numbers), len(rows.item)
    scores_of_form = {form: ItemScores.empty(*shape) for form in (CHOICE, IMAGES, MATCHING)}

    # Questions of several options are scored one by one.
    for key, answers_by_order in questions.items():
        has_own_scores = key.form in (IMAGES, MATCHING)
        scores = scores_of_form[key.form if has_own_scores else CHOICE]
        scores.in_question[list(key.options)] = True
        if key.true is None:
            continue
        false = frozenset(key.options) - {key.true}
        shares_foils = question_count_of_foils[key.foil_key] > 1
        choice = _Choice(key.true, false, shares_foils, answers_by_order)
        for place, sample in enumerate(sample_numbers):
            _score_choice(scores, place, choice=choice, sample=sample)

    # Captions that were asked alone are scored item by item: one wrong answer decides its item.
    for answers_of_row in _yes_no_answers(questions).values():
        for place, sample in enumerate(sample_numbers):
            readings = _readings_of_sample(answers_of_row, sample)
            _score_yes_no(scores_of_form[CHOICE], place, readings=readings, truth=rows.truth)

    items_with_question = {key.item for key in questions}
    for scores in scores_of_form.values():
        scores.in_asked_item[:] = [item in items_with_question for item in rows.item]
    return scores_of_form


def _group_by_question(
    answered: Iterable[AnsweredQuestion],
) -> dict[_QuestionKey, dict[int, list[AnsweredQuestion]]]:
    """The answers by question and by the order of its options."""
    groups: dict[_QuestionKey, dict[int, list[AnsweredQuestion]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for answer in answered:
        question = answer.question
        options = tuple(sorted(question.options))
        key = _QuestionKey(question.item, question.form, question.true, options)
        groups[key][question.order].append(answer)
    return groups


def _yes_no_answers(
    questions: Mapping[_QuestionKey, AnswersByOrder],
) -> dict[str, dict[int, Sequence[AnsweredQuestion]]]:
    """By item, and by the row of each caption that was asked alone, its answers."""
    answers: dict[str, dict[int, Sequence[AnsweredQuestion]]] = defaultdict(dict)
    for key, answers_by_order in questions.items():
        if key.true is None:
            # A single option has one order.
            (row,) = key.options
            answers[key.item][row] = next(iter(answers_by_order.values()))
    return answers


def _score_choice(scores: ItemScores, place: int, *, choice: _Choice, sample: int | None) -> None:
    """Set the scores of the options of a choice in the row `place` of scores, or the reason why
    they have none. sample: as for `_reading_of_sample`."""
    readings = []
    chosen = []
    for answers in choice.answers_by_order.values():
        reading = _reading_of_sample(answers, sample)
        readings.append(reading)
        if reading.label is None or reading.label == _NO_CHOICE:
            chosen.append(_NO_CHOICE)
        else:
            chosen.append(answers[0].question.options[reading.label])
    is_wrong = any(option in choice.false for option in chosen)
    failure, unread = _reasons_without_label(readings)
    options = [choice.true, *choice.false]
    if failure and not (is_wrong or unread):
        scores.reasons[place, options] = failure
        return
    if unread and not is_wrong:
        scores.unread[place, options] = unread
    _set_option_scores(scores.values[place], choice, chosen)


def _set_option_scores(values: np.ndarray, choice: _Choice, chosen: Sequence[int]) -> None:
    """Set the scores (rows,) of the options of a choice.

    chosen: the option that was chosen in each order, or _NO_CHOICE.
    """
    has_won = all(option == choice.true for option in chosen)
    has_lost = any(option in choice.false for option in chosen)
    if choice.shares_foils:
        # False options keep one score for all their questions, so the true option takes the result.
        values[list(choice.false)] = _UNDECIDED
        if has_won:
            values[choice.true] = 1.0
        elif has_lost:
            values[choice.true] = 0.0
        else:
            values[choice.true] = _UNDECIDED
        return
    values[choice.true] = _UNDECIDED
    for row in choice.false:
        share = chosen.count(row) / len(chosen)
        if share:
            values[row] = _UNDECIDED + (1 + share) / 4
        elif has_won or has_lost:
            values[row] = 0.0
        else:
            values[row] = _UNDECIDED


def _score_yes_no(
    scores: ItemScores, place: int, *, readings: Mapping[int, Reading], truth: Sequence[bool]
) -> None:
    """Set the scores of an item's captions, each asked alone, in the row `place` of scores, or the
    reason why they have none.

    readings: what was answered, by the caption's row. truth: whether each row is true.
    """
    options = list(readings)
    failure, unread = _reasons_without_label(readings.values())
    is_wrong = any(
        reading.label == (_NO if truth[row] else _YES) for row, reading in readings.items()
    )
    if failure and not (is_wrong or unread):
        scores.reasons[place, options] = failure
        return
    score_of_label = {_YES: 1.0, _NO: 0.0}
    for row, reading in readings.items():
        # Neither a tie nor a missing label is right: the caption gets the wrong answer's score.
        wrong_score = float(not truth[row])
        label = _NO_CHOICE if reading.label is None else reading.label
        scores.values[place, row] = score_of_label.get(label, wrong_score)
    if unread and not is_wrong:
        scores.unread[place, options] = unread


def _reasons_without_label(readings: Iterable[Reading]) -> tuple[str, str]:
    """Why a request failed, and why an answer has no label, of the first of each; "" if none
    did."""
    failure = ""
    unread = ""
    for reading in readings:
        if reading.label is not None:
            continue
        if reading.why.startswith(FAILED):
            failure = failure or reading.why
        else:
            unread = unread or reading.why
    return failure, unread


def _readings_of_sample(
    answers_of_row: Mapping[int, Sequence[AnsweredQuestion]], sample: int | None
) -> dict[int, Reading]:
    """{row: what a sample says of its caption}; sample: as for `_reading_of_sample`."""
    readings = {}
    for row, answers in answers_of_row.items():
        readings[row] = _reading_of_sample(answers, sample)
    return readings


def _reading_of_sample(answers: Sequence[AnsweredQuestion], sample: int | None) -> Reading:
    """What a sample says, of the answers to a question in one order; for None, the majority of the
    samples that can be read."""
    if sample is None:
        return _majority(answers)
    for answer in answers:
        if answer.sample == sample:
            return answer.reading
    return Reading(None, f"{FAILED}never asked")


def _majority(answers: Sequence[AnsweredQuestion]) -> Reading:
    """The most frequent label of answers; _NO_CHOICE if several are."""
    labels = [answer.reading.label for answer in answers if answer.reading.label is not None]
    most_frequent = Counter(labels).most_common(2)
    if not most_frequent:
        # One answer that says nothing is enough to be wrong; only if all requests failed, the
        # question is unscored.
        for answer in answers:
            if not answer.reading.why.startswith(FAILED):
                return answer.reading
        return answers[0].reading
    (label, count), *others = most_frequent
    if others and others[0][1] == count:
        return Reading(_NO_CHOICE)
    return Reading(label)


def summarize_answers(
    answered: Sequence[AnsweredQuestion], rows: Candidates, prompt: Prompt
) -> dict[str, Any]:
    """Count answers, for the results.

    Args:
        answered: The answers of a run.
        rows: The candidates of the benchmark.
        prompt: The prompt that asked, which names the labels.

    Returns:
        The number of answers, the numbers without a label by reason, tokens, and `positions`: how
        often each label is chosen and is right, as shares of the read answers, by number of
        options.
    """
    reasons = Counter(answer.reading.why for answer in answered)
    counts: dict[str, Any] = {
        "answers": len(answered),
        "refused": reasons[REFUSED],
        "cut_off": reasons[CUT_OFF],
        "unread": reasons[UNREAD],
        "not_answered": sum(n for reason, n in reasons.items() if reason.startswith(FAILED)),
    }
    for name in ("prompt_tokens", "completion_tokens"):
        counts[name] = sum(getattr(answer.answer, name) for answer in answered)
    return {**counts, "positions": _position_shares(answered, rows, prompt)}


def _position_shares(
    answered: Sequence[AnsweredQuestion], rows: Candidates, prompt: Prompt
) -> list[dict[str, Any]]:
    """How often each label is chosen, and how often it is right, by form and number of options."""
    chosen: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    right: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    for answer in answered:
        label = answer.reading.label
        if label is None:
            continue
        question = answer.question
        if question.true is None:
            right_label = _YES if rows.truth[question.options[0]] else _NO
        else:
            right_label = question.options.index(question.true)
        # A question of yes or no has one option and two labels.
        key = question.form, max(2, len(question.options))
        chosen[key][label] += 1
        right[key][right_label] += 1

    shares = []
    for (form, option_count), labels in sorted(chosen.items()):
        names = (prompt.yes[0], prompt.no[0]) if form == YES_NO else prompt.letters
        total = labels.total()
        for label in range(option_count):
            shares.append(
                {
                    "form": form,
                    "options": option_count,
                    "label": names[label],
                    "answers": total,
                    "chosen": labels[label] / total,
                    "right": right[form, option_count][label] / total,
                }
            )
    return shares


_OPTION_WORDS = {IMAGES: "images", MATCHING: "assignments of two captions to two images"}


def describe_answers(answers: Mapping[str, Any]) -> list[str]:
    """Sentences on the counts of `summarize_answers`, for logs and pages.

    >>> counts = {"refused": 2, "cut_off": 0, "unread": 0, "not_answered": 0}
    >>> describe_answers({"answers": 1200, "positions": [], **counts})
    ['1,200 answers, 2 refused.']
    """
    counts = [f"{answers['answers']:,} answers"]
    for name in ("refused", "cut_off", "unread", "not_answered"):
        if answers[name]:
            counts.append(f"{answers[name]:,} {name.replace('_', ' ')}")
    lines = [", ".join(counts) + "."]

    shares_of_group: dict[tuple[str, int], list[str]] = defaultdict(list)
    for position in answers["positions"]:
        share = f"{position['label']} {position['chosen']:.0%} (right {position['right']:.0%})"
        shares_of_group[position["form"], position["options"]].append(share)
    for (form, option_count), shares in shares_of_group.items():
        options = _OPTION_WORDS.get(form, "options")
        lines.append(f"Of {option_count} {options} it chooses {', '.join(shares)}.")
    return lines
