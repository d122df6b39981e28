import pytest

from generator.base.errors import UserError
from generator.render.farm.attempts import Attempts, given_up
from generator.scene.planned import Planned


def scene(number: int) -> Planned:
    return Planned(f"{number:06d}", "a|b", (), (), "studio")


def test_scenes_are_taken_in_order_and_put_back_first() -> None:
    attempts = Attempts(scene(i) for i in range(2))
    assert attempts.waiting()
    first = attempts.take()
    attempts.put_back(first)
    assert attempts.waiting()
    assert attempts.take() == first
    assert attempts.waiting()
    assert attempts.take() == scene(1)
    assert not attempts.waiting()


def test_a_scene_that_fails_twice_is_given_up() -> None:
    attempts = Attempts([scene(0)])
    assert attempts.waiting()
    job = attempts.take()
    assert attempts.failed(job, "broken") == []
    assert attempts.waiting()
    assert attempts.failed(attempts.take(), "broken again") == [given_up(job, "broken again")]
    assert not attempts.waiting()


def test_a_kill_from_outside_is_forgiven_more_often_than_a_failure() -> None:
    attempts, job, kills = Attempts([]), scene(0), 0
    while not attempts.killed(job, "killed"):
        kills += 1
        assert attempts.waiting()
        attempts.take()
    assert kills > 2


def test_workers_that_never_start_end_the_rendering_unless_one_starts() -> None:
    attempts = Attempts([])
    attempts.not_started(False, "no Blender")
    attempts.started()
    attempts.not_started(False, "no Blender")
    with pytest.raises(UserError, match="Rendering cannot start: no Blender"):
        attempts.not_started(False, "no Blender")


def test_an_answer_for_a_scene_that_is_given_up_names_it() -> None:
    assert given_up(scene(3), "why") == {"scene_id": "000003", "cluster_id": "a|b", "twin_of": None, "failed": "why"}
