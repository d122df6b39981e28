"""Convert answers in words to the scores of items, and count how often each label is chosen."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluator.models.contracts import FAILED, Answer
from evaluator.protocols.scores import ItemScores
from evaluator.scoring.words.prompt import Prompt
from evaluator.scoring.words.reader import CUT_OFF, REFUSED, UNREAD, Reading, read_choice, read_yes_no
from generator.dataset.questions import CHOICE, IMAGES, MATCHING, YES_NO, Candidates, Question

_TIE = -1
"""The choice if two options are tied as the most frequent answer."""
_HALF = 0.5


@dataclass(frozen=True)
class Answered:
    """An answer to a question, with its sample number (a question may be asked several times), and what it says."""

    question: Question
    sample: int
    answer: Answer
    reading: Reading


def read(question: Question, sample: int, answer: Answer, rows: Candidates, prompt: Prompt) -> Answered:
    """Read what an answer says."""
    if answer.finish.startswith(FAILED):
        return Answered(question, sample, answer, Reading(None, answer.finish))
    if question.form == YES_NO:
        return Answered(question, sample, answer, read_yes_no(answer.text, answer.finish, prompt.yes, prompt.no))
    texts = [rows.text[row] for row in question.options]
    captions: Sequence[str] = ()
    if question.form == CHOICE:
        captions = texts
    elif question.form == MATCHING:
        captions = prompt.assignments(texts)
    letters = prompt.letters[: len(question.options)]
    return Answered(question, sample, answer, read_choice(answer.text, answer.finish, letters, captions))


def item_scores(answered: Iterable[Answered], rows: Candidates, samples: int) -> dict[str, ItemScores]:
    """The scores of candidates in their items by the form of the questions: CHOICE (and YES_NO), IMAGES and MATCHING.

    With several samples a last one is added: the majority label of each question. The true option of a choice wins if
    it is chosen in every order. It scores 1/2; a false option chosen in a share t > 0 of the orders scores 1/2 + (1 +
    t)/4, any other 0 (1/2 if only ties prevented the win). If several true options share their false options, these
    score 1/2, and a true option 1 if it won, 0 if a false option was chosen, else 1/2. Yes scores 1, and no 0.
    """
    groups: dict[tuple[Any, ...], dict[int, list[Answered]]] = defaultdict(lambda: defaultdict(list))
    for each in answered:
        asked = each.question
        groups[asked.item, asked.form, asked.true, tuple(sorted(asked.options))][asked.order].append(each)
    sharing = Counter((item, form, frozenset(options) - {true}) for item, form, true, options in groups)
    n = len(rows.item)
    found = {form: ItemScores.empty(samples + (samples > 1), n) for form in (CHOICE, IMAGES, MATCHING)}
    for (item, form, true, options), orders in groups.items():
        scores = found[CHOICE if form == YES_NO else form]
        scores.asked[list(options)] = True
        shared = sharing[item, form, frozenset(options) - {true}] > 1
        for sample in range(len(scores.values)):
            labels = [_label(each, sample if sample < samples else None) for each in orders.values()]
            unread = next((label.why for label in labels if label.label is None), "")
            if unread:
                scores.reasons[sample, list(options)] = unread
            elif form == YES_NO:
                never = float(not rows.truth[options[0]])  # a tie is never right
                scores.values[sample, options[0]] = {0: 1.0, 1: 0.0}.get(int(labels[0].label or 0), never)
            else:
                chosen = [
                    _TIE if label.label == _TIE else each[0].question.options[int(label.label or 0)]
                    for label, each in zip(labels, orders.values(), strict=True)
                ]
                _score(scores.values[sample], int(true), set(options) - {true}, chosen, shared)
    return found


def _label(answers: Sequence[Answered], sample: int | None) -> Reading:
    """The label of a sample; for None, the majority label of the samples that can be read."""
    if sample is not None:
        return next((each.reading for each in answers if each.sample == sample), Reading(None, f"{FAILED}never asked"))
    said = Counter(each.reading.label for each in answers if each.reading.label is not None).most_common(2)
    if not said:
        return answers[0].reading
    return Reading(_TIE if len(said) == 2 and said[0][1] == said[1][1] else said[0][0])


def _score(values: np.ndarray, true: int, false: set[int], chosen: Sequence[int], shared: bool) -> None:
    """Set the scores (rows,) of a question's options. chosen: the option that was chosen in each order."""
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
    """The summary of answers in the results: their number, the numbers without a label by reason, tokens, and
    `positions`: how often each label is chosen and is right, as shares of the read answers, by number of options.
    """
    whys = Counter(each.reading.why for each in answered)
    named = {"refused": REFUSED, "cut_off": CUT_OFF, "unread": UNREAD}
    counts: dict[str, Any] = {"answers": len(answered), **{name: whys[why] for name, why in named.items()}}
    counts["not_answered"] = sum(n for why, n in whys.items() if why.startswith(FAILED))
    for name in ("prompt_tokens", "completion_tokens"):
        counts[name] = sum(getattr(each.answer, name) for each in answered)
    return {**counts, "positions": _positions(answered, rows, prompt)}


def _positions(answered: Sequence[Answered], rows: Candidates, prompt: Prompt) -> list[dict[str, Any]]:
    chosen: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    right: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    for each in answered:
        asked = each.question
        if each.reading.label is None:
            continue
        truth = int(not rows.truth[asked.options[0]]) if asked.true is None else asked.options.index(asked.true)
        key = asked.form, max(2, len(asked.options))
        chosen[key][each.reading.label] += 1
        right[key][truth] += 1
    return [
        {
            "form": form,
            "options": n,
            "label": (prompt.yes[0], prompt.no[0])[place] if form == YES_NO else prompt.letters[place],
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
        shares = ", ".join(f"{each['label']} {each['chosen']:.0%} (right {each['right']:.0%})" for each in of)
        options = {IMAGES: "images", MATCHING: "assignments of two captions to two images"}.get(key[0], "options")
        lines.append(f"Of {key[1]} {options} it chooses {shares}.")
    return lines
