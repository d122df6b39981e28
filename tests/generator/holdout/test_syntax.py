"""The grammar of `--holdout`: every form is read, and every wrong name is answered with a near
one."""

import re
import shlex
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.holdout.blocks import draw_block
from generator.holdout.request import kind_named
from generator.holdout.syntax import file_name_of, parse_part, short_name
from generator.vocabulary.schema import read_vocabulary
from tests.paths import CHECKOUT

CLEVR, PUG, RELATIONS = (
    read_vocabulary("clevr"),
    read_vocabulary("pug"),
    read_vocabulary("clevr-relations"),
)
COLORS, SHAPES = CLEVR.values("color"), list(CLEVR.objects)


@given(st.data())
def test_a_block_of_names_holds_out_these_names(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.sampled_from(COLORS), min_size=1, max_size=7, unique=True))
    objects = data.draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=11, unique=True))
    blank = data.draw(st.sampled_from(["", " "]))
    lists = [f"color{blank}={blank}{f',{blank}'.join(values)}", f"shape={','.join(objects)}"]
    holdout = draw_block(" ".join(data.draw(st.permutations(lists))), CLEVR, 0)
    assert holdout.bindings == tuple(product(values, objects))
    assert (holdout.values, holdout.objects, holdout.is_block) == (
        tuple(values),
        tuple(objects),
        True,
    )
    single = draw_block([f"{value}:{category}" for value, category in holdout.bindings], CLEVR, 0)
    assert (single.kind, single.values, single.objects, single.bindings) == (
        holdout.kind,
        holdout.values,
        holdout.objects,
        holdout.bindings,
    )


def test_names_with_blanks_are_read() -> None:
    assert draw_block("texture=grass,wood animal=deer stag,fox", PUG, 0).objects == (
        "deer stag",
        "fox",
    )
    assert draw_block("grass:deer stag", PUG, 0).bindings == (("grass", "deer stag"),)


def test_a_named_relation_is_closed_under_converse_and_opposite() -> None:
    both_ways = {("cube", "left", "sphere"), ("sphere", "right", "cube")}
    assert {*draw_block("left: cube, sphere", CLEVR, 0, opposites=False).triples} == both_ways
    opposites = {("cube", "right", "sphere"), ("sphere", "left", "cube")}
    assert {*draw_block(" left :cube,sphere", CLEVR, 0).triples} == both_ways | opposites


def test_named_combinations_do_not_depend_on_the_seed() -> None:
    named = "color=gray,blue shape=cube,cone", "left: cube, sphere"
    first, second = (draw_block(named, CLEVR, seed) for seed in (0, 7))
    assert (first.bindings, first.triples) == (second.bindings, second.triples)


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        (["color=grey shape=cube"], "unknown color 'grey'; did you mean 'gray'?"),
        (["color=gray shape=cueb"], "unknown shape 'cueb'; did you mean 'cube'?"),
        (["colour=gray shape=cube"], "unknown attribute kind 'colour'; did you mean 'color'?"),
        (
            ["color=gray animal=cube"],
            "unknown attribute kind 'animal'; expected one of: color, material, size, shape",
        ),
        (["color=gray"], 'such as "color=gray,red shape=cube,sphere"'),
        (["shape=cube"], "expected values of one attribute kind and objects"),
        (
            ["color=gray material=metal shape=cube"],
            "expected values of one attribute kind and objects",
        ),
        (["color=gray color=blue shape=cube"], "'color' is there twice"),
        (["color=gray,gray shape=cube"], "names 'gray' twice"),
        (["color=gray, shape=cube"], "unknown color ''"),
        (["grey:cube"], "unknown value 'grey'; did you mean 'gray'?"),
        (["gray:cueb"], "unknown shape 'cueb'; did you mean 'cube'?"),
        (["cube:gray"], "the value comes first; write gray:cube"),
        (["left:cube"], 'needs two objects, such as "left: cube, sphere"'),
        (["lefft: cube, sphere"], "unknown relation 'lefft'; did you mean 'left'?"),
        (["left: cube, spere"], "unknown shape 'spere'; did you mean 'sphere'?"),
        (["left: cube, cube"], "a relation and two different objects"),
        (["left: cube, cone, sphere"], "a relation and two different objects"),
        (["gray: cube, sphere"], 'write "color=gray shape=cube,sphere"'),
        (["gray:cube", "metal:cube"], "about color and metal:cube about material"),
        (["gray:cube", "3x3"], "is drawn by seed and gray:cube is named"),
        (
            ["left: cube, sphere", "relation:pair=1x2"],
            "is drawn by seed and left: cube, sphere is named",
        ),
        (
            ["material=rubber,metal shape=cube"],
            "leave the held-out object 'cube' without a seen binding",
        ),
        (
            [f"color=gray shape={','.join(SHAPES)}"],
            "leave the held-out value 'gray' without a seen binding",
        ),
        (
            [f"gray:{category}" for category in SHAPES],
            "leave the held-out value 'gray' without a seen binding",
        ),
        (["gray:cube:cone"], "such as 3x3 or relation:pair=2x3, names such as"),
    ],
)
def test_a_wrong_text_is_answered_with_how_to_mend_it(specs: list[str], message: str) -> None:
    with pytest.raises(UserError) as refused:
        draw_block(specs, CLEVR, 0)
    assert message in refused.value.message


def test_a_relation_that_never_holds_cannot_be_held_out() -> None:
    with pytest.raises(UserError, match="never holds between cube and cone"):
        draw_block("on: cube, cone", RELATIONS, 0)
    with pytest.raises(UserError, match="leaves front and behind to chance"):
        draw_block("left: fox, wolf", PUG, 0)


@pytest.mark.parametrize(
    "spec", ["3x3", "color:shape=2x4", "relation:pair=2x3", "atoms=1x2", "asymmetric", "gray:cube"]
)
def test_parts_keep_their_text(spec: str) -> None:
    assert parse_part(spec, CLEVR).spec == spec


def test_the_kind_under_test_is_found_by_a_value() -> None:
    """A family that paints either colours or textures gets the kind that the named value belongs
    to."""
    assert (
        kind_named(["wood:fox"], PUG) == kind_named(["texture=wood animal=fox"], PUG) == "texture"
    )
    assert kind_named(["red:fox"], PUG) == kind_named(["3x3"], PUG) == "color"


def test_the_name_of_a_file_has_no_blank_and_stays_short() -> None:
    assert (
        file_name_of("color=gray,blue shape=cube", "color", "shape") == "color-gray-blue-shape-cube"
    )
    assert file_name_of("grass:deer stag", "texture", "animal") == "grass-deer-stag"
    long, other = (
        short_name("+".join(f"gray-{name}" for name in names)) for names in (SHAPES, SHAPES[::-1])
    )
    assert long != other
    assert len(long) < 100


def test_every_holdout_on_the_page_about_choosing_is_one(tmp_path: Path) -> None:
    """With the family of the README, which the page uses too."""
    readme, page = (
        (CHECKOUT / name).read_text("utf-8") for name in ("README.md", "docs/choose.md")
    )
    family = re.search(r"```toml\n(extends = \"pug\".*?)\[objects\]", readme, re.DOTALL)
    assert family
    (tmp_path / "zoo.toml").write_text(
        family[1] + "[objects]\njackalope = { mesh = 'hourglass' }\n", "utf-8"
    )
    zoo = read_vocabulary(str(tmp_path / "zoo.toml"))
    commands = [
        shlex.split(line, comments=True)
        for line in re.findall(r"^gen .*--holdout.*$", page, re.MULTILINE)
    ]
    assert len(commands) > 6
    for words in commands:
        specs = [spec for option, spec in pairwise(words) if option == "--holdout"]
        families = [family for option, family in pairwise(words) if option == "--family"]
        if families == ["zoo.toml"]:
            vocabulary = zoo.painted_with(kind_named(specs, zoo))
        else:
            vocabulary = read_vocabulary(families[0] if families else "clevr")
        if not specs[0].endswith(".json"):
            assert (
                draw_block(specs, vocabulary, 0).bindings
                or draw_block(specs, vocabulary, 0).triples
            )
