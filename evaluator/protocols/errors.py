"""Which way wrong choices go: whether the chosen text is more familiar than the truth, and which of its atoms are wrong."""

from collections.abc import Sequence

import numpy as np

from evaluator.protocols.assertions import ATOMS, Assertions, read_assertions
from evaluator.protocols.comparison import wrong_choices
from evaluator.protocols.items import Items
from evaluator.protocols.results import Outcome, Row, tabulate
from evaluator.protocols.scores import Scores

BY_FAMILIARITY, BY_ATOM = "errors by familiarity", "errors by atom"
METRICS = (BY_FAMILIARITY, BY_ATOM)
FAMILIARITY = ("more familiar", "as familiar", "less familiar")
"""Than the truth: the chosen text names fewer, as many, more held-out bindings and triples."""
WRONG = tuple(
    " and ".join(name for i, name in enumerate(ATOMS) if code >> i & 1) or "binding" for code in range(2 ** len(ATOMS))
)
"""The atoms that differ from the truth; `binding` where all are named, and only which belongs to which is wrong."""
N_DIRECTIONS = len(FAMILIARITY) + len(WRONG)
_BLOCK = 2_000_000


def error_directions(
    scores: np.ndarray, truth: np.ndarray, false: np.ndarray, texts: np.ndarray, said: Assertions, tolerance: float
) -> np.ndarray:
    """How each item's wrong choice differs from its truth: shares (n, 2, 3 + 8), zeros for items without a wrong choice.

    scores, truth, false: of the candidates (n, m). texts: their rows in `said`, (n, m) or (m,) where all items have the same.
    In [:, 0] is the choice, in [:, 1] the same for a false text that is drawn at random. The columns are FAMILIARITY, zeros
    without a holdout, then WRONG. The truth is an item's first true text.
    """
    n, m = scores.shape
    texts = np.broadcast_to(texts, (n, m))
    found = np.zeros((n, 2, N_DIRECTIONS))
    size = max(1, _BLOCK // max(1, m))
    for start in range(0, n, size):
        part = slice(start, start + size)
        chosen, _ = wrong_choices(scores[part], truth[part], false[part], tolerance)
        drawn = false[part] / np.maximum(false[part].sum(axis=1, keepdims=True), 1)
        own = texts[part][np.arange(len(chosen)), truth[part].argmax(axis=1)]
        for column, of in enumerate(_classes(texts[part], own, said)):
            for source, weights in enumerate((chosen, drawn)):
                found[part, source, column] = (weights * of).sum(axis=1)
    found[found[:, 0].sum(axis=1) == 0] = 0
    return found


def candidate_errors(scores: Scores, items: Items) -> list[Row]:
    """The rows of `error_rows` for items that have all their texts among their candidates; none where a text has no form."""
    names, texts = np.unique(items.text_id.astype(str), return_inverse=True)
    padded = int(len(names) > 0 and names[0] == "")
    said = read_assertions(scores.benchmark, names[padded:].tolist())
    if said is None or not len(items):
        return []
    rows = texts.reshape(items.text_id.shape) - padded
    directions = error_directions(items.scores, items.truth, items.false, rows, said, items.tolerance)
    return error_rows(items, directions)


def error_rows(items: Items, directions: np.ndarray) -> list[Row]:
    """Of the wrong choices of each kind and split, the share of each direction beside its chance.

    directions: those of `error_directions`. Directions that no false text has get no row, nor does familiarity where all texts
    are as familiar as the truth.
    """
    directions = directions[items.scored]
    wrong = directions[:, 0].sum(axis=1) > 0
    items, directions = items.take(items.scored).take(wrong), directions[wrong]
    if not len(items):
        return []
    names = [*((BY_FAMILIARITY, name) for name in FAMILIARITY), *((BY_ATOM, name) for name in WRONG)]
    no_tie = np.zeros(len(items), dtype=bool)
    outcomes = [
        Outcome(metric, directions[:, 0, i], no_tie, directions[:, 1, i], error=name)
        for i, (metric, name) in enumerate(names)
    ]
    rows = tabulate(items, [each for each in outcomes if each.chance.any()], ["kind"], gaps=False)
    told = {row["error"] for row in rows if row["metric"] == BY_FAMILIARITY}
    return [
        row
        for row in rows
        if (row["chance"] or row["value"]) and (row["metric"] == BY_ATOM or told != {FAMILIARITY[1]})
    ]


def _classes(texts: np.ndarray, own: np.ndarray, said: Assertions) -> Sequence[np.ndarray]:
    """For each direction, which texts (n, m) differ from each item's own text (n,) in it."""
    familiarity = [np.zeros(texts.shape, dtype=bool)] * len(FAMILIARITY)
    if said.held_out is not None:
        more = said.held_out[texts] - said.held_out[own][:, None]
        familiarity = [more < 0, more == 0, more > 0]
    differ = said.atoms[texts] != said.atoms[own][:, None]
    code = (differ << np.arange(len(ATOMS))).sum(axis=2)
    return [*familiarity, *(code == each for each in range(len(WRONG)))]
