"""`gen count`: the counts of a benchmark as tables or as JSON."""

import json
from pathlib import Path

from tests.conftest import succeed


def test_counts_are_printed_and_unseen_compounds_are_in_no_training_caption(rendered: Path) -> None:
    counts = json.loads(succeed("gen count --json", rendered).stdout)
    names = {row["split"]: row for row in counts["names"] if row["protocol"] in ("train", "binary")}
    assert (
        names["seen"]["compounds_not_in_training"] < 0.1 * names["seen"]["compounds"]
    )  # few scenes train here
    assert 0 < names["unseen"]["compounds_not_in_training"] == names["unseen"]["compounds"] <= 9
    assert names["unseen"]["atoms_not_in_training"] == 0
    lines = succeed("gen count", rendered).stdout.splitlines()
    assert lines[0] == counts["benchmark"]
    assert lines[1].split() == [
        "protocol",
        "kind",
        "split",
        "items",
        "captions",
        "false",
        "texts",
        "set",
        "size",
    ]
    (unseen,) = [
        line.split()
        for line in lines
        if line.split()[:2] == ["binary", "unseen"] and len(line.split()) == 7
    ]
    numbers = (
        "captions",
        "atoms",
        "atoms_not_in_training",
        "compounds",
        "compounds_not_in_training",
    )
    assert unseen[2:] == [str(names["unseen"][number]) for number in numbers]
