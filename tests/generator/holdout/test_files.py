"""holdout.json, of a benchmark or written by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from generator.base.errors import UserError
from generator.holdout.blocks import draw_block
from generator.holdout.files import read_holdout
from generator.holdout.request import draw_holdouts
from generator.vocabulary.schema import read_vocabulary

CLEVR = read_vocabulary("clevr")
BINDINGS = [["gray", "cube"], ["gray", "sphere"], ["blue", "cube"], ["blue", "sphere"]]
MINIMAL: dict[str, Any] = {"kind": "color", "category": "shape", "bindings": BINDINGS}


def written(tmp_path: Path, data: Any) -> Path:
    path = tmp_path / "holdout.json"
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize(
    ("design", "specs"),
    [
        ("bindsplit", ("3x3", "relation:pair=1x2", "asymmetric")),
        ("bindsplit", ("gray:cube",)),
        ("coverage", ("k3",)),
        ("systematicity", ()),
        ("gzsl", ()),
    ],
)
def test_the_file_of_a_benchmark_gives_the_same_holdout(
    design: str, specs: tuple[str, ...], tmp_path: Path
) -> None:
    for holdout in draw_holdouts(specs, design, vocabulary=CLEVR, block_seed=3):
        assert read_holdout(written(tmp_path, holdout.to_dict()), CLEVR) == holdout


def test_three_keys_are_enough(tmp_path: Path) -> None:
    """The rest is as if the bindings had been given one by one."""
    named = draw_block([f"{value}:{category}" for value, category in BINDINGS], CLEVR, 0)
    assert read_holdout(written(tmp_path, MINIMAL), CLEVR) == named
    single = read_holdout(written(tmp_path, {**MINIMAL, "bindings": [["gray", "cube"]]}), CLEVR)
    assert single == draw_block("gray:cube", CLEVR, 0)


def test_written_triples_are_closed(tmp_path: Path) -> None:
    """A cube left of a sphere is a sphere right of a cube: holding out one alone would leak the
    other."""
    data = {"kind": "color", "category": "shape", "triples": [["cube", "left", "sphere"]]}
    assert (
        read_holdout(written(tmp_path, data), CLEVR).triples
        == draw_block("left: cube, sphere", CLEVR, 0).triples
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"binding": BINDINGS}, "unknown key 'binding'; did you mean 'bindings'?"),
        ({"kind": None}, "kind: input should be a valid string"),
        ({"bindings": [["gray"]]}, "bindings.0"),
        ({"bindings": [["grey", "cube"]]}, "names 'grey'"),
        ({"bindings": [["gray", "cueb"]]}, "names 'cueb'"),
        ({"kind": "colour"}, "the attribute kind 'colour'"),
        ({"category": "animal"}, "the category 'animal'"),
        ({"design": "blocks"}, "Unknown design 'blocks'"),
        (
            {"bindings": [["gray", category] for category in CLEVR.objects]},
            "value 'gray' without a seen binding",
        ),
        (
            {"bindings": [], "values": ["gray"], "objects": ["cube"]},
            "the key 'bindings' is missing",
        ),
    ],
)
def test_the_message_names_the_wrong_key(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError) as refused:
        read_holdout(written(tmp_path, MINIMAL | change), CLEVR)
    assert message in refused.value.message


@pytest.mark.parametrize("key", ["kind", "category"])
def test_the_message_names_the_missing_key(key: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"the key '{key}' is missing"):
        read_holdout(
            written(tmp_path, {name: value for name, value in MINIMAL.items() if name != key}),
            CLEVR,
        )
