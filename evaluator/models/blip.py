"""BLIP (Li et al. 2022, "BLIP: Bootstrapping Language-Image Pre-training") with its heads for
retrieval and for questions.

`blip:` models use the retrieval heads, `vqa:` models the question head.
"""

from collections.abc import Sequence
from typing import Any, Literal, Unpack

import numpy as np
import torch
from PIL import Image
from torch.nn import functional as F

from evaluator.models.bases import CrossEncoder
from evaluator.models.contracts import Contests, ImageTextPairs
from evaluator.models.pretrained import (
    TOKENIZER_AND_IMAGES,
    LoadTarget,
    Precision,
    Pretrained,
    load_pretrained,
)
from evaluator.models.yes_no import CHANNELS, QUESTION, AnswerTokens, question
from generator.base.errors import UserError

FirstToken = Literal["cls", "enc"]
"""The first token of texts that are read with an image: the tokenizer's own, or [ENC]."""
ENC_TOKEN = "[ENC]"
_TARGET = LoadTarget(
    option="blip:",
    description="a BLIP model with retrieval heads",
    classes={"blip": "BlipForImageTextRetrieval"},
    readers=TOKENIZER_AND_IMAGES,
)


class _Blip(CrossEncoder):
    """Base class for both heads: the vision encoder runs once per image, and the text encoder
    attends to its output."""

    def __init__(self, loaded: Pretrained, first_token: FirstToken = "cls"):
        super().__init__(loaded, loaded.model.config.text_config.max_position_embeddings)
        self._first = first_id(loaded, first_token)
        self.info |= {"first_token": first_token}

    def _encode_images(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        """Hidden states (patches, d) of the vision encoder for each image."""
        inputs = self._loaded.image_processor(list(images), return_tensors="pt")
        pixels = inputs["pixel_values"].to(self._loaded.device, self._loaded.model.dtype)
        return list(self._loaded.model.vision_model(pixel_values=pixels).last_hidden_state)

    def _words(self, texts: Sequence[str], first: int | None = None) -> dict[str, torch.Tensor]:
        """`input_ids` and `attention_mask`, each (n, longest text). first: the id that replaces the
        first token."""
        words = self._loaded.tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=self._length,
            return_token_type_ids=False,
            return_tensors="pt",
        ).to(self._loaded.device)
        if first is not None:
            words["input_ids"][:, 0] = first
        return {"input_ids": words["input_ids"], "attention_mask": words["attention_mask"]}

    def _read(
        self, states: torch.Tensor, texts: Sequence[str]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Hidden states (n, longest, d) of texts that attend to their images' states, and the
        texts' lengths (n,)."""
        words = self._words(texts, self._first)
        mask = torch.ones(states.shape[:2], dtype=torch.long, device=states.device)
        output = self._loaded.model.text_encoder(
            **words, encoder_hidden_states=states, encoder_attention_mask=mask
        )
        return output.last_hidden_state, words["attention_mask"].sum(1)


class BlipScorer(_Blip):
    """A BLIP model with retrieval heads as a PairScorer.

    `itm` is the matching head's logit of a match minus its logit of no match, which is the log odds
    of a match. `itc` is the cosine of the image's and the text's own embeddings.
    """

    channels = ("itm", "itc")

    def __init__(self, loaded: Pretrained, first_token: FirstToken = "cls"):
        super().__init__(loaded, first_token)
        self._text_embeddings: dict[str, torch.Tensor] = {}
        self.key = loaded.key("blip", self._length, self._first)

    def score_pairs(
        self, images: Sequence[Image.Image], pairs: ImageTextPairs, contests: Contests = None
    ) -> np.ndarray:
        """As PairScorer.score_pairs."""
        # Text embeddings are kept for one call, so that memory does not grow with a run.
        self._text_embeddings = {}
        return super().score_pairs(images, pairs, contests)

    def _score(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        model = self._loaded.model
        states = torch.stack(list(features))
        hidden, _ = self._read(states, texts)
        match = model.itm_head(hidden[:, 0])
        image_embeddings = F.normalize(model.vision_proj(states[:, 0]), dim=-1)
        cosine = (image_embeddings * self._embed_texts(texts)).sum(1)
        # The head has a logit for no match and one for a match.
        log_odds = match[:, 1] - match[:, 0]
        return torch.stack([log_odds, cosine], dim=1)

    def _embed_texts(self, texts: Sequence[str]) -> torch.Tensor:
        """Unit embeddings (n, d) of texts without an image; each distinct text is embedded once."""
        missing = sorted(set(texts) - self._text_embeddings.keys())
        if missing:
            model = self._loaded.model
            output = model.text_encoder(**self._words(missing))
            first_states = output.last_hidden_state[:, 0]
            embeddings = F.normalize(model.text_proj(first_states), dim=-1)
            self._text_embeddings.update(zip(missing, embeddings, strict=True))
        return torch.stack([self._text_embeddings[text] for text in texts])


class BlipVqaScorer(_Blip):
    """BLIP for question answering as a PairScorer: the first token of the decoder is the answer."""

    channels = CHANNELS

    def __init__(self, loaded: Pretrained, first_token: FirstToken = "cls"):
        super().__init__(loaded, first_token)
        self._answers = AnswerTokens(loaded.tokenizer, loaded.info["weights"])
        prompt: dict[str, Any] = {
            "question": QUESTION,
            "chat_template": False,
            "answers": self._answers.ids,
        }
        self.info |= prompt
        self.key = loaded.key("vqa", prompt, self._length, self._first)

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids of the question, int64 (n, text_length)."""
        return super().tokens([question(text) for text in texts])

    def _score(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        questions = [question(text) for text in texts]
        states, lengths = self._read(torch.stack(list(features)), questions)
        return self._answers.scores(self._answer_logits(states, lengths))

    def _answer_logits(self, questions: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (n, vocabulary) of the answer's first token, from states (n, longest, d) of
        questions of `lengths`.

        Questions of equal length are decoded together, because transformers lets the decoder attend
        to padding.
        """
        decoder, start = self._loaded.model.text_decoder, self._loaded.model.decoder_start_token_id
        logits: dict[int, torch.Tensor] = {}
        for length in lengths.unique().tolist():
            rows = (lengths == length).nonzero()[:, 0]
            first_ids = torch.full((len(rows), 1), start, device=questions.device)
            output = decoder(input_ids=first_ids, encoder_hidden_states=questions[rows, :length])
            logits.update(zip(rows.tolist(), output.logits[:, -1], strict=True))
        return torch.stack([logits[row] for row in range(len(lengths))])


def first_id(loaded: Pretrained, first_token: FirstToken) -> int | None:
    """The id of the first token of a text that is read together with an image; None for the
    tokenizer's own, [CLS].

    The published code adds [DEC] and then [ENC] to BERT's words, and begins these texts with [ENC].
    transformers has both embeddings and gives the id of [DEC] in the configuration, but its
    tokenizers lack [ENC].

    Raises:
        UserError: The model has no [ENC].
    """
    if first_token == "cls":
        return None
    tokenizer, config = loaded.tokenizer, loaded.model.config.text_config
    if ENC_TOKEN in tokenizer.get_vocab():
        return int(tokenizer.convert_tokens_to_ids(ENC_TOKEN))
    # As published: the words, then [DEC], the configuration's first token, then [ENC].
    has_both = config.bos_token_id == len(tokenizer) == config.vocab_size - 2
    if has_both:
        return int(config.bos_token_id + 1)
    raise UserError(
        f"'{loaded.info['weights']}' has no token {ENC_TOKEN} after its words; leave "
        f"first_token=enc out."
    )


def load_blip(
    name: str,
    device: str | None,
    *,
    first_token: FirstToken = "cls",
    **precision: Unpack[Precision],
) -> BlipScorer:
    """Load BLIP with its retrieval heads.

    Args:
        name: A folder, or a name on the Hub.
        device: The device that the user named; None for the best one.
        first_token: The first token of texts that are read with an image, [CLS] as in transformers
            or [ENC] as in the published code.
        precision: The number format.

    Raises:
        UserError: It is not a BLIP model with retrieval heads, or has no [ENC].
    """
    return BlipScorer(load_pretrained(name, device, _TARGET, **precision), first_token)
