"""What `--holdout` and `--design` are refused for."""

import pytest

from generator.base.errors import UserError
from generator.holdout.request import draw_holdouts
from generator.vocabulary.schema import read_vocabulary

CLEVR = read_vocabulary("clevr")


@pytest.mark.parametrize(
    ("asked", "design", "said"),
    [
        (["relation:pair=5x2"], "bindsplit", "has 4 relations"),
        (["relation:pair=1x999"], "bindsplit", "132 ordered pairs"),
        (["relation:pair=2by3"], "bindsplit", "like relation:pair=2x3"),
        (["3x3", "2x2"], "bindsplit", "a second block of bindings"),
        (["relation:pair=1x1", "relation:pair=1x2"], "bindsplit", "a second block of relations"),
        (["atoms=1x1"], "bindsplit", "belong to --design systematicity"),
        (["3x3"], "systematicity", "needs unseen atoms too"),
        (["3x3", "atoms=5x1"], "systematicity", "one must stay in training"),
        (["k8"], "coverage", "k runs from 1 to 7"),
        (["k0"], "coverage", "k runs from 1 to 7"),
        (["3x3"], "coverage", "like k4 or k1..7"),
        (["3x3"], "gzsl", "to be classes"),
        (["classes=90/4/4"], "gzsl", "96 labels"),
        (["3x3"], "bindplit", "did you mean 'bindsplit'"),
    ],
)
def test_impossible_designs_are_refused_in_one_sentence(asked: list[str], design: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        draw_holdouts(asked, design, CLEVR, 0)
    message = str(caught.value)
    assert said in message
    assert "\n" not in message
    assert message.rstrip()[-1] in ".?"
