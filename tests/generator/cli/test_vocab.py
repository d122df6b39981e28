"""`gen vocab`: a starter family passes its own check."""

import json
from pathlib import Path

from generator.vocabulary.schema import read_vocabulary
from tests.conftest import refuse, run_command, succeed


def test_a_new_family_can_be_checked_at_once(tmp_path: Path) -> None:
    done = succeed("gen vocab new mine.toml", cwd=tmp_path)
    assert done.stdout == "mine.toml\n"
    assert (
        "Next: gen vocab check mine.toml, gen vocab show mine.toml, gen render --family mine.toml"
        in done.stderr
    )
    assert '--holdout "color=pink,gray shape=cube,sphere"' in done.stderr
    assert (
        succeed("gen vocab check mine.toml", cwd=tmp_path).stdout
        == "mine.toml: 0 errors, 0 warnings\n"
    )
    refuse("exists", "gen vocab new mine.toml", cwd=tmp_path)


def test_a_starter_of_a_family_without_room_for_its_colour_is_refused(tmp_path: Path) -> None:
    colors = read_vocabulary("clevr").values("color")
    glossy = "\n".join(f"[attributes.color.{name}]\nspecular = 0.1" for name in colors)
    families = {
        "full": "[objects]\ndrum = { mesh = 'clevr-cylinder' }",
        "pink": "[attributes.color]\npink = { srgb = '#f2a0bd' }",
        "glossy": glossy,
    }
    for name, text in families.items():
        (tmp_path / f"{name}.toml").write_text(f"extends = 'clevr'\n{text}\n", encoding="utf-8")
    succeed("gen vocab new mine.toml --extends full.toml", cwd=tmp_path)
    refuse("has the color 'pink' already", "gen vocab new x.toml --extends pink.toml", cwd=tmp_path)
    refuse("set different inputs", "gen vocab new x.toml --extends glossy.toml", cwd=tmp_path)
    assert not (tmp_path / "x.toml").exists()


def test_all_mistakes_are_listed_and_counted(tmp_path: Path) -> None:
    text = "name = 'bad'\nextends = 'clevr'\nshape = 1\n[floor]\ncolour = 2\n"
    (tmp_path / "bad.toml").write_text(text, encoding="utf-8")
    done = run_command("gen vocab check bad.toml --json", cwd=tmp_path)
    assert done.returncode == 2
    data = json.loads(done.stdout)
    assert (data["errors"], data["warnings"]) == (len(data["findings"]), 0)
    assert all(f"error: {finding['message']}" in done.stderr for finding in data["findings"])
