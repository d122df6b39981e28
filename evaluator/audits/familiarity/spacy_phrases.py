"""Noun phrases of captions by a trained pipeline of spaCy, which the user has installed."""

from typing import Any

from generator.base.errors import UserError
from generator.base.extras import check_installed

_NOUNS = ("NOUN", "PROPN")
_KEPT = (*_NOUNS, "ADJ", "VERB")
_UNUSED = ("ner", "lemmatizer")


class SpacyPhrases:
    """The extractor: spaCy's noun chunks up to their head, without determiners, numbers, adverbs and conjunctions. version: which pipeline
    it is."""

    def __init__(self, model: str) -> None:
        """model: the name of an installed pipeline, or its folder. Raises UserError where there is none, or it has no parser or
        no parts of speech."""
        check_installed("spacy")
        import spacy

        try:
            self._pipeline: Any = spacy.load(model, exclude=_UNUSED)
            doc = self._pipeline("a red car")
            list(doc.noun_chunks)
        except (OSError, ValueError, ImportError, NotImplementedError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise UserError(
                f"spaCy cannot find noun phrases with '{model}' ({reason}); name a pipeline that is installed."
            ) from None
        if not doc.has_annotation("POS"):
            raise UserError(f"The pipeline '{model}' of spaCy tells no parts of speech; name one with a tagger.")
        self.version = f"{self._pipeline.meta['name']} {self._pipeline.meta['version']}, spaCy {spacy.__version__}"

    def __call__(self, caption: str) -> list[str]:
        """The phrases of a caption in its order, words separated by single spaces, in lower case."""
        return [
            " ".join(word.lower_ for word in chunk if word.pos_ in _KEPT)
            for chunk in self._pipeline(caption).noun_chunks if chunk.root.pos_ in _NOUNS
        ]  # fmt: skip
