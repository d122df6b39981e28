"""The integration gap: the same facts of the same images, composed in a description against asked
one by one (docs/descriptions.md, "One fact at a time")."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evaluator.descriptions.facts import UNREAD, answer_of_description
from evaluator.protocols.items import split_rank
from evaluator.protocols.records import rounded
from evaluator.runs.answered_attributes import AttributesRun
from evaluator.runs.described import DescribedRun, clusters_of_lines
from evaluator.statistics.difference import model_difference
from evaluator.statistics.intervals import claim_of, describe_population
from generator.base.errors import UserError
from generator.dataset.descriptions.judging import Verdict

ALL_SPLITS = "all"
"""The split of rows over all images."""
_VALUES_RIGHT = "values right"
"""The measure of the main sentence."""
_MEASURES: Mapping[str, Verdict | str] = {
    _VALUES_RIGHT: Verdict.RIGHT,
    "values exchanged": Verdict.EXCHANGED,
    "values invented": Verdict.INVENTED,
    "values not answered": UNREAD,
}
"""{measure: the verdict that it counts}."""
_HELD_OUT, _SEEN = "held-out values right", "seen values right"
"""The measures of values of bindings under test: of held-out and of seen ones."""
FactLine = Mapping[str, Any]
"""A line of attributes.jsonl."""


def integration_rows(described: DescribedRun, attributes: AttributesRun) -> list[dict[str, Any]]:
    """Compare the answers to the same questions: of descriptions, and to the questions themselves.

    A description answers a question if exactly one of its objects fits what the question names the
    object by, and has a value of the kind.

    Args:
        described: A run of descriptions.
        attributes: A run of attributes of the same images.

    Returns:
        Rows as JSON data, over all images and by split: `split`, `measure`, `composed` and
        `decomposed` (means over images of each image's share of facts, 0..1), `difference`
        (composed − decomposed) with `low`, `high` and `p`, `facts`, `images`, and `population`.

    Raises:
        UserError: The runs are of different worlds, or have no image in common.
    """
    for name in ("world", "benchmark"):
        if described.record[name] != attributes.record[name]:
            raise UserError(
                f"{described.folder} and {attributes.folder} ask about images of another {name}; "
                f"give runs over one dataset."
            )
    line_of = {line["scene_id"]: line for line in described.judged_lines}
    facts_of_scene: dict[str, list[FactLine]] = {}
    for fact in attributes.lines:
        if fact["verdict"] is not None and fact["scene_id"] in line_of:
            facts_of_scene.setdefault(fact["scene_id"], []).append(fact)
    if not facts_of_scene:
        raise UserError(
            f"{described.folder} and {attributes.folder} have no image in common; ask about the "
            f"same images."
        )
    verdicts = {
        scene: _verdicts_of(line_of[scene], facts, attributes.record["category_word"])
        for scene, facts in facts_of_scene.items()
    }
    scenes_of_split: dict[str, list[str]] = {ALL_SPLITS: list(facts_of_scene)}
    for scene in facts_of_scene:
        split = str(line_of[scene]["split"])
        scenes_of_split.setdefault(split, []).append(scene)
    splits = sorted(scenes_of_split, key=lambda split: (split != ALL_SPLITS, split_rank(split)))
    rows = []
    for split in splits:
        scenes = scenes_of_split[split]
        for measure in (*_MEASURES, _HELD_OUT, _SEEN):
            counts = [_count(measure, facts_of_scene[scene], verdicts[scene]) for scene in scenes]
            lines = [line_of[scene] for scene in scenes]
            rows += _row_of(measure, split, counts=np.array(counts, dtype=float), lines=lines)
    return rows


def _verdicts_of(
    line: Mapping[str, Any], facts: Sequence[FactLine], category_word: str
) -> list[str]:
    """The verdict of a description on each fact."""
    verdicts = []
    for fact in facts:
        features = [(name, value) for name, value in fact["features"]]
        value = answer_of_description(features, fact["kind"], line["described"], category_word)
        verdicts.append(_judge(value, fact, line=line, category_word=category_word))
    return verdicts


def _judge(
    value: str | None, fact: FactLine, *, line: Mapping[str, Any], category_word: str
) -> str:
    if value is None:
        return UNREAD
    if value == fact["value"]:
        return Verdict.RIGHT.value
    key = "category" if fact["kind"] == category_word else fact["kind"]
    in_image = any(actual.get(key) == value for actual in line["objects"])
    return (Verdict.EXCHANGED if in_image else Verdict.INVENTED).value


def _count(
    measure: str, facts: Sequence[FactLine], composed: Sequence[str]
) -> tuple[int, int, int]:
    """Facts of an image that the description has, that the answers have, and of how many."""
    verdict = _MEASURES.get(measure, Verdict.RIGHT)
    n_composed = 0
    n_decomposed = 0
    n_facts = 0
    for fact, own in zip(facts, composed, strict=True):
        # `is not`: a fact that is not a binding is neither held out nor seen.
        if measure in (_HELD_OUT, _SEEN) and fact["held_out"] is not (measure == _HELD_OUT):
            continue
        n_facts += 1
        n_composed += own == verdict
        n_decomposed += fact["verdict"] == verdict
    return n_composed, n_decomposed, n_facts


def _row_of(
    measure: str, split: str, *, counts: np.ndarray, lines: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """The row of a measure; none without facts. counts: (images, 3) of `_count`."""
    defined = counts[:, 2] > 0
    if not defined.any():
        return []
    composed = counts[defined, 0] / counts[defined, 2]
    decomposed = counts[defined, 1] / counts[defined, 2]
    clusters = clusters_of_lines([lines[i] for i in np.flatnonzero(defined)])
    # One block, in which each form has one run.
    difference = model_difference([(composed[None], decomposed[None])], clusters)
    return [
        {
            "split": split,
            "measure": measure,
            "composed": rounded(float(composed.mean())),
            "decomposed": rounded(float(decomposed.mean())),
            "difference": rounded(difference.value),
            "low": rounded(difference.low),
            "high": rounded(difference.high),
            "p": 1.0 if np.isnan(difference.p) else difference.p,
            "facts": int(counts[:, 2].sum()),
            "images": int(defined.sum()),
            "population": describe_population(clusters),
        }
    ]


def integration_sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say the integration gap in a sentence.

    Args:
        rows: From `integration_rows`.

    Returns:
        The sentence.
    """
    (row,) = [row for row in rows if row["split"] == ALL_SPLITS and row["measure"] == _VALUES_RIGHT]
    interval = ""
    if row["low"] is not None:
        claim = claim_of(row["population"])
        ends = f"{100 * row['low']:+.1f} to {100 * row['high']:+.1f}"
        interval = f", 95% interval {ends} about {claim}"
    return (
        f"Of the same {row['facts']:,} facts of {row['images']:,} images, "
        f"{100 * row['composed']:.1f}% are right in the descriptions and "
        f"{100 * row['decomposed']:.1f}% when they are asked one by one "
        f"({100 * row['difference']:+.1f} points{interval})."
    )
