import random

import pytest

from generator.dataset.errors import UserError
from generator.dataset.streams import Stream
from generator.describe.protocols.train import Mentioned, TrainingCaptions, parse_statistics
from tests.generator.describe.samples import by_slot, scenes
from tests.generator.scenes import CATEGORIES, HOLDOUT, captioner, described, scene_of


@pytest.mark.parametrize(
    ("density", "completeness", "saliency"), [(0.5, 0.7, 1.0), (0.2, 0.4, 0.0), (1.0, 1.0, 0.5), (0.0, 0.1, 0.0)]
)
def test_training_captions_have_the_statistics_asked_for(density: float, completeness: float, saliency: float) -> None:
    spec = f"density={density},completeness={completeness},saliency={saliency}"
    training = TrainingCaptions(captioner(), parse_statistics(spec))
    for number, scene in scenes(600, 11, 4, 8):
        shown = described(scene, "train", f"{number:06d}")
        shown.salience = tuple(random.Random(number).random() for _ in scene.objects)
        list(training.items(shown, Stream("train", number)))
    found = training.report()
    assert found["captions"] == 600
    assert abs(found["density"] - density) < 0.02
    # every caption mentions at least one object
    assert abs(found["completeness"] - max(completeness, 0.17)) < 0.02
    lean = found["completeness_salient_half"] - found["completeness_other_half"]
    if completeness < 1:
        assert lean > 0.3 if saliency == 1 and completeness > 0.3 else abs(lean) < 0.1


def test_without_statistics_nothing_is_reported_and_shares_of_nothing_are_none() -> None:
    assert TrainingCaptions(captioner()).report() == {}
    assert Mentioned().to_dict()["density"] is None


@pytest.mark.parametrize("exposed", [False, True])
def test_negatives_name_held_out_bindings_only_when_exposed(exposed: bool) -> None:
    free = next(name for name in CATEGORIES if name not in HOLDOUT.objects)
    value = next(v for v in ("red", "blue", "gray", "green", "cyan") if v not in HOLDOUT.values)
    scene = described(
        scene_of((HOLDOUT.objects[0], {HOLDOUT.kind: value}), (free, {HOLDOUT.kind: HOLDOUT.values[0]})), "train"
    )
    (item,) = TrainingCaptions(captioner(), exposed_negatives=exposed).items(scene, Stream(0))
    assert len(by_slot(item, "c")) == 2  # one for each order of mention
    assert len(by_slot(item, "n")) == 2 * exposed


@pytest.mark.parametrize("spec", ["density", "density=2", "colour=1", "density=x", "density=nan"])
def test_captions_that_make_no_sense_are_refused(spec: str) -> None:
    with pytest.raises(UserError, match="Expected --captions"):
        parse_statistics(spec)
