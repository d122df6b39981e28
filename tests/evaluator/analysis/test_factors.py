"""What tells runs apart: seeds are no part of a design, everything else that was asked for is."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evaluator.protocols.records import FactorsRecord
from evaluator.runs.factors import factors_of
from evaluator.runs.folder import Run
from generator.cli.main import main as gen
from generator.dataset.reader import Dataset

RULES = {"level": 0.95}


def _factors(
    dataset: Path, name: str | None = None, request: Any = None, **info: object
) -> FactorsRecord:
    opened = Dataset.open(dataset)
    opened.world.manifest["request"] |= request or {}
    benchmark = opened.benchmark(name)
    record = {
        "model": "spec:x",
        "info": info,
        "benchmark": benchmark.digest,
        "world": opened.world.digest,
    }
    return factors_of(Run(dataset, record, opened.world, benchmark), "cosine", RULES)


def _split(dataset: Path, *arguments: str) -> None:
    done = CliRunner().invoke(gen, ["split", str(dataset), *arguments])
    assert done.exit_code == 0, done.output


@pytest.fixture
def several(drawn_copy: Path) -> Path:
    """A world with blocks 0, 1 and 2 of 3x3, and one of 2x3."""
    _split(drawn_copy, "--holdout", "3x3", "--block-seed", "1,2")
    _split(drawn_copy, "--holdout", "2x3", "--name", "smaller")
    return drawn_copy


def test_block_seeds_share_a_design_and_differ_in_the_block(several: Path) -> None:
    factors = [_factors(several, f"color-shape-3x3-b{seed}") for seed in range(3)]
    assert factors[0]["design"] == factors[1]["design"] == factors[2]["design"]
    assert (
        len({of_block["block"] for of_block in factors})
        == len({of_block["benchmark"] for of_block in factors})
        == 3
    )
    assert [of_block["block_seed"] for of_block in factors] == [0, 1, 2]


@pytest.mark.parametrize(
    ("base", "named"),
    [
        (
            {"model": "jackalope:/a/folder", "weights_sha256": "0123456789ab"},
            "jackalope:labclip of jackalope:01234567",
        ),
        (
            {"model": "open_clip:RN50@openai", "weights_sha256": "01"},
            "jackalope:labclip of open_clip:RN50@openai",
        ),
        (None, "jackalope:labclip"),
    ],
)
def test_a_base_of_ours_is_known_by_its_weights(
    drawn: Path, base: dict[str, str] | None, named: str
) -> None:
    """A folder may be moved or copied, and another model may stand in its place."""
    assert (
        _factors(drawn, trained_on={"method": "labclip", "recipe": {"seed": 1}, "base": base})[
            "model"
        ]
        == named
    )


def test_how_the_scenes_that_were_asked_for_are_shared_is_no_part_of_a_design(drawn: Path) -> None:
    """Class lists of other block seeds have other numbers of labels, and so of scenes."""

    def design(scenes: int, scenes_asked: str | None) -> dict[str, object]:
        return _factors(drawn, request={"scenes": {"train": scenes}, "scenes_asked": scenes_asked})[
            "design"
        ]

    assert design(81, "4000") == design(82, "4000")
    assert design(81, "4000") != design(81, "6000")
    assert design(81, None) == design(82, None) != design(81, "4000")


def test_another_block_size_is_another_design(several: Path) -> None:
    assert (
        _factors(several, "smaller")["design"] != _factors(several, "color-shape-3x3-b0")["design"]
    )


def test_a_trained_model_is_its_method_and_recipe_without_the_seed(drawn: Path) -> None:
    factors = _factors(
        drawn, trained_on={"name": "b", "method": "scratch", "recipe": {"epochs": 3, "seed": 7}}
    )
    assert (factors["model"], factors["training_seed"]) == ("jackalope:scratch", 7)
    assert factors["treatment"] == {"epochs": 3, "channel": "cosine", "training": "unknown"}


def test_another_model_is_its_spec_and_the_rules_of_measuring_are_part_of_the_design(
    drawn: Path,
) -> None:
    factors = _factors(drawn)
    assert (factors["model"], factors["training_seed"], factors["design"]["level"]) == (
        "spec:x",
        None,
        0.95,
    )
