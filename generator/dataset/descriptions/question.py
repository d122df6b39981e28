"""The question that asks for a description of an image, in words."""

import json
from dataclasses import dataclass
from typing import Any

from .description import AnswerForm
from .json_reader import WordsAllowed
from .schema import answer_schema, example_answer
from .vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class DescriptionQuestion:
    """How a description is asked for."""

    form: AnswerForm = "json"
    """JSON by a schema, or sentences."""
    words: WordsAllowed = "closed"
    """`closed`: the question names the world's words. `open`: it does not."""
    relations: bool = False
    """Whether it asks how the objects stand to each other."""

    def schema(self, vocabulary: Vocabulary) -> dict[str, Any] | None:
        """Return the JSON schema of the answer.

        Args:
            vocabulary: the words of the image's world.

        Returns:
            The schema; None for sentences.
        """
        if self.form == "prose":
            return None
        return answer_schema(vocabulary, relations=self.relations, words=self.words)

    def text(self, vocabulary: Vocabulary) -> str:
        """Write the question.

        Args:
            vocabulary: the words of the image's world.

        Returns:
            A few lines of text.

        Example:
            >>> tables = '[objects]\\ncube = {}\\n[attributes.color]\\nred = {}\\nblue = {}\\n'
            >>> vocabulary = Vocabulary.from_toml('category = "shape"\\n' + tables)
            >>> print(DescriptionQuestion(form="prose").text(vocabulary))
            Describe this image. Name every object in it once, with its shape and color.
            Answer in short sentences, and use these words:
            shape: cube
            color: red, blue
        """
        features = [vocabulary.category, *vocabulary.judged_kinds]
        task = f"Describe this image. Name every object in it once, with its {_listed(features)}."
        if self.relations:
            task += " Also say how each two objects stand to each other, as seen in the image."
        if self.form == "json":
            return "\n".join([task, *self._json_lines(vocabulary)])
        return "\n".join([task, *self._prose_lines(vocabulary)])

    def _json_lines(self, vocabulary: Vocabulary) -> list[str]:
        lines = [
            "Answer only with JSON of this schema:",
            json.dumps(self.schema(vocabulary)),
            f"For example: {example_answer(vocabulary, relations=self.relations)}",
        ]
        if self.relations:
            lines.append("subject and object are places in the list of objects, counted from 0.")
        return lines

    def _prose_lines(self, vocabulary: Vocabulary) -> list[str]:
        if self.words == "open":
            return ["Answer in short sentences."]
        lines = ["Answer in short sentences, and use these words:"]
        lines.append(f"{vocabulary.category}: {', '.join(vocabulary.nouns)}")
        for kind in vocabulary.judged_kinds:
            lines.append(f"{kind}: {', '.join(vocabulary.values[kind])}")
        if self.relations:
            phrases = [phrase for phrase, *_ in vocabulary.relations.values()]
            lines.append(f"relations: {', '.join(phrases)}")
        return lines


def _listed(words: list[str]) -> str:
    """Words as a list in a sentence: "a, b and c"."""
    if len(words) == 1:
        return words[0]
    return f"{', '.join(words[:-1])} and {words[-1]}"
