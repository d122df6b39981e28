"""The families of models: lazy loaders, families of other packages, names that are not known."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.models.registry import FAMILIES, families, load_model
from generator.base.errors import UserError
from generator.base.files import read_json
from tests.evaluator.conftest import assert_one_sentence, score_command
from tests.evaluator.models.test_python import IMAGES


def test_every_family_names_a_loader_that_exists() -> None:
    from importlib import import_module

    for family in FAMILIES.values():
        module, function = family.loader.split(":")
        assert callable(getattr(import_module(module), function))


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("opn_clip:ViT-B-32@openai", "Unknown model family 'opn_clip': did you mean 'open_clip'?"),
        ("ViT-B-32", "Expected --model to be family:name or family:name@weights"),
        ("open_clip:", "Expected --model to be family:name"),
    ],
)
def test_unknown_families_are_refused_in_one_sentence(spec: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        load_model(spec, "cpu")
    assert said in caught.value.message


def test_no_family_is_imported_before_it_is_asked_for() -> None:
    code = "import sys, evaluator.models.registry as r; r.families(); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


PLUGIN = """
class Bright:
    def __init__(self, name): self.info = {"weights": name}
    def score(self, image, text): return float(len(text))
def load(name, device): return Bright(name)
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
    assert "bright:NAME, of the package bright" in score_command("models").stdout
    with pytest.raises(UserError, match="Unknown model family 'brigt': did you mean 'bright'"):
        load_model("brigt:large", "cpu")


def test_one_name_from_two_packages_is_refused(installed: Callable[[str, str], None]) -> None:
    installed("bright", "bright = bright_plugin:load")
    installed("brighter", "bright = bright_plugin:load")
    with pytest.raises(UserError, match=r"'bright' is offered by bright.* and by bright.*; uninstall one of them"):
        load_model("bright:large", "cpu")


def test_the_names_of_this_package_are_taken(installed: Callable[[str, str], None]) -> None:
    installed("bright", "open_clip = bright_plugin:load")
    assert "open_clip" in FAMILIES
    assert_one_sentence(score_command("models"), "'open_clip' is offered by jackalope and by bright")


@pytest.mark.parametrize("value", ["no_such_module:load", "bright_plugin:lod"])
def test_a_family_that_cannot_be_loaded(value: str, installed: Callable[[str, str], None]) -> None:
    installed("bright", f"bright = {value}")
    with pytest.raises(
        UserError, match=f"The model family 'bright' cannot be loaded from {value} .*; mend or uninstall"
    ):
        load_model("bright:large", "cpu")


def test_arguments_of_families_of_other_packages(
    installed: Callable[[str, str], None], written: Callable[..., str], drawn: Path, tmp_path: Path
) -> None:
    """Those that the loader names, read as it says; they are part of the model's name. All are checked before any
    model is loaded."""
    written(PLUGIN.replace("def load(name, device):", "def load(name, device, *, size: int = 1):"), "bright_plugin")
    installed("bright", "bright = bright_plugin:load")
    assert load_model("bright:large", "cpu", size="3").info["weights"] == "large"
    command = (
        "run",
        drawn,
        "--model",
        "bright:large",
        "--model-args",
        "size=3",
        "--protocol",
        "binary",
        "--limit",
        "2",
    )
    done = score_command(*command, "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    assert read_json(tmp_path / "run" / "run.json")["model"] == "bright:large size=3"
    other = score_command(*command[:-4], "--out", tmp_path / "more", "--model", "blind:length")
    assert_one_sentence(other, "blind: has no argument 'size'")
    assert not (tmp_path / "more").exists()
    assert_one_sentence(
        score_command("run", drawn, "--model", "bright:large", "--model-args", "dtype=auto"),
        "bright: has no argument 'dtype'",
    )
    with pytest.raises(UserError, match="The argument 'size' of bright: is 'x'"):
        load_model("bright:large", "cpu", size="x")
