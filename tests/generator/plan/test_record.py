import json
from dataclasses import asdict

from generator.scene.exchange import Exchange
from generator.scene.planned import Planned, scene_id


def test_a_planned_scene_goes_through_json() -> None:
    planned = Planned(
        scene_id(7),
        "blue+red|cone+cube",
        (("cube", {"color": "red"}), ("cone", {"color": "blue"})),
        (1, 0),
        "studio",
        (None, 0),
        (0, 0),
        Exchange("color", 0, 1),
        scene_id(6),
        2,
        "seen",
        (1, 0),
    )
    assert Planned.from_dict(json.loads(json.dumps(asdict(planned)))) == planned
    recorded = Planned("000001", "", (), (), "", record="{}")
    assert Planned.from_dict(json.loads(json.dumps(asdict(recorded)))) == recorded


def test_ids_of_scenes_sort_as_their_numbers() -> None:
    assert [scene_id(n) for n in (0, 42, 999_999)] == ["000000", "000042", "999999"]
