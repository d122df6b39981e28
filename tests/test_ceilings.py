"""docs/ceilings.md: an oracle answers every question that has candidates of its own, on every
preset and design."""

import re
from pathlib import Path

import pytest

from bench.ceilings import Cell, Setup, measure_setup, page, setups
from evaluator.protocols import protocol_names
from generator.describe.request import text_preset_names
from generator.holdout.designs import design_names
from generator.holdout.presets import preset_names

PAGE = Path(__file__).parents[1] / "docs" / "ceilings.md"
QUICK = ("pearson2025", "spare")
"""Setups that the short suite measures too."""
_NUMBER = re.compile(r"\*{0,2}([\d.]+)(?:–([\d.]+))?\*{0,2} / ")


def _sections() -> dict[str, str]:
    """The part of the page below each heading, by heading."""
    parts = re.split(r"^## (.+)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], (text.strip() for text in parts[2::2]), strict=True))


def test_the_page_has_every_preset_design_and_protocol() -> None:
    sections = _sections()
    assert list(sections) == [setup.name for setup in setups()]
    assert {*preset_names(), *text_preset_names()} <= set(sections)
    assert {setup.design for setup in setups()} == set(design_names())
    all_sections = "\n".join(sections.values())
    # Steps are asked of ladders alone, which have no splits; tests of ladders try both models.
    for protocol in set(protocol_names()) - {"steps"}:
        assert f"| {protocol} |" in all_sections, protocol


def test_the_oracle_answers_all_but_raw_retrieval() -> None:
    for name, text in _sections().items():
        for line in text.splitlines()[2:]:
            least = [float(match[0]) for match in _NUMBER.findall(line)]
            assert least, line
            if "| raw R@1, " not in line:
                assert set(least) == {100.0}, f"{name}: {line}"


@pytest.mark.parametrize(
    "setup",
    [
        pytest.param(setup, id=setup.name, marks=() if setup.name in QUICK else pytest.mark.full)
        for setup in setups()
    ],
)
def test_the_page_is_what_is_measured(setup: Setup, tmp_path: Path) -> None:
    cells: list[Cell] = measure_setup(setup, tmp_path / "world")
    _, text = page({setup.name: cells}).split(f"## {setup.name}\n")
    assert text.strip() == _sections()[setup.name], (
        "run `python -m bench.ceilings > docs/ceilings.md`"
    )
