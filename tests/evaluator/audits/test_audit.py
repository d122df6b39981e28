"""What a text-only model can tell: planted artefacts are found, clean benchmarks are not accused,
and every number checked."""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluator.audits.audit import CLEAN, HACKABLE, decide
from tests.conftest import run_command, run_process
from tests.evaluator.audits.benchmarks import COLOURS, SHAPES, audited, only, pair, swaps, write
from tests.evaluator.conftest import assert_one_sentence, score_command


def test_a_word_that_only_negatives_have_is_found_and_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    entries = []
    for true, false, cluster in swaps(200):
        is_revealed = rng.random() < 0.4
        entries.append(
            pair(true + " here", false + (" there" if is_revealed else " here"), cluster=cluster)
        )
    results = audited(tmp_path, entries)
    kind = only(results)
    assert kind["blind"]["verdict"] == "hackable"
    features = {feature["feature"]: feature for feature in kind["blind"]["give_aways"]}
    assert (features["there"]["in_truth"], features["here"]["in_truth"]) == (0, 1)
    assert features["there"]["weight"] < 0 < features["here"]["weight"]
    assert len(kind["blind"]["examples"]) == 3
    assert all(example["false"].endswith(" there") for example in kind["blind"]["examples"])
    assert results["hackable"] == ["binary/swap"]
    assert results["sentence"].startswith("Hackable without looking at the image: binary/swap (")


def test_the_order_of_the_same_words_is_found(tmp_path: Path) -> None:
    entries = [
        pair(f"the {x} is {side} of the {y}", f"the {y} is {side} of the {x}", cluster=x + y)
        for x, y in itertools.combinations(SHAPES, 2)
        for side in ("in front", "on top", "ahead")
    ]
    kind = only(audited(tmp_path, entries))
    assert (kind["difference"]["jaccard"], kind["difference"]["ngrams"]["1"]) == (1, 0)
    assert kind["difference"]["ngrams"]["2"] > 0
    assert (kind["length"]["words"]["r"], kind["length"]["characters"]["lower"]) == (0, 0.5)
    assert kind["blind"]["verdict"] == "hackable"
    assert kind["blind"]["value"] > 0.8


@pytest.mark.full
def test_a_length_that_is_right_in_the_middle_is_found(tmp_path: Path) -> None:
    """Negatives are longer or shorter by chance: no weight of a length can tell, trees can."""
    rng = np.random.default_rng(2)
    entries = []
    for i in range(600):
        true, longer, shorter = (
            " ".join(f"w{rng.integers(10**6)}" for _ in range(n)) for n in (8, 10, 6)
        )
        entries.append(pair(true, longer if rng.random() < 0.5 else shorter, cluster=f"k{i}"))
    blind = only(audited(tmp_path, entries))["blind"]
    assert blind["value"] > 0.95
    assert list(blind["learners"]) == ["trees"]


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(20), marks=pytest.mark.full)])
def test_clean_benchmarks_are_not_accused(tmp_path: Path, seeds: range) -> None:
    accused = 0
    for seed in seeds:
        entries = [pair(true, false, cluster=cluster) for true, false, cluster in swaps(100, seed)]
        accused += bool(audited(tmp_path / str(seed), entries, seed=seed)["hackable"])
    assert accused <= 1


@pytest.mark.full
def test_a_true_text_that_its_cluster_says_often_is_no_give_away(tmp_path: Path) -> None:
    """The trigram leaves a cluster out when it judges it; how much is missing must not tell which
    text is true."""
    rng = np.random.default_rng(3)
    entries = []
    for i in range(600):
        # the true shape of a cluster stands in three items, each false one in one; over clusters
        # every shape is alike
        true, *false = rng.permutation(SHAPES[:4])
        entries += [
            pair(f"There is a {true}.", f"There is a {other}.", cluster=f"c{i}") for other in false
        ]
    kind = only(audited(tmp_path, entries))
    assert kind["blind"]["verdict"] != "hackable"
    assert kind["blind"]["value"] < 0.54


@pytest.mark.full
def test_a_clean_kind_beside_a_hackable_one(tmp_path: Path) -> None:
    entries = [pair(true, false, cluster=cluster) for true, false, cluster in swaps(100)]
    more = {"kind": "negation", "skill": "attribute"}
    entries += [
        pair(true, false + " not", cluster=cluster, **more) for true, false, cluster in swaps(100)
    ]
    entries += [pair(true, false, cluster="one", protocol="few") for true, false, _ in swaps(9)]
    results = audited(tmp_path, entries)
    assert [(kind["name"], kind["blind"]["verdict"]) for kind in results["kinds"]] == [
        ("binary/negation/attribute", "hackable"),
        ("binary/swap", "not above chance"),
        ("few/swap", "fewer than 10 groups"),
    ]
    assert results["sentence"] == (
        "Hackable without looking at the image: binary/negation/attribute (100.0%). Not judged, "
        "because they have too few groups: few/swap."
    )
    clean = audited(tmp_path / "clean", entries[:100])
    assert clean["sentence"] == "No kind is hackable: no blind test is above chance."
    assert (only(clean)["blind"]["give_aways"], only(clean)["blind"]["examples"]) == ([], [])


def test_which_text_is_true_changes_only_signs(tmp_path: Path) -> None:
    """The trigram does not know which texts are true: exchanging true and false turns r over, and
    no more."""
    rows = [(true, f"{false} w{i}", cluster) for i, (true, false, cluster) in enumerate(swaps(80))]
    one = only(
        audited(
            tmp_path / "one", [pair(true, false, cluster=cluster) for true, false, cluster in rows]
        )
    )
    other = only(
        audited(
            tmp_path / "other",
            [pair(false, true, cluster=cluster) for true, false, cluster in rows],
        )
    )
    for a, b in (
        (one["length"]["characters"], other["length"]["characters"]),
        (one["perplexity"], other["perplexity"]),
    ):
        assert (a["true"], a["false"], a["size"]) == (b["false"], b["true"], b["size"])
        assert (a["r"], a["lower"]) == (pytest.approx(-b["r"]), pytest.approx(1 - b["lower"]))
    assert one["blind"]["value"] == other["blind"]["value"] > 0.95
    words = one["length"]["words"]
    assert words == {"r": 1.0, "size": "medium or large", "lower": 1, "true": 7, "false": 8}


def test_a_true_text_at_the_centre_of_its_negatives_is_measured(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    entries = []
    for i in range(40):
        words = rng.choice(COLOURS, 4, replace=False).tolist()
        false = [("n", False, " ".join([*words[:k], "pink", *words[k + 1 :]])) for k in range(4)]
        entries.append({"texts": [("c", True, " ".join(words)), *false], "cluster": f"k{i}"})
    kind = only(audited(tmp_path, entries))
    assert kind["centre"] == {"value": 1.0, "chance": 0.2}
    assert kind["negatives_an_item"] == 4
    assert only(audited(tmp_path / "pairs", [pair("a", "b")]))["centre"] is None


@pytest.mark.full
def test_from_the_shell(tmp_path: Path) -> None:
    entries = [pair(true, false + " [not]", cluster=cluster) for true, false, cluster in swaps(40)]
    root, out = write(tmp_path / "d", entries), tmp_path / "audit.json"
    people = run_command("score", "audit", root, "--out", out)
    assert people.returncode == 0, people.stderr
    lines = people.stdout.strip().splitlines()
    assert lines[0] == "b: what a text-only model can tell"
    assert lines[-1] == "Hackable without looking at the image: binary/swap (100.0%)."
    assert ["binary/swap", "40", str(len({c for *_, c in swaps(40)}))] in [
        line.split()[:3] for line in lines
    ]
    assert any(line.startswith("binary/swap is given away by '") for line in lines)
    assert "[not]" in people.stdout
    assert {"+1.00", "100.0", "hackable"} < set(people.stdout.split())
    assert "similar %" not in people.stdout
    assert people.stderr == f"The audit is in {out}.\n"
    machine = run_process(
        "score", "audit", root, "--json", env={**os.environ, "PYTHONHASHSEED": "1"}
    )
    assert json.loads(machine.stdout) == json.loads(out.read_text()), (
        "it depends on the order of sets"
    )


def test_an_empty_benchmark_is_one_sentence(tmp_path: Path) -> None:
    root = write(tmp_path / "d", [])
    assert_one_sentence(score_command("audit", root), "no evaluation item with a false text")
    assert_one_sentence(
        score_command("audit", root, "--protocol", "binary"),
        "has no items of the protocol 'binary'; it has no",
    )


@pytest.mark.parametrize(
    ("p", "hackable"),
    [
        ([], 0),
        ([0.008, 0.012, 0.024], 3),  # Bonferroni would call one of them hackable
        ([0.008, 0.013, 0.014], 1),  # a rate of false discoveries would allow three
        ([0.009, 0.012, 0.024], 0),
    ],
)
def test_verdicts_are_corrected_for_the_number_of_kinds(p: list[float], hackable: int) -> None:
    """Holm, at 2.5%: the smallest p passes a third of it, the next one a half, the last one all."""
    kinds: list[dict[str, Any]] = [{"blind": {"p": value, "low": 0.6}} for value in p[::-1]]
    decide([*kinds, {"blind": {"p": None, "verdict": "few"}}])
    verdicts = [kind["blind"]["verdict"] for kind in kinds]
    assert verdicts == [CLEAN] * (len(p) - hackable) + [HACKABLE] * hackable


def test_an_interval_that_reaches_chance_is_no_verdict() -> None:
    kind: dict[str, Any] = {
        "blind": {"p": 1e-6, "low": 0.5, "give_aways": ["a"], "examples": ["b"]}
    }
    decide([kind])
    assert (kind["blind"]["verdict"], kind["blind"]["give_aways"], kind["blind"]["examples"]) == (
        CLEAN,
        [],
        [],
    )
