"""Faults of scenes: their records, the columns that repeat them, and their images."""

import shutil

from tests.generator.judge.faults.catalogue import fault
from tests.generator.judge.faults.edits import edit_vocabulary, edited_record
from tests.generator.judge.faults.worlds import FIRST, RELATIONS
from tests.generator.judge.planted import Fault, Planted


@fault()
def an_object_with_a_flat_top_has_no_size(data: Planted) -> Fault:
    row = data.scenes[0]
    with edited_record(row) as scene:
        obj = scene["objects"][0]
        del obj["attributes"]["size"]
    name = obj["category"]
    edit_vocabulary(data, rf"(?m)^{name} = {{", r"\g<0> top = { height = 1, radius = 1 },")
    return (
        "wrong record",
        f"scene {row['scene_id']}: its record cannot be read: ValueError('its {name} has",
    )


@fault(FIRST)
def the_table_lists_other_objects(data: Planted) -> Fault:
    row = data.scenes[0]
    data.choose(row["objects"])["attributes"] = [("color", "red")]
    return "wrong record", f"scene {row['scene_id']}: the column objects differs from its record"


@fault(RELATIONS)
def the_table_lists_no_relations(data: Planted) -> Fault:
    row = data.scenes[0]
    row["relations"] = []
    return (
        "wrong record",
        f"scene {row['scene_id']}: the column relations differs from the relations that hold",
    )


@fault()
def a_record_has_a_number_that_is_none(data: Planted) -> Fault:
    with edited_record(data.scenes[0]) as scene:
        scene["objects"][0]["heading"] = float("nan")
    return "wrong record", "Out of range float values are not JSON compliant"


@fault()
def a_record_says_one_thing_twice(data: Planted) -> Fault:
    row = data.scenes[0]
    row["scene"] = row["scene"].replace('"category":', '"category":"star","category":', 1)
    return "wrong record", "the key 'category' is repeated"


@fault()
def an_object_hovers(data: Planted) -> Fault:
    with edited_record(data.scenes[0]) as scene:
        scene["objects"][0]["position"][2] = 0.5
    return "wrong record", "object 0 stands 0.500000 m above the ground and rests on no object"


@fault()
def a_scene_stands_in_the_table_under_two_ids(data: Planted) -> Fault:
    one, two = (row for row in data.scenes[:2])
    two.update({name: one[name] for name in ("cluster_id", "objects", "relations", "scene")})
    return "repeated scene", f"scenes {one['scene_id']} and {two['scene_id']} have the same record"


def _copy_image(data: Planted, *splits: str) -> list[str]:
    """Give a scene of the second split the image of one of the first. Returns their ids."""
    ids = [next(name for name, split in data.split.items() if split == splits[0])]
    ids.append(
        next(name for name, split in data.split.items() if split == splits[1] and name not in ids)
    )
    paths = [data.root / f"world/images/{scene_id}.png" for scene_id in ids]
    shutil.copyfile(*paths)
    return ids


@fault()
def two_scenes_of_a_split_have_one_image(data: Planted) -> Fault:
    one, two = _copy_image(data, "train", "train")
    return "repeated image", f"scenes {one} and {two} of train have the same image"


@fault()
def one_image_stands_in_two_splits(data: Planted) -> Fault:
    _copy_image(data, "train", "unseen")
    return "shared image", "is in train and unseen"


@fault()
def a_scene_is_missing(data: Planted) -> Fault:
    row = data.scene("seen")
    data.scenes.remove(row)
    return "missing scene", f"scene {row['scene_id']} is in split seen and was not rendered"


@fault()
def a_box_lies_outside_the_image(data: Planted) -> Fault:
    data.scenes[0]["objects"][0]["amodal_box"] = [0, 0, 640, 48]
    return (
        "wrong record",
        "an object has the box [0, 0, 640, 48], which is not a box within the image",
    )


@fault()
def more_of_an_object_is_visible_than_there_is(data: Planted) -> Fault:
    data.scenes[0]["objects"][0]["visible_fraction"] = 1.5
    return "wrong record", "an object has the visible fraction 1.5, expected 0 to 1"
