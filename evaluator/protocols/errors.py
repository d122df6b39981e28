"""Analysis of wrong choices: whether the chosen text is more familiar than the truth, and which of
its atoms are wrong.

Both follow from the recorded forms of texts: how many held-out combinations they name, and which
atoms.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.metrics.comparison import wrong_choices
from evaluator.protocols.items import Items, positions
from evaluator.protocols.records import Row
from evaluator.protocols.results import Outcome, tabulate
from evaluator.protocols.scores import Scores
from generator.dataset.reader import Benchmark

ATOMS = ("attribute", "object", "relation")
BY_FAMILIARITY, BY_ATOM = "errors by familiarity", "errors by atom"
FAMILIARITY = ("more familiar", "as familiar", "less familiar")
"""Compared with the truth: the chosen text names fewer, equally many or more held-out bindings and
triples."""
WRONG = tuple(
    " and ".join(name for i, name in enumerate(ATOMS) if code >> i & 1) or "binding"
    for code in range(2 ** len(ATOMS))
)
"""The atoms that differ from the truth; `binding` if none differs, so that only their assignment is
wrong."""
N_DIRECTIONS = len(FAMILIARITY) + len(WRONG)


@dataclass(frozen=True)
class Assertions:
    """The content of t texts.

    held_out: number of held-out bindings and relation triples that each text names (t,), None for a
        benchmark without a
    holdout. atoms: codes (t, 3), a column for each of ATOMS; texts with equal codes name the same
    atoms equally often.
    """

    held_out: np.ndarray | None
    atoms: np.ndarray


def error_directions(
    scores: np.ndarray,
    truth: np.ndarray,
    false: np.ndarray,
    texts: np.ndarray,
    said: Assertions,
    tolerance: float,
) -> np.ndarray:
    """How each item's wrong choice differs from its truth: shares (n, 2, 3 + 8), zeros for items
    without a wrong choice.

    scores, truth, false: of the candidates (n, m). texts: their rows in `said`, (n, m), or (m,) if
    all items share them. [:, 0]: the model's choice. [:, 1]: a random false text. The last axis is
    FAMILIARITY, zeros without a holdout, then WRONG. The truth is an item's first true text.
    """
    texts = np.broadcast_to(texts, scores.shape)
    own = texts[np.arange(len(texts)), truth.argmax(axis=1)]
    familiar = [np.zeros_like(false)] * len(FAMILIARITY)
    if said.held_out is not None:
        more = np.sign(said.held_out[texts] - said.held_out[own][:, None])
        familiar = [more == sign for sign in (-1, 0, 1)]
    code = ((said.atoms[texts] != said.atoms[own][:, None]) << np.arange(len(ATOMS))).sum(axis=2)
    chosen, _ = wrong_choices(scores, truth, false, tolerance)
    drawn = false / np.maximum(false.sum(axis=1, keepdims=True), 1)
    found = np.zeros((len(scores), 2, N_DIRECTIONS))
    for i, of in enumerate([*familiar, *(code == each for each in range(len(WRONG)))]):
        for j, weights in enumerate((chosen, drawn)):
            found[:, j, i] = (weights * of).sum(axis=1)
    found[chosen.sum(axis=1) == 0] = 0
    return found


def candidate_errors(scores: Scores, items: Items) -> list[Row]:
    """`error_rows` of items whose candidates are all their texts; [] if a text has no form."""
    names, texts = np.unique(items.text_id.astype(str), return_inverse=True)
    padded = int(len(names) > 0 and names[0] == "")
    said = read_assertions(scores.benchmark, names[padded:].tolist())
    if said is None or not len(items):
        return []
    rows = texts.reshape(items.text_id.shape) - padded
    return error_rows(
        items, error_directions(items.scores, items.truth, items.false, rows, said, items.tolerance)
    )


def error_rows(items: Items, directions: np.ndarray) -> list[Row]:
    """The share of each direction among the wrong choices, with its chance, by kind and split.

    directions: from `error_directions`. There is no row for a direction that no false text has, nor
        for familiarity if
    all texts are as familiar as the truth.
    """
    wrong = items.scored & (directions[:, 0].sum(axis=1) > 0)
    names = [
        *((BY_FAMILIARITY, name) for name in FAMILIARITY),
        *((BY_ATOM, name) for name in WRONG),
    ]
    no_tie = np.zeros(len(items), dtype=bool)
    outcomes = [
        Outcome(metric, directions[:, 0, i], no_tie, directions[:, 1, i], error=name)
        for i, (metric, name) in enumerate(names)
        if directions[wrong, 1, i].any()
    ]
    rows = tabulate(items, outcomes, ["kind"], gaps=False, where=wrong)
    told = {row["error"] for row in rows if row["metric"] == BY_FAMILIARITY}
    return [
        row
        for row in rows
        if (row["chance"] or row["value"])
        and (row["metric"] == BY_ATOM or told != {FAMILIARITY[1]})
    ]


def read_assertions(benchmark: Benchmark, text_ids: Sequence[str]) -> Assertions | None:
    """The assertions of texts of a benchmark; None if any of these texts has no recorded form."""
    row = positions(pa.chunked_array([text_ids], pa.string()), benchmark.texts["text_id"])
    recorded = benchmark.texts["form"].take(pa.array(row, mask=row < 0)).to_pylist()
    if None in recorded:
        return None
    forms = [json.loads(form) for form in recorded]
    held_out = None
    if (holdout := benchmark.holdout) is not None:
        bindings, triples = (
            {tuple(each) for each in holdout[name]} for name in ("bindings", "triples")
        )
        kinds = holdout["kind"], holdout["category"]
        held_out = np.array(
            [_held_out(form, *kinds, bindings, triples) for form in forms], dtype=int
        )
    named = [_atoms(form) for form in forms]
    columns = [_codes([atoms[i] for atoms in named]) for i in range(len(ATOMS))]
    return Assertions(held_out, np.stack(columns, axis=1))


def _held_out(
    form: Mapping[str, Any],
    kind: str,
    category: str,
    bindings: set[tuple[str, ...]],
    triples: set[tuple[str, ...]],
) -> int:
    """The number of held-out bindings and triples that a form names, as `held_out_positive` in
    docs/dataset.md."""
    objects = form["objects"]
    related = [
        (objects[s]["category"], name, objects[o]["category"])
        for s, name, o, *_ in form.get("relations", ())
    ]
    found = sum(triple in triples for triple in related)
    for mention in objects:
        # a denial counts as naming: "a cube that is not red" names (red, cube)
        pairs = [*mention["attributes"].items(), *mention.get("without", {}).items()]
        values = [value for name, value in pairs if name == kind]
        categories = [mention["category"], *(value for name, value in pairs if name == category)]
        found += any((value, each) in bindings for value in values for each in categories)
    return found


def _atoms(form: Mapping[str, Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """The attributes, objects and relations that a form names, each sorted, without their
    assignment."""
    mentions = [
        mention for mention in form["objects"] for _ in range(max(1, mention.get("count", 1)))
    ]
    attributes = [pair for mention in mentions for pair in mention["attributes"].items()]
    attributes += [
        ("not", *pair) for mention in mentions for pair in mention.get("without", {}).items()
    ]
    objects = [str(mention["category"]) for mention in mentions]
    relations = [(name, holds) for _, name, *_, holds in form.get("relations", ())]
    return sorted(attributes), sorted(objects), sorted(relations)


def _codes(values: Sequence[Any]) -> np.ndarray:
    known: dict[str, int] = {}
    return np.array([known.setdefault(repr(value), len(known)) for value in values], dtype=int)
