"""The families of models: lazy loaders, families of other packages, names that are not known."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.models.registry import (
    FAMILIES,
    Spec,
    checked_arguments,
    families,
    load_model,
    read_spec,
)
from generator.base.errors import UserError
from tests.evaluator.conftest import Tiny, assert_one_sentence, score_command
from tests.evaluator.models.test_python import IMAGES


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("blind:ngrams", "Unknown blind model 'ngrams': did you mean 'ngram'?"),
        ("blind:lm", "blind:lm names no language model: add : and a folder or a name on the Hub"),
        ("blind:length:3", "Unknown blind model 'length:3'"),
        (
            "open_clip:ViT-B32@openai",
            "Unknown open_clip architecture 'ViT-B32': did you mean 'ViT-B-32'?",
        ),
        ("open_clip:nonsense", "Unknown open_clip architecture 'nonsense'"),
        ("open_clip:ViT-B-32", "names no weights: add @ and a checkpoint's path, or one of openai"),
        ("open_clip:tiny", "open_clip:tiny names no weights: add @ and a checkpoint's path."),
        (
            "open_clip:ViT-B-32@opnai",
            "There are no weights 'opnai' for ViT-B-32: did you mean 'openai'?",
        ),
        (
            "open_clip:tiny@missing.pt",
            "There are no weights 'missing.pt' for tiny: give a checkpoint's path.",
        ),
        ("open_clip:local-dir:", "'.' is not a folder with open_clip_config.json"),
    ],
)
def test_names_that_a_family_does_not_know_are_refused(
    spec: str, message: str, tiny: Callable[..., Tiny]
) -> None:
    tiny()
    with pytest.raises(UserError) as caught:
        load_model(spec, "cpu")
    assert message in caught.value.message
    assert "\n" not in caught.value.message


NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
VALUES = st.text(st.characters(exclude_characters=",", codec="ascii"))


@given(
    st.text(st.characters(exclude_characters="=", codec="utf-8"), min_size=1),
    st.dictionaries(NAMES, VALUES),
)
def test_arguments_follow_after_commas(name: str, arguments: dict[str, str]) -> None:
    """A name may hold commas, and a value the sign "=" and, before no such argument, commas too."""
    text = ",".join([f"vqa:{name}", *(f"{key}={value}" for key, value in arguments.items())])
    if not name.startswith(","):
        assert read_spec(text) == Spec(text, "vqa", name, arguments)
    assert read_spec("vqa:m,a=x,y=1,z,c=d=e").arguments == {"a": "x", "y": "1,z", "c": "d=e"}


def test_a_loader_with_any_arguments_gets_them_as_they_are() -> None:
    assert checked_arguments(lambda name, device, **more: None, {"a": "1"}, model="x:") == {
        "a": "1"
    }


def test_a_loader_without_arguments_takes_none() -> None:
    with pytest.raises(UserError, match="x: has no argument 'a': it takes none; leave it out"):
        checked_arguments(lambda name, device: None, {"a": "1"}, model="x:")


def test_no_family_is_imported_before_it_is_asked_for() -> None:
    code = "import sys, evaluator.models.registry as r; r.families(); print('torch' in sys.modules)"
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "False\n"
    )


PLUGIN = """
class Bright:
    def __init__(self, name, size): self.info, self.size = {"weights": name}, size
    def score(self, image, text): return float(len(text) * self.size)
def load(name, device, *, size: int = 1): return Bright(name, size)
"""


@pytest.fixture
def installed(written: Callable[..., str], tmp_path: Path) -> Callable[[str, str], None]:
    """Installs a package of that name that offers families, as `name = module:function` lines."""
    written(PLUGIN, "bright_plugin")
    sys.path.insert(0, str(tmp_path))

    def install(package: str, lines: str) -> None:
        folder = tmp_path / f"{package}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[jackalope.models]\n{lines}\n")

    return install


def test_other_packages_add_families(installed: Callable[[str, str], None]) -> None:
    installed("bright", "bright = bright_plugin:load")
    assert families()["bright"].usage == "bright:NAME, of the package bright"
    model = load_model("bright:large", "cpu")
    assert model.info["weights"] == "large"
    assert model.score_pairs(IMAGES, [(0, "four")]).tolist() == [[4]]
    larger = load_model(
        "bright:large,size=3", "cpu"
    )  # an argument that the loader names, read as it says
    assert larger.score_pairs(IMAGES, [(0, "four")]).tolist() == [[12]]
    assert "bright:NAME, of the package bright" in score_command("models").stdout
    with pytest.raises(UserError, match="Unknown model family 'brigt': did you mean 'bright'"):
        load_model("brigt:large", "cpu")


def test_one_name_from_two_packages_is_refused(installed: Callable[[str, str], None]) -> None:
    installed("bright", "bright = bright_plugin:load")
    installed("brighter", "bright = bright_plugin:load")
    with pytest.raises(
        UserError, match=r"'bright' is offered by bright.* and by bright.*; uninstall one of them"
    ):
        load_model("bright:large", "cpu")


def test_the_names_of_this_package_are_taken(installed: Callable[[str, str], None]) -> None:
    installed("bright", "open_clip = bright_plugin:load")
    assert "open_clip" in FAMILIES
    assert_one_sentence(
        score_command("models"), "'open_clip' is offered by jackalope and by bright"
    )


@pytest.mark.parametrize("value", ["no_such_module:load", "bright_plugin:lod"])
def test_a_family_that_cannot_be_loaded(value: str, installed: Callable[[str, str], None]) -> None:
    installed("bright", f"bright = {value}")
    with pytest.raises(
        UserError,
        match=f"The model family 'bright' cannot be loaded from {value} .*; fix or uninstall",
    ):
        load_model("bright:large", "cpu")
