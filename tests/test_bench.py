"""The worlds that `make bench` measures can be made; what it measures takes too long for a test."""

from pathlib import Path

import pytest

from bench import describing, planning, scoring, twins
from bench.vocab import MESHES, VALUES, large_family
from generator.plan.options import WorldOptions
from generator.plan.prepare import prepare
from generator.vocabulary.schema import read_vocabulary


@pytest.mark.parametrize(
    ("family", "scenes", "objects"),
    [
        ("clevr", scoring.SCENES, (2, 2)),
        ("clevr-many", describing.MANY, (3, 10)),
        pytest.param("clevr", describing.SCENES, (2, 2), marks=pytest.mark.full),
        pytest.param("clevr-many", planning.SCENES, (3, 10), marks=pytest.mark.full),
    ],
)
def test_its_worlds_can_be_planned(
    family: str, scenes: dict[str, int], objects: tuple[int, int]
) -> None:
    assert len(
        prepare(
            WorldOptions(
                family=family, holdout="3x3", scenes=scenes, resolution="64x64", objects=objects
            )
        ).planned
    ) == sum(scenes.values())


def test_twins_cost_the_gap_of_accuracy_little_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/splits.md says so: by which twins are the default."""
    monkeypatch.setattr(twins, "DRAWS", 300)
    spread = {
        figure.name.partition(" gap")[0]: figure.values[0]
        for figure in twins.figures()
        if figure.unit == "± points" and " gap " in figure.name
    }
    of = f"preference {twins.PREFERENCE:.3f}, 40% shared: "
    assert spread[f"{of}twins, accuracy,"] < 1.15 * spread[f"{of}alone, accuracy,"]


def test_its_large_family_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "large.toml"
    path.write_text(large_family(), encoding="utf-8")
    vocabulary = read_vocabulary(str(path))
    assert (len(vocabulary.values("color")), len(vocabulary.objects)) == (VALUES, len(MESHES))
