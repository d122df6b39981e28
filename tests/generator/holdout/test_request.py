"""What `--holdout` and `--design` are refused for."""

import json
from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.holdout.request import HoldoutRequest, draw_holdouts
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
        (["3x3", "atoms=1x2", "atoms=1x1"], "systematicity", "a second number of unseen atoms"),
        (["h.json", "3x3"], "bindsplit", "h.json 3x3: a holdout.json says all that is held out"),
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


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (HoldoutRequest("gzsl", ("holdout.json",)), "leave out --design, --block-seed and --no-opposites"),
        (HoldoutRequest(holdout=("holdout.json",), block_seeds=(7,)), "has a design, a block seed and opposites"),
        (HoldoutRequest(opposites=False), "--no-opposites is about held-out relations"),
        (HoldoutRequest(holdout=("7x11",), block_seeds=tuple(range(10))), "hold out the same as 3; leave out 3"),
        (HoldoutRequest(holdout=("relation:pair=4x131",), block_seeds=(0, 4)), "hold out the same as 4; leave out 4"),
    ],
)
def test_what_would_have_no_effect_is_refused(
    request_: HoldoutRequest, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (holdout,) = draw_holdouts(("3x3",), "bindsplit", CLEVR, 0)
    Path("holdout.json").write_text(json.dumps(holdout.to_dict()))
    assert HoldoutRequest(holdout=("holdout.json",)).holdouts(CLEVR) == [holdout]
    with pytest.raises(UserError, match=said):
        request_.holdouts(CLEVR)
