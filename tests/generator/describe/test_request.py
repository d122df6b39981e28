"""Presets of texts are read, and each mistake in one is named."""

from pathlib import Path

import pytest

from generator.base.errors import UserError
from generator.describe.protocols import protocol_names
from generator.describe.request import (
    TextRequest,
    check_options,
    check_request,
    first_request,
    read_text_preset,
    requested_protocols,
    text_preset_names,
)
from generator.holdout.request import HoldoutRequest
from generator.language.complexity import parse_complexity
from tests.generator.scenes import HOLDOUT, VOCABULARY


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (TextRequest(("binry",)), "did you mean 'binary'"),
        (TextRequest(template="there-was"), "did you mean 'there-is'"),
    ],
)
def test_unknown_protocols_and_templates_are_refused(request_: TextRequest, says: str) -> None:
    with pytest.raises(UserError, match=says):
        check_request(request_)


def test_protocols_come_in_the_order_of_the_registry() -> None:
    assert requested_protocols(TextRequest(("pairs", "binary"))) == ["binary", "pairs"]
    assert requested_protocols(TextRequest()) == list(protocol_names())


def test_first_benchmarks_have_the_options_that_protocols_declare() -> None:
    related = HoldoutRequest("bindsplit", ("relation:pair=1x2",), (0,)).holdouts(VOCABULARY)[0]
    assert first_request(HOLDOUT).options["binary"] == {"kinds": ("swap",)}
    assert first_request(related).options["binary"] == {"kinds": ("swap", "flip")}
    assert first_request(HOLDOUT).options["pairs"] == {"fallback_template": "that-is"}
    check_request(first_request(HOLDOUT))


@pytest.mark.parametrize("name", text_preset_names())
def test_shipped_presets_name_existing_protocols_and_templates(name: str) -> None:
    preset = read_text_preset(name)
    check_request(TextRequest(preset.protocols, preset.options, template=preset.template))
    parse_complexity(preset.complexity)
    assert set(preset.options) <= set(preset.protocols)


def test_a_preset_of_ones_own_is_read_from_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('about = "x"\nprotocols = ["skill"]\n[options.skill]\nabsent_values = true\n')
    assert read_text_preset(str(path)).options == {"skill": {"absent_values": True}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("protocols = [", "is not valid TOML"),
        ('about = "x"', "protocols is missing"),
        ('about = "x"\nprotocols = ["skill"]\nword = 1', "word"),
        ('about = "x"\nprotocols = ["skill"]\n[options.skil]\na = 1', "did you mean 'skill'"),
        (
            'about = "x"\nprotocols = ["skill"]\n[options.skill]\nabsent_value = true',
            "did you mean 'absent_values'",
        ),
        (
            'about = "x"\nprotocols = ["skill"]\n[options.skill]\ncells = []',
            "has no option 'cells'",
        ),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(UserError) as raised:
        read_text_preset(str(path))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_missing_preset_is_refused_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="did you mean 'compass2026'"):
        read_text_preset("compas2026")
    with pytest.raises(UserError, match="Cannot read the preset"):
        read_text_preset(str(tmp_path / "none.toml"))


def test_a_value_that_an_option_cannot_have_is_refused() -> None:
    with pytest.raises(
        UserError, match=r"The option synonym of 'hard_positives': .*'positive', got 'plain'"
    ):
        check_options("hard_positives", {"synonym": "plain"})
    check_options("hard_positives", {"synonym": "positive", "kinds": ["swap"]})
