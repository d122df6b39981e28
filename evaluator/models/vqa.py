"""`vqa:` models: generative vision-language models, asked whether an image shows what a text says.

The score is that of VQAScore (Lin et al. 2024, "Evaluating Text-to-Visual Generation with Image-to-Text Generation"),
in its published wording, as log odds. By folder or by name on the Hub.
"""

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image

from evaluator.models.blip import blip_states, blip_words
from evaluator.models.by_image import BATCH, ByImage, in_batches, token_rows
from evaluator.models.pretrained import Loaded, load_pretrained
from evaluator.models.registry import fingerprints
from generator.dataset.errors import UserError

QUESTION = 'Does this figure show "{}"? Please answer yes or no.'
CHANNELS = ("log_odds", "p_yes")
GENERATIVE_BATCH = 8
_WORD_STARTS = "Ġ▁ "


class Answers:
    """Which tokens say yes and which say no: every token that is one of the words, with or without a leading space and
    capitals."""

    def __init__(self, tokenizer: Any, name: str):
        self.ids = {
            answer: sorted(
                i for token, i in tokenizer.get_vocab().items() if token.lstrip(_WORD_STARTS).casefold() == answer
            )
            for answer in ("yes", "no")
        }
        for answer, ids in self.ids.items():
            if not ids:
                raise UserError(f"The tokenizer of '{name}' has no token for '{answer}'; name a model that answers in English.")  # fmt: skip

    def scores(self, logits: torch.Tensor) -> torch.Tensor:
        """log P(yes) − log P(no), and P(yes) (n, 2) of the logits (n, vocabulary) of the answer's first token."""
        logits = logits.float()
        yes, no = (logits[:, ids].logsumexp(1) for ids in self.ids.values())
        return torch.stack([yes - no, (yes - logits.logsumexp(1)).exp()], dim=1)


def question(text: str) -> str:
    """What the model is asked. One wording for phrases and for sentences, so that texts differ in themselves alone.

    >>> question("There is a red cube.")
    'Does this figure show "There is a red cube."? Please answer yes or no.'
    """
    return QUESTION.format(text)


class VqaScorer:
    """A generative vision-language model as a PairScorer (registry.py).

    Each pair is one forward pass over the image and the question. Prompts are padded on the right, where no token that
    is read attends to the padding and positions stay as they are for one prompt alone. A text that holds one of the
    tokenizer's own signs, such as the image's place, would break the prompt: its score is nan.
    """

    channels = CHANNELS
    passes = 1

    def __init__(self, loaded: Loaded, batch: int = GENERATIVE_BATCH):
        self._loaded, self._batch = loaded, batch
        self._model, self._processor, tokenizer = loaded.model, loaded.processor, loaded.tokenizer
        tokenizer.padding_side = "right"
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        image = getattr(self._processor, "image_token", None)
        self._signs = {*tokenizer.all_special_tokens, *([str(image)] if image else [])}
        self._answers = Answers(tokenizer, loaded.info["weights"])
        self._templated = bool(getattr(self._processor, "chat_template", None))
        self._start = _decoder_start(self._model)
        self._keeps = "logits_to_keep" in inspect.signature(self._model.forward).parameters
        self._check_image_is_placed()
        asked = {"question": QUESTION, "chat_template": self._templated, "answers": self._answers.ids}
        self.info = loaded.info | asked
        self.key = loaded.key("vqa", asked, getattr(self._processor, "chat_template", None))

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """A digest of the question's tokens, int64 (n, 4); nothing is cut off."""
        rows = self._loaded.tokenizer([question(text) for text in texts], add_special_tokens=False)["input_ids"]
        return fingerprints(np.array(row, dtype=np.int64).tobytes() for row in rows)

    @torch.inference_mode()
    def score_pairs(
        self,
        images: Sequence[Image.Image],
        pairs: Sequence[tuple[int, str]],
        contests: Sequence[Sequence[int]] | None = None,
    ) -> np.ndarray:
        """As PairScorer.score_pairs."""

        def compute(part: Sequence[int]) -> np.ndarray:
            logits = self._logits([images[pairs[i][0]] for i in part], [pairs[i][1] for i in part])
            scores: np.ndarray = self._answers.scores(logits).cpu().numpy()
            return scores

        plain = [i for i, (_, text) in enumerate(pairs) if not any(sign in text for sign in self._signs)]
        order = sorted(plain, key=lambda i: len(pairs[i][1]))  # little padding
        found, self._batch = in_batches(compute, order, self._batch)
        scores = np.full((len(pairs), len(self.channels)), np.nan, dtype=np.float32)
        if order:
            scores[order] = np.concatenate(found)
        return scores

    def _inputs(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Any:
        prompts = [question(text) for text in texts]
        seen: list[Any] = list(images)
        special = {}
        if self._templated:
            asked = [[{"type": "image"}, {"type": "text", "text": prompt}] for prompt in prompts]
            talks = [[{"role": "user", "content": content}] for content in asked]
            prompts = [self._processor.apply_chat_template(talk, add_generation_prompt=True) for talk in talks]
            seen = [[image] for image in images]
            start = self._loaded.tokenizer.bos_token
            if start and prompts[0].startswith(start):
                special = {"add_special_tokens": False}
        inputs = self._processor(images=seen, text=prompts, padding=True, return_tensors="pt", **special)
        inputs.pop("labels", None)  # PaliGemma's processor gives what is only for training
        return inputs.to(self._loaded.device, self._model.dtype)

    def _logits(self, images: Sequence[Image.Image], texts: Sequence[str]) -> torch.Tensor:
        """Logits (n, vocabulary) of the first token after the prompt."""
        inputs = self._inputs(images, texts)
        if self._start is not None:
            begin = torch.full((len(texts), 1), self._start, device=self._loaded.device)
            decoded: torch.Tensor = self._model(**inputs, decoder_input_ids=begin).logits[:, -1]
            return decoded
        mask = inputs.get("attention_mask", torch.ones_like(inputs["input_ids"]))
        last = (mask * torch.arange(mask.shape[1], device=mask.device)).argmax(1)
        kept, place = last.unique(return_inverse=True)
        if self._keeps:
            logits = self._model(**inputs, logits_to_keep=kept, use_cache=False).logits
        else:
            logits, kept, place = self._model(**inputs).logits, torch.arange(mask.shape[1]), last
        if logits.shape[1] != len(kept):
            raise UserError(f"vqa: cannot find the answer in what {type(self._model).__name__} gives; name another model.")  # fmt: skip
        answers: torch.Tensor = logits[torch.arange(len(texts), device=logits.device), place.to(logits.device)]
        return answers

    def _check_image_is_placed(self) -> None:
        """Refuses a processor that leaves the image out of the prompt, for want of a chat template."""
        config = self._model.config
        placeholder = getattr(config, "image_token_id", getattr(config, "image_token_index", None))
        if placeholder is None:
            return
        name, mend = self._loaded.info["weights"], "name another model"
        if not self._templated:
            mend = "it has no chat template: add its chat_template.jinja"
        reason = "the image has no place in the prompt"
        try:
            if (self._inputs([Image.new("RGB", (224, 224))], ["a"])["input_ids"] == placeholder).any():
                return
        except Exception as error:  # every processor has errors of its own
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:160].rstrip('. ')}"
        raise UserError(f"The processor of '{name}' does not take an image and a question ({reason}); {mend}.")


class BlipVqaScorer(ByImage):
    """BLIP for question answering (Li et al. 2022) as a PairScorer: the vision encoder runs once an image, the question
    attends to it, and the decoder's first token is the answer."""

    channels = CHANNELS

    def __init__(self, loaded: Loaded, batch: int = BATCH):
        super().__init__(loaded, batch)
        self._length = min(loaded.tokenizer.model_max_length, loaded.model.config.text_config.max_position_embeddings)
        self._answers = Answers(loaded.tokenizer, loaded.info["weights"])
        asked = {"question": QUESTION, "chat_template": False, "answers": self._answers.ids}
        self.info |= {"text_length": self._length, **asked}
        self.key = loaded.key("vqa", asked, self._length)

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Token ids of the question, int64 (n, text_length)."""
        return token_rows(self._loaded.tokenizer, [question(text) for text in texts], self._length)

    def _encode(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        return list(blip_states(self._loaded, images))

    def _read(self, features: Sequence[torch.Tensor], texts: Sequence[str]) -> torch.Tensor:
        model, states = self._loaded.model, torch.stack(list(features))
        words = blip_words(self._loaded, [question(text) for text in texts], self._length)
        whole = torch.ones(states.shape[:2], dtype=torch.long, device=states.device)
        asked = model.text_encoder(**words, encoder_hidden_states=states, encoder_attention_mask=whole)
        return self._answers.scores(self._answer(asked.last_hidden_state, words["attention_mask"].sum(1)))

    def _answer(self, asked: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Logits (n, vocabulary) of the answer's first token, for questions (n, longest, d) of those lengths.

        Questions of one length go together, without padding: transformers lets the decoder attend to it.
        """
        decoder, start = self._loaded.model.text_decoder, self._loaded.model.decoder_start_token_id
        found: list[torch.Tensor] = []
        order: list[torch.Tensor] = []
        for length in lengths.unique().tolist():
            rows = (lengths == length).nonzero()[:, 0]
            begin = torch.full((len(rows), 1), start, device=asked.device)
            found.append(decoder(input_ids=begin, encoder_hidden_states=asked[rows, :length]).logits[:, -1])
            order.append(rows)
        return torch.cat(found)[torch.cat(order).argsort()]


def _decoder_start(model: Any) -> int | None:
    """The token that the answer begins with in an encoder-decoder; None in a decoder alone."""
    texts = model.config.get_text_config()
    if not (getattr(model.config, "is_encoder_decoder", False) or getattr(texts, "is_encoder_decoder", False)):
        return None
    generation = getattr(model.generation_config, "decoder_start_token_id", None)
    start = getattr(texts, "decoder_start_token_id", None) if generation is None else generation
    return getattr(texts, "bos_token_id", None) if start is None else start


def load_vqa(name: str, device: str | None) -> VqaScorer | BlipVqaScorer:
    """Load a folder or a name on the Hub. Raises UserError when it is no model that answers questions on an image."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as TYPES

    kinds = {**dict.fromkeys(TYPES, "AutoModelForImageTextToText"), "blip": "BlipForQuestionAnswering"}
    loaded = load_pretrained(name, device, "vqa", kinds, "AutoProcessor")
    return BlipVqaScorer(loaded) if loaded.model.config.model_type == "blip" else VqaScorer(loaded)
