"""What `score familiarity` prints."""

from evaluator.audits.familiarity.audit import audit
from evaluator.audits.familiarity.counting import Counted
from evaluator.cli.familiarity_table import said
from tests.evaluator.audits.familiarity.test_audit import COUNTS, SAMPLES


def test_figures_caveats_and_reasons_are_said() -> None:
    about = {"benchmark": "aro:x", "reference": "y", "captions": "strict", "extractor": "rules", "match": "lemmas"}
    text = said({**about, **audit(SAMPLES, COUNTS, Counted(10, 20, 5)).summary()})
    assert "4 of 5 samples, captions read as strict, phrases by rules, match by lemmas." in text
    assert "excluded: 1, a caption has no binding" in text
    assert "25.0% bare nouns" in text
    assert "+62.5 points" in text
    assert "seen 0, mixed 3, unseen 0." in text
    assert "No sample is seen: that partition has no mean." in text
    assert "No sample is mixed" not in text
    assert "1 samples repeat the image and both captions of another" in text
    assert "true captions" not in text
    assert "there is no asymmetry" in said({**about, **audit(SAMPLES[2:3], COUNTS, Counted()).summary()})
