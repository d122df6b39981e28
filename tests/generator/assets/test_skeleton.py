"""Declarations of animals: every built-in one is valid, and mistakes are named."""

import pytest

from generator.assets.animals import animal_names
from generator.assets.skeleton import load_skeleton
from generator.base.errors import UserError
from generator.base.registry import resource


def test_the_built_in_animals_are_declared():
    for name in animal_names():
        assert load_skeleton(resource(f"blender_assets/animals/{name}.toml")).parts


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(UserError, match=r"Cannot read the animal .*nothing\.toml"):
        load_skeleton(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    ("declaration", "said"),
    [
        ("blend = 0.1\n[parts.leg]\njoints = [[0, 0, 1, 1]]\nfurry = true\n", "unknown key 'parts.leg.furry'"),
        ("blend = 0.1\n[parts]\n", "parts: "),
        ("blend = 0.1\n[parts.leg]\njoints = [[0, 0, 1, -1]]\n", "parts.leg.joints.0"),
        ("blend = \n", "not valid TOML"),
    ],
)
def test_wrong_declaration_is_refused_in_one_sentence(tmp_path, declaration, said):
    path = tmp_path / "wrong.toml"
    path.write_text(declaration)

    with pytest.raises(UserError) as refused:
        load_skeleton(path)

    assert said in refused.value.message
    assert refused.value.message.count("\n") == 0
