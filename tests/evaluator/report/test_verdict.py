"""The verdict on a run: every kind of the closed list, with the rows that lead to it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.analysis.pooling import pool_runs
from evaluator.protocols.errors import BY_ATOM, BY_FAMILIARITY
from evaluator.protocols.items import ASYMMETRIC
from evaluator.report import verdict
from evaluator.report.verdict import KINDS, Verdict, headline, judge, other_verdicts
from tests.evaluator.analysis.test_pooling import made_run
from tests.evaluator.report.conftest import GAP, ROW
from tests.evaluator.synthetic import Row

SEEN: Row = {"value": 0.9, "low": 0.85, "high": 0.95}
UNSEEN: Row = {"split": "unseen", "value": 0.6, "low": 0.5, "high": 0.7}
NO_GAP: Row = {"value": 0.01, "low": -0.02, "high": 0.03}


def gap(value: float, low: float | None, high: float | None, **more: object) -> Row:
    return {**GAP, "value": value, "low": low, "high": high, **more}


def entry_of(*rows: Row, model: str = "m", **changes: object) -> Row:
    """A pooled entry with these rows; by default of a benchmark that holds something out."""
    run = {
        **made_run(model=model),
        "held_out": "gray cube",
        "rows": [{**ROW, **row} for row in rows],
        **changes,
    }
    (entry,) = pool_runs([run])
    return entry


def plain(sentence: str) -> str:
    return sentence.replace("\N{NO-BREAK SPACE}", " ")


CONTAMINATED = {
    "status": "contaminated",
    "sentence": "CONTAMINATED: 9 of 9 held-out bindings were in training.",
}
CLEAN = {"status": "clean", "sentence": "None of the 9 held-out bindings were in training."}
OF = "accuracy (binary) of m"
CLAIM = "(95%, this vocabulary)"
FROM_TO = "from 90.0% on seen to 60.0% on unseen combinations"
ROTATION = "docs/splits.md#rotation"
CASES: dict[str, tuple[str, Row, str]] = {
    "no rows": (verdict.NOT_MEASURED, entry_of(), "No conclusion: no question was scored."),
    "no scores": (
        verdict.NOT_MEASURED,
        entry_of({"value": None}),
        "No conclusion: no question was scored.",
    ),
    "contaminated": (
        verdict.CONTAMINATED_MODEL,
        entry_of(SEEN, UNSEEN, gap(0.3, 0.2, 0.4), training=CONTAMINATED),
        "No conclusion about composing. CONTAMINATED: 9 of 9 held-out bindings were in training. "
        f"{OF} is 90.0% on seen and 60.0% on unseen.",
    ),
    "a published benchmark": (
        verdict.NOTHING_HELD_OUT,
        entry_of({**SEEN, "split": "full"}, held_out=""),
        f"{OF} is 90.0% [85.0, 95.0] {CLAIM}: no conclusion about composing, because the benchmark "
        "holds nothing out of training.",
    ),
    "class lists": (
        verdict.OTHER_SPLITS,
        entry_of({**SEEN, "split": "id_test"}),
        f"{OF} is 90.0% [85.0, 95.0] {CLAIM} on id_test: no conclusion about composing, because no "
        "question about seen and unseen combinations was scored.",
    ),
    "only seen asked": (
        verdict.ONLY_SEEN,
        entry_of(SEEN),
        f"{OF} is 90.0% [85.0, 95.0] {CLAIM} on seen combinations: no conclusion about composing, "
        "because no question about unseen combinations was scored.",
    ),
    "only unseen asked": (
        verdict.ONLY_UNSEEN,
        entry_of(UNSEEN),
        f"{OF} is 60.0% [50.0, 70.0] {CLAIM} on unseen combinations: whether this is a fall is "
        f"open, "
        "because no question about seen combinations was scored.",
    ),
    "different ceilings": (
        verdict.DIFFERENT_CEILINGS,
        entry_of(
            {**SEEN, "ceiling": 1.0}, {**UNSEEN, "ceiling": 0.7}, gap(0.3, 0.2, 0.4, ceiling=0.3)
        ),
        f"{OF} is 90.0% on seen and 60.0% on unseen combinations: no conclusion about composing, "
        "because an oracle reaches 100.0% and 70.0%.",
    ),
    "chance within the interval of seen": (
        verdict.AT_CHANCE,
        entry_of({"value": 0.55, "low": 0.5, "high": 0.6}, UNSEEN, gap(0.3, 0.2, 0.4)),
        f"{OF} is at chance on seen combinations, 55.0% [50.0, 60.0] {CLAIM} where chance is "
        f"50.0%: "
        "no conclusion about composing.",
    ),
    "seen below chance": (
        verdict.AT_CHANCE,
        entry_of({"value": 0.3, "low": 0.2, "high": 0.4}, UNSEEN, gap(-0.3, -0.4, -0.2)),
        f"{OF} is at chance on seen combinations, 30.0% [20.0, 40.0] {CLAIM} where chance is "
        f"50.0%: "
        "no conclusion about composing.",
    ),
    "a fall": (
        verdict.FALLS,
        entry_of(SEEN, UNSEEN, gap(0.3, 0.2, 0.4)),
        f"{OF} falls {FROM_TO} by 30.0 points [+20.0, +40.0] {CLAIM}.",
    ),
    "a rise": (
        verdict.RISES,
        entry_of(SEEN, UNSEEN, gap(-0.3, -0.4, -0.2), training=CLEAN),
        f"{OF} does not fall: it rises {FROM_TO} by 30.0 points [+20.0, +40.0] {CLAIM}.",
    ),
    "a small upper end": (
        verdict.DOES_NOT_FALL,
        entry_of(SEEN, UNSEEN, gap(**NO_GAP), training=CLEAN),
        f"{OF} does not fall by more than 3.0 points {FROM_TO}; the difference is +1.0 [-2.0, "
        f"+3.0] {CLAIM}.",
    ),
    "no fall of a model of unknown training": (
        verdict.DOES_NOT_FALL,
        entry_of(SEEN, UNSEEN, gap(**NO_GAP)),
        f"{OF} does not fall by more than 3.0 points {FROM_TO}; the difference is +1.0 [-2.0, "
        f"+3.0] {CLAIM}. Its training is unknown, so it may have seen the held-out combinations.",
    ),
    "an open gap": (
        verdict.OPEN,
        entry_of(SEEN, UNSEEN, gap(0.05, -0.1, 0.2)),
        f"{OF} is 90.0% on seen and 60.0% on unseen combinations: open, ±15.0 points [-10.0, "
        f"+20.0] {CLAIM}; use a rotation or more blocks ({ROTATION}).",
    ),
    "a gap without an interval": (
        verdict.OPEN,
        entry_of(SEEN, UNSEEN, gap(0.05, None, None)),
        f"{OF} is 90.0% on seen and 60.0% on unseen combinations: open, because the difference has "
        f"no interval; use a rotation or more blocks ({ROTATION}).",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_kind_has_its_sentence(case: str) -> None:
    kind, entry, sentence = CASES[case]
    verdict_ = judge(entry)
    assert (verdict_.kind, plain(verdict_.sentence)) == (kind, sentence)


def test_the_list_is_closed_and_each_kind_is_tested() -> None:
    assert {kind for kind, _, _ in CASES.values()} == set(KINDS)
    assert len(set(KINDS)) == len(KINDS)


SHARES = st.floats(0, 1)
ENDS = st.one_of(st.none(), st.tuples(SHARES, SHARES).map(sorted))
GAP_ENDS = st.one_of(st.none(), st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(sorted))


@given(ENDS, ENDS, GAP_ENDS, st.sampled_from([0.0, 1 / 7392, 0.5, None]))
def test_any_rows_have_one_verdict_of_the_list_and_one_alone(
    seen: list[float] | None,
    unseen: list[float] | None,
    ends: list[float] | None,
    chance: float | None,
) -> None:
    rows = [
        {"value": 0.4, "low": low, "high": high, "chance": chance, "split": split}
        for split, (low, high) in (
            ("seen", seen or (None, None)),
            ("unseen", unseen or (None, None)),
        )
    ]
    verdict_ = judge(entry_of(*rows, gap(0.1, *(ends or (None, None)))))
    assert isinstance(verdict_, Verdict)
    assert verdict_.kind in KINDS
    assert verdict_.sentence.endswith(".")
    assert (verdict_.kind == verdict.AT_CHANCE) == (
        seen is not None and chance is not None and seen[0] <= chance
    )
    if verdict_.kind == verdict.FALLS:
        assert ends is not None
        assert ends[0] > 0
    if verdict_.kind == verdict.DOES_NOT_FALL:
        assert ends is not None
        assert ends[1] <= verdict.SMALL_FALL * (0.4 - (chance or 0))


def test_a_small_fall_is_a_tenth_of_the_skill_on_seen() -> None:
    for high, kind in ((0.0399, verdict.DOES_NOT_FALL), (0.0401, verdict.OPEN)):
        assert (
            judge(entry_of(SEEN, UNSEEN, gap(0.01, -0.02, high))).kind == kind
        )  # (0.9 - 0.5) / 10


def test_pooled_blocks_are_told_to_add_more() -> None:
    entry = {**entry_of(SEEN, UNSEEN, gap(0.05, -0.1, 0.2)), "blocks": 3}
    assert f"use more blocks or trainings ({ROTATION})" in judge(entry).sentence


def test_another_question_is_taken_where_retrieval_is_at_the_floor() -> None:
    of = {
        "protocol": "retrieval",
        "metric": "R@1",
        "value": 0.0,
        "low": 0.0,
        "high": 0.01,
        "chance": 0.0003,
    }
    floor: tuple[Row, ...] = (of, {**of, "split": "unseen"}, {**of, **gap(0.0, -0.01, 0.01)})
    assert judge(entry_of(*floor)).kind == verdict.AT_CHANCE
    assert plain(judge(entry_of(*floor)).sentence).startswith(
        "R@1 (retrieval) of m is at chance on seen"
    )
    both = judge(entry_of(*floor, SEEN, UNSEEN, gap(0.3, 0.2, 0.4)))
    assert (both.kind, both.sentence[: len(OF)]) == (verdict.FALLS, OF)


def test_retrieval_comes_first_where_it_can_answer() -> None:
    of = {"protocol": "retrieval", "metric": "R@1", "chance": 0.001}
    rows = (
        SEEN,
        UNSEEN,
        gap(0.3, 0.2, 0.4),
        {**SEEN, **of},
        {**UNSEEN, **of},
        {**gap(0.3, 0.2, 0.4), **of},
    )
    assert judge(entry_of(*rows)).sentence.startswith("R@1 (retrieval) of m falls")


ERROR = {"is_main": False, "split": "unseen", "chance": 0.5}


def test_the_second_sentence_says_only_what_random_texts_would_not_do() -> None:
    rows = (SEEN, UNSEEN, gap(0.3, 0.2, 0.4))
    fall = headline([entry_of(*rows)])
    more_familiar = {
        **ERROR,
        "metric": BY_FAMILIARITY,
        "error": "more familiar",
        "value": 0.94,
        "high": 0.97,
    }
    known = headline([entry_of(*rows, {**more_familiar, "low": 0.9})])
    assert plain(known.removeprefix(fall)) == (
        f" 94.0% [90.0, 97.0] {CLAIM} of its wrong answers on unseen combinations name a text that "
        f"is more familiar "
        "from training than the true one (random texts: 50.0%)."
    )
    assert headline([entry_of(*rows, {**more_familiar, "low": 0.5})]) == fall
    assert headline([entry_of(*rows, {**more_familiar, "low": None})]) == fall


def test_the_second_sentence_names_the_atoms_that_are_wrong_most_beyond_chance() -> None:
    of = {**ERROR, "metric": BY_ATOM, "low": 0.6, "high": 0.9}
    errors = (
        {**of, "error": "object", "value": 0.7},
        {**of, "error": "attribute and object", "value": 0.8},
    )
    text = headline([entry_of(SEEN, UNSEEN, gap(0.3, 0.2, 0.4), *errors)])
    assert "80.0% [60.0, 90.0]" in plain(text)
    assert "name a wrong attribute and a wrong object" in text
    open_ = headline([entry_of(SEEN, UNSEEN, gap(0.05, -0.1, 0.2), *errors)])
    assert "wrong answers" not in open_  # there is no fall to explain


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (0.59996, "On unseen combinations m is level with n."),
        (
            0.55,
            "On unseen combinations m leads n by 5.0 points (their intervals overlap; `score "
            "compare` tests",
        ),
        (0.1, "On unseen combinations m leads n by 50.0 points."),
    ],
)
def test_two_models_are_told_against_each_other(other: float, message: str) -> None:
    fall = gap(0.3, 0.2, 0.4)
    second = entry_of(SEEN, {**UNSEEN, "value": other, "high": other + 0.05}, fall, model="n")
    best = entry_of(SEEN, UNSEEN, fall)
    text = headline([second, best])
    assert message in text
    assert text.startswith(OF)
    assert [plain(sentence)[: len(OF)] for sentence in other_verdicts([second, best])] == [
        OF.replace(" m", " n")
    ]


def test_what_familiarity_gains_is_said_only_beyond_chance() -> None:
    splits = [{**SEEN, "split": split} for split in ("seen", "unseen", *ASYMMETRIC)]
    tax = {"split": ASYMMETRIC[0], "minus": ASYMMETRIC[1], "is_gap": True, "unit": "difference"}
    tax |= {"value": -0.1234, "low": -0.2, "high": -0.05}
    fall = gap(0.3, 0.2, 0.4)
    assert ": -12.3 points [-20.0, -5.0]" in plain(headline([entry_of(*splits, fall, tax)]))
    assert "training shows only" not in headline([entry_of(*splits, fall, {**tax, "high": 0.05})])


def test_every_interval_names_its_claim() -> None:
    blocks = {**SEEN, "population": "groups like these; the bindings are not known; this model"}
    assert "(95%, groups like these)" in judge(entry_of(blocks)).sentence
    for _, entry, _ in CASES.values():
        sentence = plain(judge(entry).sentence)
        assert len(re.findall(r"\[[^]]*\]", sentence)) == sentence.count(CLAIM)
