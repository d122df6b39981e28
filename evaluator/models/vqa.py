"""`vqa:` models: generative vision-language models, asked yes or no whether an image shows what a
text says.

The question comes from VQAScore (Lin et al. 2024, "Evaluating Text-to-Visual Generation with
Image-to-Text Generation", section 3); the score is the log odds of yes against no.
"""

import copy
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Unpack

import numpy as np
import torch
from PIL import Image
from torch.nn.utils.rnn import pad_sequence
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as TYPES,
)

from evaluator.models.bases import PAIR
from evaluator.models.blip import BlipVqaScorer, FirstToken
from evaluator.models.contracts import (
    FAILED,
    Answer,
    Answerer,
    BatchSize,
    Chat,
    Contests,
    How,
    Pairs,
    PairScorer,
    fingerprints,
)
from evaluator.models.hub import first_line
from evaluator.models.pretrained import (
    PROCESSOR,
    Pretrained,
    Storage,
    Wanted,
    load_pretrained,
    without_incidental,
)
from evaluator.models.yes_no import CHANNELS, QUESTION, AnswerTokens, question
from generator.base.errors import UserError

logger = logging.getLogger(__name__)
_BATCH = 8
_BLIP = {"blip": "BlipForQuestionAnswering"}
_SAME = {torch.float32: 1e-4}
_ROUNDED = 0.1
"""Tolerance of log odds for rounding in half precision."""


class SharedPrefix:
    """Prompts about one image, whose common prefix a causal model of transformers computes once and
    caches.

    The suffixes are padded on the right. In causal attention a token reads only earlier tokens, so
    padding changes nothing.
    """

    def __init__(self, model: Any, inputs: Any, prompts: Sequence[list[int]]):
        """inputs: the processor's output for the first prompt with its image, a batch of 1.
        prompts: token ids of every prompt, with the image's placeholder not yet expanded.

        Raises ValueError if the processor's tokens do not end like the first prompt, or the cache
        has another length.
        """
        self._model = model
        ids = inputs["input_ids"][0]
        ends = _after_common(prompts)
        n = len(ids) - len(ends[0])
        if n < 1 or ids[n:].tolist() != ends[0]:
            raise ValueError("the processor changes the tokens after the image")
        before = {
            name: value[:, :n] if value.shape == inputs["input_ids"].shape else value
            for name, value in inputs.items()
        }
        self._cache = (
            "cache" if "cache" in _parameters(model) else "past_key_values"
        )  # until transformers 5.24
        self._past = model(**before, use_cache=True, **_no_logits(model))[self._cache]
        self._length = int(self._past.get_seq_length())
        if self._length != n:
            raise ValueError("the model caches fewer or more tokens than it reads")
        self._ends = [torch.tensor(end, device=ids.device) for end in ends]

    def last_logits(self, rows: Sequence[int]) -> torch.Tensor:
        """Logits (rows, vocabulary) of the next token after each of the prompts `rows`."""
        past = copy.deepcopy(self._past)
        past.batch_repeat_interleave(len(rows))
        ends = [self._ends[row] for row in rows]
        last = torch.tensor([len(end) - 1 for end in ends], device=ends[0].device)
        inputs = {"input_ids": pad_sequence(ends, batch_first=True), self._cache: past}
        logits: torch.Tensor = self._model(**inputs, use_cache=True).logits
        return logits[torch.arange(len(rows), device=logits.device), last.to(logits.device)]


def _after_common(prompts: Sequence[list[int]]) -> list[list[int]]:
    """Each list without the common prefix of all; at least the last element of each is kept.

    >>> _after_common([[1, 2, 3, 9], [1, 2, 4, 5, 9]])
    [[3, 9], [4, 5, 9]]
    """
    most, n = min(map(len, prompts)) - 1, 0
    while n < most and all(prompt[n] == prompts[0][n] for prompt in prompts):
        n += 1
    return [prompt[n:] for prompt in prompts]


def _parameters(model: Any) -> Mapping[str, Any]:
    return inspect.signature(model.forward).parameters


def _no_logits(model: Any) -> dict[str, int]:
    """The option to compute a single token's logits, since logits of all tokens of an image take
    much memory."""
    return {"logits_to_keep": 1} if "logits_to_keep" in _parameters(model) else {}


class VqaScorer(PairScorer, Answerer):
    """A generative vision-language model as an Answerer and as a PairScorer, with one forward pass
    per pair over the image and the question.

    The common prefix of an image's prompts, mainly the image, is computed once if the model allows
    it (SharedPrefix). Prompts are padded on the right, where padding changes neither attention nor
    positions of the tokens that are read. A text with one of the tokenizer's special tokens, such
    as the image placeholder, would break the prompt: its score is NaN.
    """

    channels = CHANNELS
    passes = 1
    shares_prefix: bool
    """Whether the common prefix of an image's prompts is computed once; if False, each prompt is
    computed whole."""

    def __init__(self, loaded: Pretrained):
        self._loaded, self.batch = loaded, BatchSize(_BATCH, PAIR)
        self._model, self._processor, tokenizer = loaded.model, loaded.processor, loaded.tokenizer
        tokenizer.padding_side = "right"
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        image_token = getattr(self._processor, "image_token", None)
        self._special_tokens = {
            *tokenizer.all_special_tokens,
            *([str(image_token)] if image_token else []),
        }
        self._answers = AnswerTokens(tokenizer, loaded.info["weights"])
        self._has_template = bool(template := getattr(self._processor, "chat_template", None))
        self._decoder_start = _decoder_start(self._model)
        # a separator would end the prompt that a decoder continues
        separated = (
            self._decoder_start is None
            and tokenizer("a")["input_ids"][-1] == tokenizer.sep_token_id
        )
        self._start = (
            tokenizer.bos_token if template else tokenizer.cls_token if separated else None
        )
        self._selects_logits = bool(_no_logits(self._model))
        self._check_image_placeholder()
        self.shares_prefix = self._may_share()
        asked = {
            "question": QUESTION,
            "chat_template": self._has_template,
            "answers": self._answers.ids,
        }
        self.info = (
            loaded.info
            | asked
            | {"image_prefix": "computed once" if self.shares_prefix else "computed for each text"}
        )
        generation = getattr(
            self._model, "generation_config", None
        )  # affects answers, as does the template
        self.key = loaded.key(
            "vqa", asked, template, without_incidental(generation and generation.to_dict())
        )

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Fingerprints of the prompt's token ids, int64 (n, 4); prompts are not truncated."""
        return fingerprints(np.array(row, dtype=np.int64).tobytes() for row in self._ids(texts))

    @torch.inference_mode()
    def score_pairs(
        self, images: Sequence[Image.Image], pairs: Pairs, contests: Contests = None
    ) -> np.ndarray:
        """As PairScorer.score_pairs."""

        def compute(part: Sequence[int]) -> np.ndarray:
            return self._answers.scores(
                self._logits([images[pairs[i][0]] for i in part], [pairs[i][1] for i in part])
            ).numpy(force=True)

        askable = [
            i
            for i, (_, text) in enumerate(pairs)
            if not any(sign in text for sign in self._special_tokens)
        ]
        by_length = sorted(
            askable, key=lambda i: len(pairs[i][1])
        )  # so that batches need little padding
        of_image: dict[int, list[int]] = {}
        for i in by_length:
            of_image.setdefault(pairs[i][0], []).append(i)
        scores = np.full((len(pairs), len(self.channels)), np.nan, dtype=np.float32)
        rest: list[int] = []
        for rows in of_image.values():
            if not self.shares_prefix or len(rows) == 1:
                rest += rows
                continue
            compute_prefix = partial(self._prefix, texts=[pairs[i][1] for i in rows])
            ((_, prefix),) = BatchSize(1, "image").run(compute_prefix, [images[pairs[rows[0]][0]]])
            for part, logits in self.batch.run(prefix.last_logits, range(len(rows))):
                scores[[rows[place] for place in part]] = self._answers.scores(logits).numpy(
                    force=True
                )
        for part, found in self.batch.run(compute, sorted(rest, key=lambda i: len(pairs[i][1]))):
            scores[part] = found
        return scores

    def answer_all(
        self, chats: Iterable[Chat], how: How, keep: Callable[[Chat, Answer], None]
    ) -> None:
        """As Answerer.answer_all, in batches. One by one if answers are sampled, so that each has
        its own seed, or if an encoder reads the prompt, since padding may change its result."""
        source, alone = iter(chats), bool(how.temperature) or self._decoder_start is not None
        while part := list(islice(source, 1 if alone else self.batch.size)):
            askable = [
                chat for chat in part if not any(sign in chat.text for sign in self._special_tokens)
            ]
            for chat in part:
                if chat not in askable:
                    keep(chat, Answer("", f"{FAILED}the question has a special token of the model"))
            for some, answers in self.batch.run(partial(self._generated, how=how), askable):
                for chat, answer in zip(some, answers, strict=True):
                    keep(chat, answer)

    @torch.inference_mode()
    def _generated(self, chats: Sequence[Chat], how: How) -> list[Answer]:
        inputs = self._inputs(
            [chat.show() for chat in chats], [chat.text for chat in chats], padding_side="left"
        )
        torch.manual_seed(chats[0].seed)
        greedy = {"temperature": None, "top_p": None, "top_k": None}
        # replaces the sampling settings of published models, such as a top_k of 1
        drawn = {"temperature": how.temperature, "top_p": 1.0, "top_k": 0}
        made = self._model.generate(
            **inputs,
            max_new_tokens=how.max_tokens,
            do_sample=how.temperature > 0,
            pad_token_id=self._loaded.tokenizer.pad_token_id,
            **(drawn if how.temperature else greedy),
        )
        start, ids = inputs["input_ids"].shape[1], inputs["input_ids"]
        if (
            self._decoder_start is None
            and made.shape[1] >= start
            and torch.equal(made[:, :start], ids)
        ):
            made = made[:, start:]
        ends = self._model.generation_config.eos_token_id
        ends = {
            self._loaded.tokenizer.eos_token_id,
            *(ends if isinstance(ends, list) else [ends]),
        } - {None}
        answers, sizes = [], inputs.get("attention_mask", torch.ones_like(ids)).sum(1).tolist()
        for row, asked in zip(made.tolist(), sizes, strict=True):
            n = next((place + 1 for place, token in enumerate(row) if token in ends), len(row))
            ended = (n > 0 and row[n - 1] in ends) or n < how.max_tokens
            said = self._loaded.tokenizer.decode(row[:n], skip_special_tokens=True).strip()
            answers.append(Answer(said, "stop" if ended else "length", int(asked), n))
        return answers

    def _prefix(self, images: Sequence[Image.Image], texts: Sequence[str]) -> SharedPrefix:
        """The shared prefix of the prompts of a single image."""
        return SharedPrefix(
            self._model, self._inputs([images], [question(texts[0])]), self._ids(texts)
        )

    def _may_share(self) -> bool:
        """Whether prompts may share their prefix: tested on a grey image, where both ways must give
        equal scores.

        They may not if attention is bidirectional, an encoder reads the prompt, or positions are
        counted differently. Raises UserError if the model cannot read an image and a question.
        """
        image, texts = (
            Image.new("RGB", (224, 224), "grey"),
            ("a red cube", "a large blue sphere and a cone"),
        )
        with torch.inference_mode():
            try:
                whole = self._answers.scores(self._logits([image] * 2, texts))
            except Exception as error:  # models raise errors of many types
                raise self._unfit(f"{type(error).__name__}: {first_line(error)}") from error
            if self._decoder_start is not None:
                return False
            try:
                shared = self._answers.scores(self._prefix([image], texts).last_logits(range(2)))
            except Exception as error:
                logger.info(
                    f"The image is computed for each text ({type(error).__name__}: "
                    f"{first_line(error)})."
                )
                return False
        return bool(
            torch.allclose(shared, whole, rtol=0, atol=_SAME.get(self._model.dtype, _ROUNDED))
        )

    def _prompt(self, asked: str, images: int = 1) -> str:
        """The prompt with a placeholder for each image, by the chat template if there is one."""
        if not self._has_template:
            return f"{self._start or ''}{asked}"
        content = [*[{"type": "image"}] * images, {"type": "text", "text": asked}]
        return self._processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True
        )

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of the prompts of at least one text, with the image's placeholder not yet
        expanded."""
        prompts = [self._prompt(question(text)) for text in texts]
        return self._loaded.tokenizer(prompts, **self._special(prompts[0]))["input_ids"]

    def _special(self, prompt: str) -> dict[str, bool]:
        """Options of the tokenizer: no special tokens are added to prompts that begin with the
        start token."""
        return (
            {"add_special_tokens": False} if self._start and prompt.startswith(self._start) else {}
        )

    def _inputs(
        self, images: Sequence[Sequence[Image.Image]], asked: Sequence[str], **more: Any
    ) -> Any:
        """The model's inputs for questions, each with its images. more: options of the
        processor."""
        prompts = [
            self._prompt(each, len(shown)) for each, shown in zip(asked, images, strict=True)
        ]
        if not self._has_template and max(map(len, images)) > 1:
            raise UserError(
                f"The processor of '{self._loaded.info['weights']}' takes one image per question; "
                f"leave --protocol "
                "pairs out, or add its chat_template.jinja."
            )
        shown: list[Any] = (
            [list(each) for each in images] if self._has_template else [each[0] for each in images]
        )
        special = self._special(prompts[0])
        inputs = self._processor(
            images=shown, text=prompts, padding=True, return_tensors="pt", **special, **more
        )
        inputs.pop("labels", None)  # PaliGemma's processor adds these for training
        return inputs.to(self._loaded.device, self._model.dtype)

    def _logits(self, images: Sequence[Image.Image], texts: Sequence[str]) -> torch.Tensor:
        """Logits (n, vocabulary) of the first token after the prompt."""
        inputs = self._inputs([[image] for image in images], [question(text) for text in texts])
        if self._decoder_start is not None:
            begin = torch.full((len(texts), 1), self._decoder_start, device=self._loaded.device)
            return self._model(**inputs, decoder_input_ids=begin).logits[:, -1]
        mask = inputs.get("attention_mask", torch.ones_like(inputs["input_ids"]))
        # counted from the end: GIT puts its image, which is not in the mask, before the text
        last = (mask * torch.arange(mask.shape[1], device=mask.device)).argmax(1) - mask.shape[1]
        if self._selects_logits:
            kept, last = last.unique(return_inverse=True)
            inputs |= {"logits_to_keep": kept, "use_cache": False}
        logits = self._model(**inputs).logits
        return logits[torch.arange(len(texts), device=logits.device), last.to(logits.device)]

    def _check_image_placeholder(self) -> None:
        """Raises UserError when the processor leaves the image out of the prompt, as it does
        without a chat template."""
        config = self._model.config
        placeholder = getattr(config, "image_token_id", getattr(config, "image_token_index", None))
        if placeholder is None:
            return
        reason = "the image has no place in the prompt"
        try:
            if (
                self._inputs([[Image.new("RGB", (224, 224))]], [question("a")])["input_ids"]
                == placeholder
            ).any():
                return
        except Exception as error:  # processors raise errors of many types
            reason = f"{type(error).__name__}: {first_line(error)}"
        raise self._unfit(reason)

    def _unfit(self, reason: str) -> UserError:
        mend = (
            "name another model"
            if self._has_template
            else "it has no chat template: add its chat_template.jinja"
        )
        return UserError(
            f"The processor of '{self._loaded.info['weights']}' does not take an image and a "
            f"question ({reason}); {mend}."
        )


def _decoder_start(model: Any) -> int | None:
    """The first token of an encoder-decoder's answer; None for a decoder-only model."""
    texts = model.config.get_text_config()
    if not (
        getattr(model.config, "is_encoder_decoder", False)
        or getattr(texts, "is_encoder_decoder", False)
    ):
        return None
    generation = getattr(model.generation_config, "decoder_start_token_id", None)
    start = getattr(texts, "decoder_start_token_id", None) if generation is None else generation
    return getattr(texts, "bos_token_id", None) if start is None else start


def load_vqa(
    name: str, device: str | None, *, first_token: FirstToken = "cls", **how: Unpack[Storage]
) -> VqaScorer | BlipVqaScorer:
    """Load a folder or a name on the Hub. first_token: as for load_blip; only BLIP takes `enc`.

    Raises UserError when the model does not answer questions about an image.
    """
    classes = {**dict.fromkeys(TYPES, "AutoModelForImageTextToText"), **_BLIP}
    loaded = load_pretrained(
        name, device, Wanted("vqa:", "a model that answers questions", classes, PROCESSOR), **how
    )
    if loaded.model.config.model_type in _BLIP:
        return BlipVqaScorer(loaded, first_token)
    if first_token != "cls":
        raise UserError(
            f"'{name}' is not a BLIP model, and only those take first_token={first_token}; leave "
            f"it out."
        )
    return VqaScorer(loaded)


def as_vqa_scorer(loaded: Pretrained) -> VqaScorer | BlipVqaScorer | None:
    """The scorer of a loaded model; None if its class does not answer questions about images."""
    model_type, name = loaded.model.config.model_type, type(loaded.model).__name__
    if _BLIP.get(model_type) == name:
        return BlipVqaScorer(loaded)
    return VqaScorer(loaded) if TYPES.get(model_type) == name else None
