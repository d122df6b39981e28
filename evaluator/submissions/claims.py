"""The numbers that a sender computed, and whether they follow from the scores."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator.analysis.pooling import POOLED_BY
from evaluator.submissions.records import ClaimedRow, Claims
from generator.base.errors import UserError

_TOLERANCE = 1e-4
"""Largest difference of a claimed value: a hundredth of a point. Other versions of NumPy sum in
another order, which moves the sixth digit."""


def claims_of(rows: Sequence[Mapping[str, Any]], labels: Sequence[str] = POOLED_BY) -> Claims:
    """Take the numbers of results that a submission claims.

    Args:
        rows: The rows of the results of a run.
        labels: The columns that tell rows apart.

    Returns:
        The value and the number of items of every row. Intervals are left out: a new version may
        compute them better.
    """
    claimed = []
    for row in rows:
        own_labels = [row.get(name) for name in labels]
        claimed.append(ClaimedRow(labels=own_labels, value=row["value"], items=_items_of(row)))
    return Claims(rows=claimed)


def check_claims(
    name: str,
    claims: Claims,
    *,
    rows: Sequence[Mapping[str, Any]],
    path: Path,
    labels: Sequence[str] = POOLED_BY,
) -> None:
    """Check that claimed numbers follow from the scores.

    Args:
        name: The submission, for messages.
        claims: What its sender claims.
        rows: The rows that were computed from its scores.
        path: The file of the claims, for messages.
        labels: The columns that tell rows apart.

    Raises:
        UserError: A claimed row has another value than its scores give, or no row.
    """
    computed_rows = {}
    for computed in rows:
        values = tuple(computed.get(label) for label in labels)
        computed_rows[values] = computed
    for claim in claims["rows"]:
        row = computed_rows.get(tuple(claim["labels"]))
        words = _words_of(claim, labels)
        if row is None:
            raise UserError(f"{name} claims {words}, which its scores do not give ({path.name}).")
        if not _is_same(claim["value"], row["value"]):
            raise UserError(
                f"{name} claims {words} of {_number(claim['value'])}, and its scores give "
                f"{_number(row['value'])}."
            )
        # A value over fewer items would be another result, even if it is equal.
        if claim["items"] != _items_of(row):
            raise UserError(
                f"{name} claims {words} over {claim['items']:,} items, and its scores have "
                f"{_items_of(row):,}."
            )


def _items_of(row: Mapping[str, Any]) -> int:
    """The number of items of a row; of descriptions that of images."""
    return int(row["images"] if "images" in row else row["items"])


def _words_of(claim: ClaimedRow, labels: Sequence[str]) -> str:
    """The row of a claim in words."""
    # Not strict: labels of a file may be too few, and then no row has them.
    label_of = dict(zip(labels, claim["labels"], strict=False))
    named = ("protocol", "metric", "measure", "kind", "skill", "split")
    names = [label_of.get(name) for name in named]
    return " ".join(str(name) for name in names if name)


def _is_same(claimed: float | None, computed: float | None) -> bool:
    """Whether two values agree but for rounding."""
    if claimed is None or computed is None:
        return claimed is computed
    # Shares stay below 1; the half point of a ladder may be larger.
    scale = max(1.0, abs(computed))
    return abs(claimed - computed) <= _TOLERANCE * scale


def _number(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.4f}"
