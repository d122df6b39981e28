"""Convert answers in words to the scores of items, and count how often each label is chosen."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from evaluator.models.contracts import FAILED
from evaluator.protocols.scores import ItemScores
from evaluator.scoring.words.prompt import Prompt
from evaluator.scoring.words.reader import Answered
from generator.dataset.answer_reader import CUT_OFF, REFUSED, UNREAD, Reading
from generator.dataset.questions import CHOICE, IMAGES, MATCHING, YES_NO, Candidates

_TIE = -1
"""The choice if two options are tied as the most frequent answer, or if an answer chooses none."""
_HALF = 0.5
Orders = Mapping[int, Sequence[Answered]]
"""The answers to a question by the order of its options."""


def item_scores(
    answered: Iterable[Answered], rows: Candidates, samples: int
) -> dict[str, ItemScores]:
    """Return the scores of candidates in their items, by the form of the questions: CHOICE (with
    YES_NO), IMAGES and MATCHING.

    The true option of a choice wins if it is chosen in every order. It scores 1/2; a false option
    chosen in a share t > 0 of the orders scores 1/2 + (1 + t)/4, any other 0 (1/2 if only ties
    prevented the win). If several true options share their false options, these score 1/2, and a
    true option 1 if it won, 0 if a false option was chosen, else 1/2. Yes scores 1, and no 0.

    An answer without a label (unread, refused, cut off) chooses nothing, so its question is wrong.
    A question with a failed request is unscored, unless another of its answers is wrong already.

    Args: answered: The answers, in any order. rows: The candidates of the benchmark. samples: How
        often each question was asked. If more than once, a last sample is added: the most frequent
        label of each question.

    Returns: Scores of shape (samples, rows): CHOICE from choices of captions and from yes or no,
        IMAGES from choices of images, MATCHING from choices of which caption belongs to which
        image.
    """
    questions: dict[tuple[Any, ...], dict[int, list[Answered]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for answer in answered:
        question = answer.question
        key = question.item, question.form, question.true, tuple(sorted(question.options))
        questions[key][question.order].append(answer)
    sharing = Counter(
        (item, form, frozenset(options) - {true}) for item, form, true, options in questions
    )
    n_samples = samples + (samples > 1)
    by_form = {
        form: ItemScores.empty(n_samples, len(rows.item)) for form in (CHOICE, IMAGES, MATCHING)
    }
    asked_alone: dict[str, dict[int, Orders]] = defaultdict(dict)
    for (item, form, true, options), orders in questions.items():
        scores = by_form[CHOICE if form == YES_NO else form]
        scores.asked[list(options)] = True
        if form == YES_NO:
            asked_alone[item][options[0]] = orders
            continue
        shared = sharing[item, form, frozenset(options) - {true}] > 1
        for sample in range(len(scores.values)):
            labels = _labels(orders, sample if sample < samples else None)
            _score_choice(scores, sample, labels, orders, int(true), set(options) - {true}, shared)
    for options_of_item in asked_alone.values():
        for sample in range(n_samples):
            _score_yes_no(
                by_form[CHOICE], sample, sample if sample < samples else None, options_of_item, rows
            )
    asked_items = {item for item, *_ in questions}
    for scores in by_form.values():
        scores.of_asked_items[:] = [item in asked_items for item in rows.item]
    return by_form


def _labels(orders: Orders, sample: int | None) -> list[Reading]:
    return [_label(answers, sample) for answers in orders.values()]


def _score_choice(
    scores: ItemScores,
    sample: int,
    labels: Sequence[Reading],
    orders: Orders,
    true: int,
    false: set[int],
    shared: bool,
) -> None:
    """Set the scores of the options of a choice, or the reason why they have none."""
    chosen = [
        _TIE if label.label in (None, _TIE) else answers[0].question.options[label.label]
        for label, answers in zip(labels, orders.values(), strict=True)
    ]
    wrong = any(option in false for option in chosen)
    failed, unread = _lacking(labels)
    options = [true, *false]
    if failed and not (wrong or unread):
        scores.reasons[sample, options] = failed
        return
    if unread and not wrong:
        scores.unread[sample, options] = unread
    _score(scores.values[sample], true, false, chosen, shared)


def _score_yes_no(
    scores: ItemScores,
    sample: int,
    of_sample: int | None,
    options: Mapping[int, Orders],
    rows: Candidates,
) -> None:
    """Set the scores of an item's captions, each asked alone, or the reason why they have none."""
    labels = {
        row: _label(next(iter(orders.values())), of_sample) for row, orders in options.items()
    }
    failed, unread = _lacking(list(labels.values()))
    wrong = any(label.label == int(rows.truth[row]) for row, label in labels.items())
    if failed and not (wrong or unread):
        scores.reasons[sample, list(options)] = failed
        return
    for row, label in labels.items():
        never = float(not rows.truth[row])  # neither a tie nor a missing label is right
        scores.values[sample, row] = {0: 1.0, 1: 0.0}.get(
            _TIE if label.label is None else label.label, never
        )
    if unread and not wrong:
        scores.unread[sample, list(options)] = unread


def _lacking(labels: Iterable[Reading]) -> tuple[str, str]:
    """Why a request failed, and why an answer has no label; "" if none did."""
    reasons = [label.why for label in labels if label.label is None]
    failed = next((why for why in reasons if why.startswith(FAILED)), "")
    return failed, next((why for why in reasons if not why.startswith(FAILED)), "")


def _label(answers: Sequence[Answered], sample: int | None) -> Reading:
    """The label of a sample; for None, the majority label of the samples that can be read."""
    if sample is not None:
        return next(
            (each.reading for each in answers if each.sample == sample),
            Reading(None, f"{FAILED}never asked"),
        )
    said = Counter(
        each.reading.label for each in answers if each.reading.label is not None
    ).most_common(2)
    if not said:
        # One answer that says nothing is enough to be wrong; only if all requests failed, the
        # question is unscored.
        return min(
            (each.reading for each in answers), key=lambda reading: reading.why.startswith(FAILED)
        )
    return Reading(_TIE if len(said) == 2 and said[0][1] == said[1][1] else said[0][0])


def _score(
    values: np.ndarray, true: int, false: set[int], chosen: Sequence[int], shared: bool
) -> None:
    """Set the scores (rows,) of a question's options. chosen: the option that was chosen in each
    order."""
    won, lost = all(each == true for each in chosen), any(each in false for each in chosen)
    if shared:
        values[list(false)] = _HALF
        values[true] = 1.0 if won else 0.0 if lost else _HALF
        return
    values[true] = _HALF
    for row in false:
        times = chosen.count(row) / len(chosen)
        values[row] = _HALF + (1 + times) / 4 if times else 0.0 if won or lost else _HALF


def summary(answered: Sequence[Answered], rows: Candidates, prompt: Prompt) -> dict[str, Any]:
    """The summary of answers in the results: their number, the numbers without a label by reason,
    tokens, and `positions`: how often each label is chosen and is right, as shares of the read
    answers, by number of options.
    """
    whys = Counter(each.reading.why for each in answered)
    named = {"refused": REFUSED, "cut_off": CUT_OFF, "unread": UNREAD}
    counts: dict[str, Any] = {
        "answers": len(answered),
        **{name: whys[why] for name, why in named.items()},
    }
    counts["not_answered"] = sum(n for why, n in whys.items() if why.startswith(FAILED))
    for name in ("prompt_tokens", "completion_tokens"):
        counts[name] = sum(getattr(each.answer, name) for each in answered)
    return {**counts, "positions": _positions(answered, rows, prompt)}


def _positions(
    answered: Sequence[Answered], rows: Candidates, prompt: Prompt
) -> list[dict[str, Any]]:
    chosen: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    right: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    for each in answered:
        asked = each.question
        if each.reading.label is None:
            continue
        truth = (
            int(not rows.truth[asked.options[0]])
            if asked.true is None
            else asked.options.index(asked.true)
        )
        key = asked.form, max(2, len(asked.options))
        chosen[key][each.reading.label] += 1
        right[key][truth] += 1
    return [
        {
            "form": form,
            "options": n,
            "label": (prompt.yes[0], prompt.no[0])[place]
            if form == YES_NO
            else prompt.letters[place],
            "answers": said.total(),
            "chosen": said[place] / said.total(),
            "right": right[form, n][place] / said.total(),
        }
        for (form, n), said in sorted(chosen.items())
        for place in range(n)
    ]


def position_lines(answers: Mapping[str, Any]) -> list[str]:
    """Sentences on the counts of `summary`, for logs and pages."""
    said = [f"{answers['answers']:,} answers"]
    said += [
        f"{answers[name]:,} {name.replace('_', ' ')}"
        for name in ("refused", "cut_off", "unread", "not_answered")
        if answers[name]
    ]
    lines = [", ".join(said) + "."]
    for key in dict.fromkeys((each["form"], each["options"]) for each in answers["positions"]):
        of = [each for each in answers["positions"] if (each["form"], each["options"]) == key]
        shares = ", ".join(
            f"{each['label']} {each['chosen']:.0%} (right {each['right']:.0%})" for each in of
        )
        options = {IMAGES: "images", MATCHING: "assignments of two captions to two images"}.get(
            key[0], "options"
        )
        lines.append(f"Of {key[1]} {options} it chooses {shares}.")
    return lines
