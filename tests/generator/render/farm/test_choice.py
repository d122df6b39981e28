import pytest

from generator.render.farm import choice
from generator.render.farm.choice import Farm
from generator.render.farm.local import Limits
from generator.scene.planned import Planned

JOBS = [Planned(f"{i:06d}", "a|b", (), (), "studio") for i in range(3)]


def test_no_more_workers_are_started_than_there_are_scenes(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr(
        choice, "render_scenes", lambda jobs, setup, workers, limits: started.append(workers) or iter(())
    )
    assert list(Farm(8).render(JOBS, len(JOBS), {}, Limits())) == []
    assert list(Farm(2).render(JOBS, len(JOBS), {}, Limits())) == []
    assert started == [3, 2]


def test_no_cluster_is_joined_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "render_scenes", lambda *arguments: iter(()))
    assert list(Farm(2, ray=True, address="10.0.0.1:1").render([], 0, {}, Limits())) == []
