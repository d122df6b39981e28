from generator.describe.tables import NameCounts
from tests.generator.scenes import scene_of


def test_balance_is_the_number_of_names_and_the_range_of_their_counts() -> None:
    counts = NameCounts("color", "shape")
    for left, right in (("red", "blue"), ("red", "green"), ("blue", "red")):
        scene = scene_of(("cube", {"color": left, "size": "large"}), ("cone", {"color": right, "size": "large"}))
        counts.add("train", scene.objects)
    found = counts.to_dict()["train"]
    assert found["color"] == {"names": 3, "spread": 2}  # red 3, blue 2, green 1
    assert found["color by place"] == {"names": 3, "spread": 2}  # on the left: red 2, blue 1, green 0
    assert found["shape"] == {"names": 2, "spread": 0}
    assert found["shape by place"] == {"names": 2, "spread": 3}
    assert found["size x color"] == {"names": 1, "spread": 0}
    assert list(counts.to_dict()) == ["train"]
