"""Faults of rotations and doses: turns that overlap, and training images of held-out bindings that
are more or fewer than the dose."""

import shutil

from tests.generator.judge.faults.catalogue import fault
from tests.generator.judge.faults.worlds import DOSED, TURN
from tests.generator.judge.planted import Fault, Planted


@fault(TURN)
def a_turn_trains_on_what_another_evaluates(data: Planted) -> Fault:
    row = data.choose(row for row in data.tables["splits"] if row["split"] == "seen")
    row["split"] = "train"
    return "shared evaluation", f"turn0 trains on scene {row['scene_id']}, which turn1 has in"


@fault(TURN)
def a_turn_trains_on_what_it_holds_out(data: Planted) -> Fault:
    row = data.choose(row for row in data.tables["splits"] if row["split"] == "unseen")
    row["split"] = "train"
    return "leaked binding", f"training scene {row['scene_id']} shows the held-out"


@fault(TURN)
def a_turn_is_missing(data: Planted) -> Fault:
    shutil.rmtree(data.root / "benchmarks/turn1")
    return "incomplete rotation", "no benchmark of this dataset is turn 1"


@fault(TURN)
def a_turn_holds_out_the_bindings_of_another(data: Planted) -> Fault:
    data.hold_out(turn=1)
    return "wrong turn", "which turn 1 of its groups"


@fault(TURN)
def a_rotation_leaves_out_a_value(data: Planted) -> Fault:
    first, *others = data.block["value_groups"]
    data.hold_out(value_groups=[first[1:], *others])
    return "incomplete rotation", "do not hold each of the world's values once"


@fault(DOSED)
def a_dose_is_one_image_short(data: Planted) -> Fault:
    (dose,) = data.block["doses"]
    scene_id = data.choose(dose["scenes"])
    data.leave_out(scene_id)
    return "wrong dose", "0 training scenes show"


@fault(DOSED)
def a_dose_is_one_image_too_much(data: Planted) -> Fault:
    (dose,) = data.block["doses"]
    bindings = {tuple(binding) for binding in dose["bindings"]}
    for row in data.tables["splits"]:
        held_out = [tuple(name.split(" ")) for name in row["held_out_bindings"]]
        if row["split"] is None and len(held_out) == 1 and held_out[0] in bindings:
            row["split"] = "train"
            dose["scenes"].append(row["scene_id"])
            data.hold_out(doses=[dose])
            return "wrong dose", "2 training scenes show"
    raise AssertionError("no scene shows one binding of the dose alone")


@fault(DOSED)
def a_scene_trains_that_no_dose_lists(data: Planted) -> Fault:
    (dose,) = data.block["doses"]
    scene_id = dose["scenes"].pop()
    data.hold_out(doses=[dose])
    return "leaked binding", f"training scene {scene_id} shows the held-out"


@fault(DOSED)
def a_dose_is_not_declared(data: Planted) -> Fault:
    data.manifest["declared_leaks"] = []
    return "undeclared leak", "training shows bindings with a dose"


@fault(DOSED)
def a_dosed_scene_is_called_unseen(data: Planted) -> Fault:
    row = data.choose(row for row in data.tables["splits"] if row["split"] == "dose1")
    row["split"] = "unseen"
    return "wrong split", f"scene {row['scene_id']} is in unseen"
