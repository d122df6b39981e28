"""The networks of `score train scratch` and `pretrain`: configurations of open_clip by architecture and size."""

from typing import Any

from generator.base.errors import UserError, did_you_mean

TINY, SMALL = "tiny", "small"
DUAL, DUAL_VIT = "dual", "dual-vit"
SIZES = (TINY, SMALL)
"""tiny is made for a CPU and trains in minutes, small for a GPU."""

_TEXT = {"context_length": 16, "vocab_size": 49408}
_TEXTS: dict[str, dict[str, Any]] = {
    TINY: {**_TEXT, "width": 128, "heads": 4, "layers": 2},
    SMALL: {**_TEXT, "width": 256, "heads": 8, "layers": 4},
}
_WIDTHS = {TINY: 128, SMALL: 256}
# A ResNet under attention pooling or a transformer over patches, and a causal text transformer with learnt positions: the
# embedding can depend on the positions of objects and on the order of words.
_IMAGES: dict[str, dict[str, dict[str, Any]]] = {
    DUAL: {
        TINY: {"layers": [1, 1, 1, 1], "width": 32, "head_width": 32, "image_size": 64},
        SMALL: {"layers": [2, 2, 2, 2], "width": 64, "head_width": 64, "image_size": 128},
    },
    DUAL_VIT: {
        TINY: {"layers": 4, "width": 128, "head_width": 32, "patch_size": 8, "image_size": 64},
        SMALL: {"layers": 8, "width": 384, "head_width": 64, "patch_size": 8, "image_size": 128},
    },
}
ARCHITECTURES = tuple(_IMAGES)


def network_config(architecture: str = DUAL, size: str = TINY) -> dict[str, Any]:
    """The `model_cfg` of open_clip. Raises UserError for an unknown architecture or size."""
    if architecture not in ARCHITECTURES:
        raise UserError(f"Unknown architecture '{architecture}'; {did_you_mean(architecture, list(ARCHITECTURES))}")
    check_size(size)
    return {
        "embed_dim": _WIDTHS[size], "vision_cfg": dict(_IMAGES[architecture][size]), "text_cfg": dict(_TEXTS[size]),
    }  # fmt: skip


def check_size(size: str) -> str:
    """The size itself. Raises UserError for an unknown one."""
    if size not in SIZES:
        raise UserError(f"Unknown size '{size}'; {did_you_mean(size, list(SIZES))}")
    return size
