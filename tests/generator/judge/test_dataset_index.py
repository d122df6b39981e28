"""dataset.json and the cards are those of the components."""

from pathlib import Path

from generator.judge.dataset_index import index_findings
from tests.generator.judge.datasets import CROWDS, SPLITS, make


def test_the_files_at_the_root_are_those_of_the_components(tmp_path: Path) -> None:
    root = make(tmp_path / "a", CROWDS, SPLITS)
    assert list(index_findings(root)) == []
    readme = root / "README.md"
    readme.write_text(readme.read_text().replace("## World", "## A world"), encoding="utf-8")
    (found,) = index_findings(root)
    assert found["fault"] == "wrong card"
    assert found["what"].endswith("it says '## A world', the manifests give '## World'")


def test_manifests_of_which_no_card_can_be_made_are_a_finding(tmp_path: Path) -> None:
    root = make(tmp_path / "a", CROWDS, SPLITS)
    manifest = root / "world/manifest.json"
    manifest.write_text(manifest.read_text().replace('"width"', '"breadth"'), encoding="utf-8")
    (found,) = index_findings(root)
    assert "cannot be made from the manifests: " in found["what"]
    assert "it has no 'width'" in found["what"]


def test_a_key_of_ones_own_is_named(tmp_path: Path) -> None:
    root = make(tmp_path / "a", CROWDS, SPLITS)
    index = root / "dataset.json"
    index.write_text(index.read_text().replace("{", '{"proof": 1,', 1), encoding="utf-8")
    assert [each["what"] for each in index_findings(root)] == ["dataset.json has the key 'proof', which none has"]
