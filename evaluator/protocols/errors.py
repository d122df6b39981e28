"""Analysis of wrong choices: whether the chosen text is more familiar than the truth, and which of
its atoms are wrong.

Both follow from the recorded forms of texts: how many held-out combinations they name, and which
atoms.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from evaluator.metrics.comparison import wrong_choices
from evaluator.protocols.items import Items, positions
from evaluator.protocols.outcomes import Outcome
from evaluator.protocols.records import Row
from evaluator.protocols.results import tabulate
from evaluator.protocols.scores import Scores
from generator.dataset.reader import Benchmark

ATOMS = ("attribute", "object", "relation")
"""The sorts of atoms of a text."""
BY_FAMILIARITY, BY_ATOM = "errors by familiarity", "errors by atom"
"""The metrics."""
FAMILIARITY = ("more familiar", "as familiar", "less familiar")
"""Compared with the truth: the chosen text names fewer, equally many or more held-out bindings and
triples."""


def _name_code(code: int) -> str:
    """The name of a code: the sorts of atoms whose bits are set."""
    names = [name for i, name in enumerate(ATOMS) if code >> i & 1]
    return " and ".join(names) or "binding"


WRONG = tuple(_name_code(code) for code in range(2 ** len(ATOMS)))
"""The atoms that differ from the truth, by code: bit i is set if atoms of the sort i differ. Code 0
is `binding`: only the assignment of the atoms is wrong."""
N_DIRECTIONS = len(FAMILIARITY) + len(WRONG)
"""The number of directions of an error."""


@dataclass(frozen=True)
class Assertions:
    """The content of t texts."""

    held_out: np.ndarray | None
    """int64 (t,): how many held-out bindings and relation triples each text names; None for a
    benchmark without a holdout."""
    atoms: np.ndarray
    """int64 (t, 3): a code for each of ATOMS. Texts with equal codes name the same atoms equally
    often."""


def error_directions(
    scores: np.ndarray,
    truth: np.ndarray,
    false: np.ndarray,
    *,
    texts: np.ndarray,
    assertions: Assertions,
    tolerance: float,
) -> np.ndarray:
    """How the wrong choice of each item differs from its truth, which is its first true text.

    Args:
        scores: float32 (n, m): of the candidates of n items.
        truth: bool (n, m): which candidates are true.
        false: bool (n, m): which are false.
        texts: int64 (n, m): the rows of the candidates in `assertions`; (m,) if all items share
            them.
        assertions: The content of the texts.
        tolerance: How close scores tie.

    Returns:
        float64 (n, 2, N_DIRECTIONS): shares. [:, 0] is the model's choice, [:, 1] a random false
        text. The last axis is FAMILIARITY, zeros without a holdout, then WRONG. Items without a
        wrong choice have zeros.
    """
    texts = np.broadcast_to(texts, scores.shape)
    true_texts = texts[np.arange(len(texts)), truth.argmax(axis=1)]

    # Which candidates go in which direction: by the number of held-out combinations, then by the
    # atoms that differ.
    directions = [np.zeros_like(false)] * len(FAMILIARITY)
    if assertions.held_out is not None:
        of_truth = assertions.held_out[true_texts][:, None]
        more_held_out = np.sign(assertions.held_out[texts] - of_truth)
        # In the order of FAMILIARITY: fewer held-out combinations are more familiar.
        directions = [more_held_out == sign for sign in (-1, 0, 1)]
    # Which atoms differ, as a number with a bit for each sort of atom.
    differs = assertions.atoms[texts] != assertions.atoms[true_texts][:, None]
    code = (differs << np.arange(len(ATOMS))).sum(axis=2)
    directions += [code == wrong for wrong in range(len(WRONG))]

    # How much of each item's choice, and of a random one, goes there.
    chosen, _ = wrong_choices(scores, truth, false, tolerance)
    n_false = np.maximum(false.sum(axis=1, keepdims=True), 1)
    random = false / n_false
    shares = np.zeros((len(scores), 2, N_DIRECTIONS))
    for i, goes_there in enumerate(directions):
        shares[:, 0, i] = (chosen * goes_there).sum(axis=1)
        shares[:, 1, i] = (random * goes_there).sum(axis=1)
    shares[chosen.sum(axis=1) == 0] = 0
    return shares


def candidate_errors(scores: Scores, items: Items) -> list[Row]:
    """The directions of errors of items whose candidates are all their texts.

    Args:
        scores: The scores of a run.
        items: Items of it.

    Returns:
        As `error_rows`; [] if a text has no recorded form.
    """
    names, texts = np.unique(items.text_id.astype(str), return_inverse=True)
    n_padding = int(len(names) > 0 and names[0] == "")  # padding is the name "", which sorts first
    assertions = read_assertions(scores.benchmark, names[n_padding:].tolist())
    if assertions is None or not len(items):
        return []
    directions = error_directions(
        items.scores,
        items.truth,
        items.false,
        texts=texts.reshape(items.text_id.shape) - n_padding,
        assertions=assertions,
        tolerance=items.rules.tolerance,
    )
    return error_rows(items, directions)


def error_rows(items: Items, directions: np.ndarray) -> list[Row]:
    """Make rows of the directions of errors.

    Args:
        items: n items.
        directions: float64 (n, 2, N_DIRECTIONS) from `error_directions`.

    Returns:
        The share of each direction among the wrong choices, with its chance, by kind and split.
        There is no row for a direction that no false text has, nor for familiarity if all texts are
        as familiar as the truth.
    """
    is_wrong = items.scored & (directions[:, 0].sum(axis=1) > 0)
    names = [(BY_FAMILIARITY, name) for name in FAMILIARITY]
    names += [(BY_ATOM, name) for name in WRONG]
    no_tie = np.zeros(len(items), dtype=bool)
    outcomes = []
    for i, (metric, name) in enumerate(names):
        chosen, random = directions[:, 0, i], directions[:, 1, i]
        if random[is_wrong].any():
            outcomes.append(Outcome(metric, chosen, no_tie, random, error=name))
    rows = tabulate(items, outcomes, ["kind"], gaps=False, where=is_wrong)

    familiarities = {row["error"] for row in rows if row["metric"] == BY_FAMILIARITY}
    tells_familiarity = familiarities != {FAMILIARITY[1]}
    rows_of_directions = []
    for row in rows:
        is_possible = row["chance"] or row["value"]
        if is_possible and (row["metric"] == BY_ATOM or tells_familiarity):
            rows_of_directions.append(row)
    return rows_of_directions


def read_assertions(benchmark: Benchmark, text_ids: Sequence[str]) -> Assertions | None:
    """Read the content of texts from their recorded forms.

    Args:
        benchmark: The benchmark of the texts.
        text_ids: The t texts.

    Returns:
        Their content; None if any of them has no recorded form.
    """
    ids = pa.chunked_array([text_ids], pa.string())
    rows = positions(ids, benchmark.texts["text_id"])
    known_rows = pa.array(rows, mask=rows < 0)
    recorded = benchmark.texts["form"].take(known_rows).to_pylist()
    if None in recorded:
        return None
    forms = [json.loads(form) for form in recorded]
    atoms = [_atoms(form) for form in forms]
    codes = []
    for i in range(len(ATOMS)):
        of_sort = [atoms_of_text[i] for atoms_of_text in atoms]
        codes.append(_codes(of_sort))
    return Assertions(_count_held_out(benchmark, forms), np.stack(codes, axis=1))


def _count_held_out(benchmark: Benchmark, forms: Sequence[Mapping[str, Any]]) -> np.ndarray | None:
    """How many held-out bindings and triples each of t forms names, int64 (t,); None without a
    holdout."""
    holdout = benchmark.holdout
    if holdout is None:
        return None
    bindings = {tuple(binding) for binding in holdout["bindings"]}
    triples = {tuple(triple) for triple in holdout["triples"]}
    counts = []
    for form in forms:
        n_bindings = _held_out_bindings(
            form, holdout["kind"], category=holdout["category"], bindings=bindings
        )
        n_triples = _held_out_triples(form, triples)
        counts.append(n_bindings + n_triples)
    return np.array(counts, dtype=int)


def _held_out_triples(form: Mapping[str, Any], triples: set[tuple[str, ...]]) -> int:
    """The number of held-out triples that a form names, as `held_out_positive` in
    docs/dataset.md."""
    objects = form["objects"]
    count = 0
    for subject, name, object_, *_ in form.get("relations", ()):
        triple = (objects[subject]["category"], name, objects[object_]["category"])
        count += triple in triples
    return count


def _held_out_bindings(
    form: Mapping[str, Any], kind: str, *, category: str, bindings: set[tuple[str, ...]]
) -> int:
    """The number of objects of a form that name a held-out binding of `kind` and `category`, as
    `held_out_positive` in docs/dataset.md."""
    count = 0
    for mention in form["objects"]:
        # A denial counts as naming: "a cube that is not red" names (red, cube).
        pairs = [*mention["attributes"].items(), *mention.get("without", {}).items()]
        values = []
        categories = [mention["category"]]
        for name, value in pairs:
            if name == kind:
                values.append(value)
            if name == category:
                categories.append(value)
        # An object counts once, however many held-out bindings it names.
        count += any(binding in bindings for binding in product(values, categories))
    return count


def _atoms(form: Mapping[str, Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """The attributes, objects and relations that a form names, each sorted, without their
    assignment."""
    attributes: list[Any] = []
    objects = []
    for mention in form["objects"]:
        # "Two red cubes" names its atoms twice; "no cube", a count of 0, once.
        n_objects = max(1, mention.get("count", 1))
        denied = [("not", *pair) for pair in mention.get("without", {}).items()]
        attributes += [*mention["attributes"].items(), *denied] * n_objects
        objects += [str(mention["category"])] * n_objects
    relations = [(name, holds) for _, name, *_, holds in form.get("relations", ())]
    return sorted(attributes), sorted(objects), sorted(relations)


def _codes(values: Sequence[Any]) -> np.ndarray:
    """A code (t,) of each of t values; equal for equal values."""
    code_of: dict[str, int] = {}
    codes = [code_of.setdefault(repr(value), len(code_of)) for value in values]
    return np.array(codes, dtype=int)
