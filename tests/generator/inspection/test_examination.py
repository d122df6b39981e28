"""`gen verify --images`: what an attacker changed, all digests computed again, is found by
rendering again."""

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from generator.base.errors import UserError
from generator.inspection.examination import Examination, parse_images, sample_scenes
from generator.judge.certificate import Images
from generator.judge.verify import verify_dataset
from generator.render.farm import Farm
from tests.generator.inspection.scenes import repaint
from tests.generator.judge.datasets import BENCHMARK, details_of, edit, seal


def examine(root: Path, *scene_ids: str) -> Images:
    """Render these scenes of a dataset again."""
    splits = dict.fromkeys(scene_ids, ("train",))
    return Examination(None, seed=0, farm=Farm(1))(root, splits)


def findings_of(images: Images, fault: str) -> str:
    return " | ".join(finding["what"] for finding in images.findings if finding["fault"] == fault)


def test_a_dataset_as_it_was_made_is_clean(own: Path) -> None:
    examination = Examination(2, seed=0, farm=Farm(1))
    certificate = verify_dataset(own, None, examine=examination)[BENCHMARK]
    assert (certificate["status"], certificate["level"]) == ("clean", "sampled images")
    numbers = {"scenes": 2, "of": 28, "seed": 0, "rendered_again": 2, "identical": 2}
    assert certificate["images"] | numbers == certificate["images"]
    assert (
        "at the level of sampled images: 2 of 28 images rendered again" in (certificate["sentence"])
    )
    assert "all 2 are byte-identical" in certificate["sentence"]


def test_changes_that_the_level_of_records_cannot_see_are_found(own: Path) -> None:
    """Two exchanged images, a mark on a floor, and poses edited with their boxes."""
    paths = [own / f"world/images/{scene_id}.png" for scene_id in ("000000", "000001")]
    first, second = (path.read_bytes() for path in paths)
    paths[0].write_bytes(second)
    paths[1].write_bytes(first)

    def mark(pixels: np.ndarray, row: dict[str, Any]) -> None:
        if row["scene_id"] == "000002":
            pixels[1:6, 1:6] = (173, 35, 35)

    def move(rows: list[dict[str, Any]]) -> None:
        record = json.loads(rows[3]["scene"])
        for obj in record["objects"]:
            obj["position"][0] += 1.0
        rows[3]["scene"] = json.dumps(record)

    repaint(own, *[mark] * 3)
    edit(own / "world", "scenes", move)
    assert verify_dataset(own, None)[BENCHMARK]["status"] == "clean"
    images = examine(own, *(f"00000{n}" for n in range(4)))
    findings = findings_of(images, "not the same render")
    assert [f"scene 00000{n}" in findings for n in range(4)] == [True] * 4
    assert "scene 000003: object 0 has the box" in findings_of(images, "wrong box")


@pytest.mark.full
def test_a_color_renamed_in_the_vocabulary(own: Path) -> None:
    path = own / "world/vocabulary.toml"
    vocabulary = tomllib.loads(path.read_text(encoding="utf-8"))
    colors = vocabulary["attributes"]["color"]
    colors["red"]["linear"], colors["blue"]["linear"] = (
        colors["blue"]["linear"],
        colors["red"]["linear"],
    )
    path.write_text(tomli_w.dumps(vocabulary), encoding="utf-8")
    seal(own / "world")
    images = examine(own, "000000")
    assert "the value 'red' of color has the colour that people call blue" in (
        findings_of(images, "wrong word")
    )


def test_a_record_that_cannot_be_rendered_is_named(own: Path) -> None:
    def damage(rows: list[dict[str, Any]]) -> None:
        record = json.loads(rows[0]["scene"])
        record.pop("lamps")
        rows[0]["scene"] = json.dumps(record)

    edit(own / "world", "scenes", damage)
    assert "scene 000000: " in findings_of(examine(own, "000000"), "not rendered again")


def test_a_damaged_image_is_named(own: Path) -> None:
    (own / "world/images/000000.png").write_bytes(b"")
    seal(own / "world")
    assert "000000.png" in findings_of(examine(own, "000000"), "damaged file")


def test_a_damaged_world_stays_at_the_level_of_records(own: Path) -> None:
    (own / "world/SHA256SUMS").write_text(f"{64 * '0'}  images/000000.png\n", encoding="utf-8")
    examination = Examination(None, seed=0, farm=Farm(1))
    certificate = verify_dataset(own, None, examine=examination)[BENCHMARK]
    assert certificate["level"] == "records"
    assert "no image was checked" in details_of(certificate, "damaged world")


@pytest.mark.parametrize("spec", ["0", "-1", "some", "", "1.5", "²"])
def test_a_number_or_all(spec: str) -> None:
    assert (parse_images("all"), parse_images("20")) == (None, 20)
    with pytest.raises(UserError, match="a number of images such as 100, or all"):
        parse_images(spec)


def test_without_a_seed_nobody_can_foresee_which_images_are_drawn() -> None:
    assert len({Examination(1).seed for _ in range(10)}) > 5


NAMES = st.tuples(st.sampled_from(["train", "val", "unseen", ""]))


@given(st.lists(NAMES, min_size=1, max_size=60), st.integers(1, 80), st.integers(0, 2**32))
def test_splits_are_drawn_from_evenly(names: list[tuple[str]], number: int, seed: int) -> None:
    splits = {f"{i:06d}": name for i, name in enumerate(names)}
    sample = sample_scenes(splits, number, seed)
    assert sample == sorted(set(sample))
    assert len(sample) == min(number, len(splits))
    n_sampled, n_present = Counter(splits[scene_id] for scene_id in sample), Counter(names)
    most = max(n_sampled.values())
    assert all(n_sampled[name] >= min(most - 1, n_present[name]) for name in n_present)
    assert sample == sample_scenes(splits, number, seed)


def test_no_scene_is_sure_to_be_spared() -> None:
    splits = {f"{i:06d}": ("train",) for i in range(1000)}
    counts = Counter(
        scene_id for seed in range(200) for scene_id in sample_scenes(splits, 100, seed)
    )
    assert len(counts) == 1000
