import random

import pytest

from generator.base.errors import UserError
from generator.base.streams import Stream
from generator.describe.statistics import MeasuredCaptions, Mentioned, Statistics, parse_statistics
from tests.generator.describe.samples import scenes
from tests.generator.scenes import VOCABULARY, described


@pytest.mark.parametrize(
    ("density", "completeness", "saliency"), [(0.5, 0.7, 1.0), (0.2, 0.4, 0.0), (1.0, 1.0, 0.5), (0.0, 0.1, 0.0)]
)
def test_captions_have_the_statistics_asked_for(density: float, completeness: float, saliency: float) -> None:
    asked = parse_statistics(f"density={density},completeness={completeness},saliency={saliency}")
    assert asked == Statistics(density, completeness, saliency)
    captions = MeasuredCaptions(asked, VOCABULARY)
    for number, scene in scenes(600, 11, 4, 8):
        shown = described(scene, "train", f"{number:06d}")
        shown.salience = tuple(random.Random(number).random() for _ in scene.objects)
        assert shown.decide(captions.draw(shown, Stream("train", number))) is True
    found = captions.mentioned.to_dict()
    assert found["captions"] == 600
    assert abs(found["density"] - density) < 0.02
    # every caption mentions at least one object
    assert abs(found["completeness"] - max(completeness, 0.17)) < 0.02
    lean = found["completeness_salient_half"] - found["completeness_other_half"]
    if completeness < 1:
        assert lean > 0.3 if saliency == 1 and completeness > 0.3 else abs(lean) < 0.1


def test_shares_of_nothing_are_none() -> None:
    assert Mentioned().to_dict()["density"] is None


@pytest.mark.parametrize("spec", ["density", "density=2", "colour=1", "density=x", "density=nan"])
def test_captions_that_make_no_sense_are_refused(spec: str) -> None:
    with pytest.raises(UserError, match="Expected --captions"):
        parse_statistics(spec)
