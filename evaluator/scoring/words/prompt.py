"""The wording of questions and of their answers, read from a TOML file such as prompt.toml."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_toml
from generator.dataset.questions import (
    IMAGES,
    MATCHING,
    MOST,
    QUARTER_TURNS,
    SAME_SCENE,
    TAKEN_FROM,
    YES_NO,
    Candidates,
    Question,
)

DEFAULT = Path(__file__).with_name("prompt.toml")
Words = tuple[Annotated[str, Field(min_length=1)], ...]

_PLACEHOLDERS = {
    "choice": ("options",),
    "images": ("caption",),
    "matching": ("options",),
    "quarter_turns": ("options",),
    "taken_from": ("options",),
    "yes_no": ("caption",),
    "option": ("letter", "caption"),
    "assignment": ("first", "second"),
}
"""The placeholders that each template must have."""


@dataclass(frozen=True)
class Prompt:
    """Templates of questions, and the words of their answers."""

    # Not strict, because TOML and JSON have lists where the fields are tuples.
    __pydantic_config__ = ConfigDict(extra="forbid", strict=False)
    choice: str
    """Asks which caption is true; {options} are the lettered captions."""
    images: str
    """Asks of which of two images {caption} is true."""
    matching: str
    """Asks which of two captions belongs to which of two images; {options} are assignments."""
    yes_no: str
    """Asks whether {caption} is true."""
    option: str
    """A line of {options}: a {letter} and its {caption}."""
    assignment: str
    """An option of `matching`: {first} is the caption of the first image, {second} of the other."""
    letters: Annotated[str, Field(min_length=MOST, max_length=MOST)]
    """The labels of options, a character each."""
    yes: Annotated[Words, Field(min_length=1)]
    """The words that mean yes in an answer, the one that the question names first."""
    no: Annotated[Words, Field(min_length=1)]
    """The words that mean no in an answer, the one that the question names first."""
    # Runs that were asked before these questions existed have no words for them.
    same_scene: str = ""
    """Asks which of two images shows the scene of a first one."""
    quarter_turns: str = ""
    """Asks how far the camera moved from the first image to the second; {options} are turns."""
    taken_from: str = ""
    """Asks from where the second image was taken; {options} are sides of an object."""

    @property
    def digest(self) -> str:
        """12 hex digits of SHA-256 that identify the prompt."""
        content = json.dumps(asdict(self), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    def ask(self, question: Question, rows: Candidates) -> tuple[str, list[str]]:
        """Put a question into words.

        Args:
            question: The question.
            rows: The candidates of the benchmark.

        Returns:
            The words of the question, and the ids of the scenes whose images it shows.
        """
        captions = [rows.text[row] for row in question.options]
        scenes = rows.images_of(question)
        if question.form == IMAGES:
            return _fill(self.images, caption=captions[0]).strip(), scenes
        if question.form == YES_NO:
            return _fill(self.yes_no, caption=captions[0]).strip(), scenes
        if question.form == SAME_SCENE:
            return self.same_scene.strip(), scenes
        if question.form == MATCHING:
            template = self.matching
            option_texts = self.assignments(captions)
        elif question.form == QUARTER_TURNS:
            template, option_texts = self.quarter_turns, captions
        elif question.form == TAKEN_FROM:
            template, option_texts = self.taken_from, captions
        else:
            template, option_texts = self.choice, captions
        lines = [
            _fill(self.option, letter=letter, caption=text)
            for letter, text in zip(self.letters, option_texts, strict=False)
        ]
        return _fill(template, options="\n".join(lines)).strip(), scenes

    def assignments(self, captions: Sequence[str]) -> list[str]:
        """The options of a question about matching: in option k, caption k belongs to the first
        image."""
        first, second = captions
        return [
            _fill(self.assignment, first=first, second=second),
            _fill(self.assignment, first=second, second=first),
        ]


def read_prompt(path: Path | None) -> Prompt:
    """Read the prompt of a file.

    Args:
        path: A TOML file whose entries override those of prompt.toml; None for prompt.toml itself.

    Raises:
        UserError: The file is not such TOML, lacks a placeholder, or gives two answers the same
            words.
    """
    defaults = read_toml(DEFAULT, "prompt")
    overrides = {} if path is None else read_toml(path, "prompt")
    for name in overrides:
        if name not in defaults:
            raise UserError(
                f"The prompt {path} has no '{name}': {did_you_mean(name, list(defaults))}"
            )
    prompt = prompt_of({**defaults, **overrides}, path)
    for name, placeholders in _PLACEHOLDERS.items():
        for placeholder in placeholders:
            if f"{{{placeholder}}}" not in getattr(prompt, name):
                raise UserError(
                    f"'{name}' of the prompt {path} has no {{{placeholder}}}; put it where the "
                    f"text belongs."
                )
    # In lower case, as answers are read: "a" and "A" would be one answer.
    distinct_letters = set(prompt.letters.lower())
    if len(distinct_letters) < MOST or set(prompt.yes) & set(prompt.no):
        raise UserError(f"The prompt {path} gives two answers the same words; use different words.")
    return prompt


def prompt_of(record: Mapping[str, Any], path: object = "of the run") -> Prompt:
    """Make a prompt of its recorded fields.

    Args:
        record: The fields of `Prompt`, such as a run records them.
        path: Where they are from, for messages.

    Returns:
        The prompt.

    Raises:
        UserError: A field is missing or invalid.
    """
    try:
        return TypeAdapter(Prompt).validate_python(record)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(
            f"'{place}' of the prompt {path} cannot be used ({first['msg']}); fix it."
        ) from None


def _fill(text: str, **values: str) -> str:
    """Replace the {placeholders} of a text by values. Placeholders inside the values stay."""
    # Not str.format, which fails at other braces and would fill a placeholder that a caption has.
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), text)
