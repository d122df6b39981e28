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
    GenerationConfig,
    ImageTextPairs,
    PairScorer,
    fingerprints,
)
from evaluator.models.hub import first_line
from evaluator.models.pretrained import (
    PROCESSOR,
    LoadTarget,
    Pretrained,
    Storage,
    load_pretrained,
    without_incidental,
)
from evaluator.models.yes_no import CHANNELS, QUESTION, AnswerTokens, question
from generator.base.errors import UserError

logger = logging.getLogger(__name__)
_BATCH = 8
"""Pairs of image and question that are asked together."""
_BLIP = {"blip": "BlipForQuestionAnswering"}
"""By type of model, the class of BLIP for questions."""
_TOLERANCE = {torch.float32: 1e-4}
"""Difference of log odds up to which both ways to compute a prefix agree, by the model's dtype."""
_HALF_TOLERANCE = 0.1
"""The same for half precision, where rounding is coarser."""
_TRIAL_SIZE = (224, 224)
"""Size in pixels of the grey image that tests a model."""
_TRIAL_TEXTS = ("a red cube", "a large blue sphere and a cone")
"""Texts of different lengths, so that padding is tested too."""


class SharedPrefix:
    """Prompts about one image, whose common prefix a causal model of transformers computes once and
    caches.

    The suffixes are padded on the right. In causal attention a token reads only earlier tokens, so
    padding changes nothing.
    """

    def __init__(self, model: Any, inputs: Any, prompts: Sequence[list[int]]):
        """
        Args:
            model: The model.
            inputs: The processor's output for the first prompt with its image, a batch of 1.
            prompts: Token ids of every prompt, with the image's placeholder not yet expanded.

        Raises:
            ValueError: The processor's tokens do not end like the first prompt, or the cache has
                another length.
        """
        self._model = model
        ids = inputs["input_ids"][0]
        suffixes = _without_common_prefix(prompts)
        prefix_length = len(ids) - len(suffixes[0])
        if prefix_length < 1 or ids[prefix_length:].tolist() != suffixes[0]:
            raise ValueError("the processor changes the tokens after the image")
        prefix_inputs = {}
        for name, value in inputs.items():
            is_by_token = value.shape == inputs["input_ids"].shape
            prefix_inputs[name] = value[:, :prefix_length] if is_by_token else value
        # transformers renamed the argument in version 5.24.
        self._cache_name = "cache" if "cache" in _forward_parameters(model) else "past_key_values"
        outputs = model(**prefix_inputs, use_cache=True, **_without_logits(model))
        self._cache = outputs[self._cache_name]
        if int(self._cache.get_seq_length()) != prefix_length:
            raise ValueError("the model caches fewer or more tokens than it reads")
        self._suffixes = [torch.tensor(suffix, device=ids.device) for suffix in suffixes]

    def last_logits(self, rows: Sequence[int]) -> torch.Tensor:
        """Logits (rows, vocabulary) of the next token after each of the prompts `rows`."""
        # A copy, since the model appends to the cache that it gets.
        cache = copy.deepcopy(self._cache)
        cache.batch_repeat_interleave(len(rows))
        suffixes = [self._suffixes[row] for row in rows]
        inputs = {"input_ids": pad_sequence(suffixes, batch_first=True), self._cache_name: cache}
        logits: torch.Tensor = self._model(**inputs, use_cache=True).logits
        # The logits at the last token of each suffix, before its padding.
        last = torch.tensor([len(suffix) - 1 for suffix in suffixes], device=logits.device)
        return logits[torch.arange(len(rows), device=logits.device), last]


def _without_common_prefix(prompts: Sequence[list[int]]) -> list[list[int]]:
    """Each list without the common prefix of all; at least the last element of each is kept.

    >>> _without_common_prefix([[1, 2, 3, 9], [1, 2, 4, 5, 9]])
    [[3, 9], [4, 5, 9]]
    """
    longest = min(len(prompt) for prompt in prompts) - 1
    length = 0
    while length < longest and all(prompt[length] == prompts[0][length] for prompt in prompts):
        length += 1
    return [prompt[length:] for prompt in prompts]


def _forward_parameters(model: Any) -> Mapping[str, Any]:
    return inspect.signature(model.forward).parameters


def _without_logits(model: Any) -> dict[str, int]:
    """The option to compute a single token's logits, since logits of all tokens of an image take
    much memory."""
    return {"logits_to_keep": 1} if "logits_to_keep" in _forward_parameters(model) else {}


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
        self._loaded = loaded
        self.batch = BatchSize(_BATCH, PAIR)
        self._model = loaded.model
        self._processor = loaded.processor
        tokenizer = loaded.tokenizer
        tokenizer.padding_side = "right"
        # Any token will do: padding lies behind the tokens that are read.
        if tokenizer.pad_token is None:
            tokenizer.pad_token = tokenizer.eos_token
        self._special_tokens = set(tokenizer.all_special_tokens)
        image_token = getattr(self._processor, "image_token", None)
        if image_token:
            self._special_tokens.add(str(image_token))
        self._answers = AnswerTokens(tokenizer, loaded.info["weights"])
        template = getattr(self._processor, "chat_template", None)
        self._has_template = bool(template)
        self._decoder_start = _decoder_start(self._model)
        self._start = self._start_token()
        self._selects_logits = bool(_without_logits(self._model))
        self._check_image_placeholder()
        self.shares_prefix = self._may_share_prefix()

        prompt = {
            "question": QUESTION,
            "chat_template": self._has_template,
            "answers": self._answers.ids,
        }
        image_prefix = "computed once" if self.shares_prefix else "computed for each text"
        self.info = loaded.info | prompt | {"image_prefix": image_prefix}
        # The defaults of generation affect answers, as does the template.
        generation = getattr(self._model, "generation_config", None)
        defaults = without_incidental(generation and generation.to_dict())
        self.key = loaded.key("vqa", prompt, template, defaults)

    def _start_token(self) -> str | None:
        """The token that a prompt begins with and the tokenizer then must not add; None if the
        tokenizer is to add special tokens."""
        tokenizer = self._loaded.tokenizer
        if self._has_template:
            return tokenizer.bos_token
        if self._decoder_start is not None:
            return None
        # A separator at the end would end the prompt that a decoder continues.
        adds_separator = tokenizer("a")["input_ids"][-1] == tokenizer.sep_token_id
        return tokenizer.cls_token if adds_separator else None

    def tokens(self, texts: Sequence[str]) -> np.ndarray:
        """Fingerprints of the prompt's token ids, int64 (n, 4); prompts are not truncated."""
        return fingerprints(np.array(row, dtype=np.int64).tobytes() for row in self._ids(texts))

    @torch.inference_mode()
    def score_pairs(
        self, images: Sequence[Image.Image], pairs: ImageTextPairs, contests: Contests = None
    ) -> np.ndarray:
        """As PairScorer.score_pairs.

        Texts are scored by length, so that batches need little padding. The pairs of an image share
        its prefix; an image with one pair has nothing to share, and is batched with others.
        """
        askable = []
        for row, (_, text) in enumerate(pairs):
            if not self._has_special_token(text):
                askable.append(row)
        by_length = sorted(askable, key=lambda row: len(pairs[row][1]))
        rows_of_image: dict[int, list[int]] = {}
        for row in by_length:
            rows_of_image.setdefault(pairs[row][0], []).append(row)

        scores = np.full((len(pairs), len(self.channels)), np.nan, dtype=np.float32)
        unshared: list[int] = []
        for image, rows in rows_of_image.items():
            if not self.shares_prefix or len(rows) == 1:
                unshared += rows
                continue
            texts = [pairs[row][1] for row in rows]
            compute_prefix = partial(self._shared_prefix, texts=texts)
            # As a batch of one image, which gives the usual error where memory runs out.
            ((_, prefix),) = BatchSize(1, "image").run(compute_prefix, [images[image]])
            for part, logits in self.batch.run(prefix.last_logits, range(len(rows))):
                part_rows = [rows[place] for place in part]
                scores[part_rows] = self._answers.scores(logits).numpy(force=True)

        def compute(rows: Sequence[int]) -> np.ndarray:
            batch_images = [images[pairs[row][0]] for row in rows]
            batch_texts = [pairs[row][1] for row in rows]
            logits = self._logits(batch_images, batch_texts)
            return self._answers.scores(logits).numpy(force=True)

        unshared.sort(key=lambda row: len(pairs[row][1]))
        for batch, computed in self.batch.run(compute, unshared):
            scores[batch] = computed
        return scores

    def _has_special_token(self, text: str) -> bool:
        return any(token in text for token in self._special_tokens)

    def answer_all(
        self,
        chats: Iterable[Chat],
        generation: GenerationConfig,
        *,
        keep: Callable[[Chat, Answer], None],
    ) -> None:
        """As Answerer.answer_all, in batches. One by one if answers are sampled, so that each has
        its own seed, or if an encoder reads the prompt, since padding may change its result."""
        one_by_one = bool(generation.temperature) or self._decoder_start is not None
        remaining = iter(chats)
        while part := list(islice(remaining, 1 if one_by_one else self.batch.size)):
            askable = []
            for chat in part:
                if self._has_special_token(chat.text):
                    reason = "the question has a special token of the model"
                    keep(chat, Answer("", f"{FAILED}{reason}"))
                else:
                    askable.append(chat)
            generate = partial(self._generate, generation=generation)
            for batch, answers in self.batch.run(generate, askable):
                for chat, answer in zip(batch, answers, strict=True):
                    keep(chat, answer)

    @torch.inference_mode()
    def _generate(self, chats: Sequence[Chat], generation: GenerationConfig) -> list[Answer]:
        """Answer a batch of questions."""
        # Padding is on the left, since the model continues where a prompt ends.
        images = [chat.show() for chat in chats]
        texts = [chat.text for chat in chats]
        inputs = self._inputs(images, texts, padding_side="left")
        # Sampled answers come one by one, so the batch has a single seed.
        torch.manual_seed(chats[0].seed)
        # Replaces the sampling settings of published models, such as a top_k of 1.
        sampling: dict[str, Any] = {"temperature": None, "top_p": None, "top_k": None}
        if generation.temperature:
            sampling = {"temperature": generation.temperature, "top_p": 1.0, "top_k": 0}
        generated = self._model.generate(
            **inputs,
            max_new_tokens=generation.max_tokens,
            do_sample=generation.temperature > 0,
            pad_token_id=self._loaded.tokenizer.pad_token_id,
            **sampling,
        )

        # Some models repeat the prompt before their answer.
        ids = inputs["input_ids"]
        start = ids.shape[1]
        repeats_prompt = (
            self._decoder_start is None
            and generated.shape[1] >= start
            and torch.equal(generated[:, :start], ids)
        )
        if repeats_prompt:
            generated = generated[:, start:]

        end_ids = self._end_ids()
        prompt_sizes = inputs.get("attention_mask", torch.ones_like(ids)).sum(1).tolist()
        answers = []
        for row, prompt_size in zip(generated.tolist(), prompt_sizes, strict=True):
            ends = [place + 1 for place, token in enumerate(row) if token in end_ids]
            length = ends[0] if ends else len(row)
            is_finished = bool(ends) or length < generation.max_tokens
            text = self._loaded.tokenizer.decode(row[:length], skip_special_tokens=True).strip()
            finish = "stop" if is_finished else "length"
            answers.append(Answer(text, finish, int(prompt_size), length))
        return answers

    def _end_ids(self) -> set[int]:
        """The ids of tokens that end an answer."""
        # A configuration has one end, several, or none.
        ends = self._model.generation_config.eos_token_id
        end_ids = ends if isinstance(ends, list) else [ends]
        return {self._loaded.tokenizer.eos_token_id, *end_ids} - {None}

    def _shared_prefix(self, images: Sequence[Image.Image], texts: Sequence[str]) -> SharedPrefix:
        """The shared prefix of the prompts of a single image."""
        inputs = self._inputs([images], [question(texts[0])])
        return SharedPrefix(self._model, inputs, self._ids(texts))

    def _may_share_prefix(self) -> bool:
        """Whether prompts may share their prefix: tested on a grey image, where both ways must give
        equal scores.

        They may not if attention is bidirectional, an encoder reads the prompt, or positions are
        counted differently. Raises UserError if the model cannot read an image and a question.
        """
        image = Image.new("RGB", _TRIAL_SIZE, "grey")
        with torch.inference_mode():
            try:
                whole = self._answers.scores(self._logits([image] * 2, _TRIAL_TEXTS))
            except Exception as error:  # models raise errors of many types
                raise self._unfit(f"{type(error).__name__}: {first_line(error)}") from error
            if self._decoder_start is not None:
                return False
            try:
                prefix = self._shared_prefix([image], _TRIAL_TEXTS)
                shared = self._answers.scores(prefix.last_logits(range(len(_TRIAL_TEXTS))))
            except Exception as error:
                logger.info(
                    f"The image is computed for each text ({type(error).__name__}: "
                    f"{first_line(error)})."
                )
                return False
        tolerance = _TOLERANCE.get(self._model.dtype, _HALF_TOLERANCE)
        return bool(torch.allclose(shared, whole, rtol=0, atol=tolerance))

    def _prompt(self, text: str, image_count: int = 1) -> str:
        """The prompt with a placeholder for each image, by the chat template if there is one."""
        if not self._has_template:
            return f"{self._start or ''}{text}"
        content = [*[{"type": "image"}] * image_count, {"type": "text", "text": text}]
        return self._processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True
        )

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of the prompts of at least one text, with the image's placeholder not yet
        expanded."""
        prompts = [self._prompt(question(text)) for text in texts]
        options = self._tokenizer_options(prompts[0])
        return self._loaded.tokenizer(prompts, **options)["input_ids"]

    def _tokenizer_options(self, prompt: str) -> dict[str, bool]:
        """Options of the tokenizer: no special tokens are added to prompts that begin with the
        start token."""
        if self._start and prompt.startswith(self._start):
            return {"add_special_tokens": False}
        return {}

    def _inputs(
        self, images: Sequence[Sequence[Image.Image]], texts: Sequence[str], **options: Any
    ) -> Any:
        """The model's inputs for questions, each with its images. options: of the processor."""
        prompts = []
        for text, own_images in zip(texts, images, strict=True):
            prompts.append(self._prompt(text, len(own_images)))
        batch_images: list[Any] = [list(own_images) for own_images in images]
        if not self._has_template:
            if any(len(own_images) > 1 for own_images in images):
                raise UserError(
                    f"The processor of '{self._loaded.info['weights']}' takes one image per "
                    "question; leave --protocol pairs out, or add its chat_template.jinja."
                )
            batch_images = [own_images[0] for own_images in images]
        inputs = self._processor(
            images=batch_images,
            text=prompts,
            padding=True,
            return_tensors="pt",
            **self._tokenizer_options(prompts[0]),
            **options,
        )
        inputs.pop("labels", None)  # PaliGemma's processor adds these for training
        return inputs.to(self._loaded.device, self._model.dtype)

    def _logits(self, images: Sequence[Image.Image], texts: Sequence[str]) -> torch.Tensor:
        """Logits (n, vocabulary) of the first token after the prompt."""
        questions = [question(text) for text in texts]
        inputs = self._inputs([[image] for image in images], questions)
        if self._decoder_start is not None:
            begin = torch.full((len(texts), 1), self._decoder_start, device=self._loaded.device)
            return self._model(**inputs, decoder_input_ids=begin).logits[:, -1]
        # The last token is counted from the end: GIT puts its image, which is not in the mask,
        # before the text.
        mask = inputs.get("attention_mask", torch.ones_like(inputs["input_ids"]))
        length = mask.shape[1]
        places = torch.arange(length, device=mask.device)
        last = (mask * places).argmax(1) - length
        if self._selects_logits:
            # Logits of all tokens of an image take much memory.
            kept_places, last = last.unique(return_inverse=True)
            inputs |= {"logits_to_keep": kept_places, "use_cache": False}
        logits = self._model(**inputs).logits
        return logits[torch.arange(len(texts), device=logits.device), last.to(logits.device)]

    def _check_image_placeholder(self) -> None:
        """Raises UserError when the processor leaves the image out of the prompt, as it does
        without a chat template."""
        config = self._model.config
        # Older configurations call it image_token_index.
        placeholder = getattr(config, "image_token_id", getattr(config, "image_token_index", None))
        if placeholder is None:
            return
        reason = "the image has no place in the prompt"
        try:
            inputs = self._inputs([[Image.new("RGB", _TRIAL_SIZE)]], [question("a")])
            if (inputs["input_ids"] == placeholder).any():
                return
        except Exception as error:  # processors raise errors of many types
            reason = f"{type(error).__name__}: {first_line(error)}"
        raise self._unfit(reason)

    def _unfit(self, reason: str) -> UserError:
        if self._has_template:
            advice = "name another model"
        else:
            advice = "it has no chat template: add its chat_template.jinja"
        return UserError(
            f"The processor of '{self._loaded.info['weights']}' does not take an image and a "
            f"question ({reason}); {advice}."
        )


def _decoder_start(model: Any) -> int | None:
    """The first token of an encoder-decoder's answer; None for a decoder-only model."""
    texts = model.config.get_text_config()
    # The model's own configuration says it, or only that of its text model.
    configs = (model.config, texts)
    if not any(getattr(config, "is_encoder_decoder", False) for config in configs):
        return None
    candidates = (
        (model.generation_config, "decoder_start_token_id"),
        (texts, "decoder_start_token_id"),
        (texts, "bos_token_id"),
    )
    for config, name in candidates:
        token: int | None = getattr(config, name, None)
        if token is not None:
            return token
    return None


def load_vqa(
    name: str, device: str | None, *, first_token: FirstToken = "cls", **storage: Unpack[Storage]
) -> VqaScorer | BlipVqaScorer:
    """Load a model that answers questions about an image.

    Args:
        name: A folder, or a name on the Hub.
        device: The device that the user named; None for the best one.
        first_token: As for load_blip; only BLIP takes `enc`.
        storage: Number format, device map and quantization.

    Raises:
        UserError: The model does not answer questions about an image.
    """
    target = LoadTarget(
        option="vqa:",
        description="a model that answers questions",
        classes={**dict.fromkeys(TYPES, "AutoModelForImageTextToText"), **_BLIP},
        readers=PROCESSOR,
    )
    loaded = load_pretrained(name, device, target, **storage)
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
    model_type = loaded.model.config.model_type
    name = type(loaded.model).__name__
    if _BLIP.get(model_type) == name:
        return BlipVqaScorer(loaded)
    return VqaScorer(loaded) if TYPES.get(model_type) == name else None
