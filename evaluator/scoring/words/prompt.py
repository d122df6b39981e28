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
from generator.dataset.questions import IMAGES, MATCHING, MOST, YES_NO, Candidates, Question

DEFAULT = Path(__file__).with_name("prompt.toml")
Words = tuple[Annotated[str, Field(min_length=1)], ...]


@dataclass(frozen=True)
class Prompt:
    """Templates of questions. choice: which caption is true. images: of which of two images a
    caption is true. matching: which of two captions belongs to which of two images. yes_no: whether
    a caption is true. option: a line of {options}. assignment: an option of matching, whose {first}
    caption is that of the first image.

    letters: the labels of options. yes, no: the words that an answer may give.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=False)
    choice: str
    images: str
    matching: str
    yes_no: str
    option: str
    assignment: str
    letters: Annotated[str, Field(min_length=MOST, max_length=MOST)]
    yes: Annotated[Words, Field(min_length=1)]
    no: Annotated[Words, Field(min_length=1)]

    @property
    def digest(self) -> str:
        """12 hex digits of SHA-256 that identify the prompt."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]

    def ask(self, question: Question, rows: Candidates) -> tuple[str, list[str]]:
        """The words of a question, and the scenes that it shows."""
        texts, scenes = [rows.text[row] for row in question.options], rows.images_of(question)
        if question.form == IMAGES:
            return _filled(self.images, caption=texts[0]).strip(), scenes
        if question.form == YES_NO:
            return _filled(self.yes_no, caption=texts[0]).strip(), scenes
        said, template = texts, self.choice
        if question.form == MATCHING:
            said, template = self.assignments(texts), self.matching
        lettered = zip(self.letters, said, strict=False)
        options = "\n".join(
            _filled(self.option, letter=letter, caption=text) for letter, text in lettered
        )
        return _filled(template, options=options).strip(), scenes

    def assignments(self, captions: Sequence[str]) -> list[str]:
        """The options of a question about matching: in option k, caption k belongs to the first
        image."""
        first, second = captions
        return [
            _filled(self.assignment, first=first, second=second),
            _filled(self.assignment, first=second, second=first),
        ]


def read_prompt(path: Path | None) -> Prompt:
    """The prompt of a file, whose entries override those of prompt.toml; None for prompt.toml
    itself.

    Raises UserError for a file that is not such TOML or lacks a placeholder.
    """
    usual = read_toml(DEFAULT, "prompt")
    given = {} if path is None else read_toml(path, "prompt")
    for name in given:
        if name not in usual:
            raise UserError(f"The prompt {path} has no '{name}': {did_you_mean(name, list(usual))}")
    found = prompt_of({**usual, **given}, path)
    places = {
        "choice": ("options",),
        "images": ("caption",),
        "matching": ("options",),
        "yes_no": ("caption",),
        "option": ("letter", "caption"),
        "assignment": ("first", "second"),
    }
    for name, needed in places.items():
        for place in needed:
            if f"{{{place}}}" not in getattr(found, name):
                raise UserError(
                    f"'{name}' of the prompt {path} has no {{{place}}}; put it where the text "
                    f"belongs."
                )
    if len(set(found.letters.lower())) < MOST or {*found.yes} & {*found.no}:
        raise UserError(f"The prompt {path} gives two answers the same words; use different words.")
    return found


def prompt_of(record: Mapping[str, Any], path: object = "of the run") -> Prompt:
    """The prompt with the fields of `record`. Raises UserError for invalid values."""
    try:
        return TypeAdapter(Prompt).validate_python(record)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(
            f"'{place}' of the prompt {path} cannot be used ({first['msg']}); mend it."
        ) from None


def _filled(text: str, **values: str) -> str:
    """Replace the {placeholders} of a text by values. Placeholders inside the values stay."""
    return re.sub(r"\{(\w+)\}", lambda place: values.get(place[1], place[0]), text)
