"""The commands that stages can be."""

import pytest

from evaluator.experiments.commands import KINDS, kind_of, words_of
from generator.base.errors import UserError
from tests.conftest import MODULES
from tests.evaluator.experiments.commands_of_click import TABLES, commands_of_click


def test_every_kind_is_a_command_with_the_option_out_unless_it_amends_a_folder() -> None:
    commands = {f"{name} {words}": command for name in MODULES for words, command in commands_of_click(name).items()}
    for kind in (each for each in KINDS.values() if each.name in commands or TABLES):
        options = {option for param in commands[kind.name].params for option in param.opts}
        assert ("--out" in options) is not kind.amends or kind.name == "gen verify"


def test_the_longest_name_and_the_words_after_it() -> None:
    words = words_of("score train scratch {world} --texts 'a b'", "stages.a")
    assert (kind_of(words, "stages.a").name, words[3:]) == ("score train scratch", ["{world}", "--texts", "a b"])


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("score trian scratch", "'score trian' is no command of a stage"),
        ("score train sratch x", "did you mean 'score train scratch'?"),
        ("rm -rf /", "'rm -rf' is no command of a stage"),
        ("gen plan --out there", "leave --out out"),
        ("gen plan 'a", "mend its quotes"),
        ("", "'' is no command"),
    ],
)
def test_other_commands_are_refused(command: str, said: str) -> None:
    with pytest.raises(UserError, match=r"^stages\.a: ") as caught:
        kind_of(words_of(command, "stages.a"), "stages.a")
    assert said in caught.value.message
