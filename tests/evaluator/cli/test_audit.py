"""The table of `score audit` for people."""

from typing import Any

import pytest

from evaluator.audits.audit import CLEAN, HACKABLE
from evaluator.cli.audit import print_audit


def _kind(name: str, verdict: str) -> dict[str, Any]:
    side = {"r": 0.25}
    return {
        "name": name,
        "sampled": 1200,
        "clusters": 30,
        "length": {"words": side},
        "perplexity": {"r": None},
        "difference": {"jaccard": 0.875},
        "similarity": {"above": 0.1},
        "blind": {
            "value": 0.625,
            "low": 0.5,
            "high": 0.75,
            "verdict": verdict,
            "examples": [{"true": "a [red] cube", "false": "a cube"}],
            "give_aways": [{"feature": "red", "in_truth": 0.9, "pairs": 1100}],
        },
    }


def test_kinds_give_aways_and_the_sentence_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = [_kind("binary/swap", HACKABLE), _kind("binary/flip", CLEAN)]
    print_audit(
        {
            "benchmark": "b",
            "sentence_encoder": None,
            "kinds": kinds,
            "levels": [],
            "hackable": ["binary/swap"],
            "sentence": "All is said [here].",
        }
    )
    printed = capsys.readouterr().out
    for part in (
        "b: what a text-only model can tell",
        "1,200",
        "+0.25",
        "87.5",
        "62.5",
        "50.0 – 75.0",
        "true: a [red] cube",
    ):
        assert part in printed, part
    assert "binary/swap is given away by 'red' (more in the truth in 90% of 1,100 pairs)" in printed
    assert "binary/flip is given away" not in printed
    assert "similar %" not in printed
    assert printed.rstrip().endswith("All is said [here].")
    print_audit(
        {"benchmark": "b", "sentence_encoder": {}, "kinds": kinds, "levels": [], "hackable": [], "sentence": "."}
    )
    printed = capsys.readouterr().out
    assert "similar %" in printed
    assert "10.0" in printed
