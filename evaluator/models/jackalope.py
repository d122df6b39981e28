"""`jackalope:` models: folders written by `score train`, with a record of the training. Captioners
have a format of their own, other models that of their family."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluator.models.captioner import CONFIG as CAPTIONER_CONFIG
from evaluator.models.captioner import WEIGHTS as CAPTIONER_WEIGHTS
from evaluator.models.captioner import Captioner, load_captioner
from evaluator.models.contracts import Model
from evaluator.models.open_clip import CONFIG, check_plain_sizes
from evaluator.models.registry import Spec, load_model
from evaluator.provenance.exposure import (
    RECORD,
    TRAINED_ON,
    recorded_exposure,
    remember,
    trained_on,
)
from generator.base.errors import UserError
from generator.base.files import read_json
from generator.base.limits import MOST_LIST
from generator.base.paths import check_own_files

_OF_OPEN_CLIP = {"open_clip_model.safetensors", CONFIG}
_OF_TRANSFORMERS = {
    "config.json",
    "model.safetensors",
    "preprocessor_config.json",
    "processor_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "spiece.model",
    "tokenizer.model",
    "sentencepiece.bpe.model",
}
_OF_DIFFUSERS = {
    "model_index.json",
    "unet",
    "vae",
    "scheduler",
    "text_encoder",
    "text_encoder_2",
    "tokenizer",
    "tokenizer_2",
}
"""Files and folders of a model, as each library saves it."""
_CAPTIONER = "captioner"
"""Stands for the format of captioners, which are no family."""
_FILES = {
    _CAPTIONER: {CAPTIONER_CONFIG, CAPTIONER_WEIGHTS},
    "diffusion": _OF_DIFFUSERS,
    "open_clip": _OF_OPEN_CLIP,
    "hf": _OF_TRANSFORMERS,
    "vilt": _OF_TRANSFORMERS,
}
"""By family, the files that the folder of a trained model may have."""


def load_jackalope(name: str, device: str | None, **arguments: str) -> Model:
    """Load a model that was trained by `score train`, with the family of its format.

    Args:
        name: The folder.
        device: Name of the device; None for the best one.
        **arguments: Arguments of the family's loader.

    Returns:
        The model.

    Raises:
        UserError: The folder does not exist, holds no such model, or holds other files; or the
            model is a captioner, which scores no texts.
    """
    folder, family, record = _open(name)
    if family == _CAPTIONER:
        raise UserError(
            f"'{name}' is a captioner, which describes images and scores no texts; use `score ask "
            f"--form describe`."
        )
        # `score train` writes numbers alone. A name in the configuration would be looked up, and
        # could load other files than those of this folder.
    if (folder / CONFIG).exists():
        check_plain_sizes(read_json(folder / CONFIG).get("model_cfg"), name)
    place = f"local-dir:{folder}" if family == "open_clip" else str(folder.absolute())
    model = load_model(Spec(f"jackalope:{name}", family, place, arguments), device)
    model.info |= {"weights": str(folder), "trained_on": trained_on(record)}
    # A copy of the weights under another name is then still known as trained here, and as
    # contaminated.
    remember(model.info["weights_sha256"], record)
    return model


def load_answering(name: str, device: str | None) -> Captioner:
    """Load a captioner that was trained by `score train`.

    Args:
        name: The folder.
        device: Name of the device; None for the best one.

    Returns:
        The captioner.

    Raises:
        UserError: The folder does not exist, holds another model, or holds other files.
    """
    folder, family, record = _open(name)
    if family != _CAPTIONER:
        raise UserError(
            f"'{name}' does not answer in words; name a captioner (`score train scratch "
            f"--architecture captioner`), or use `score run`."
        )
    captioner = load_captioner(folder, device)
    captioner.info["trained_on"] = trained_on(record)
    captioner.exposure = recorded_exposure(folder)
    remember(captioner.info["weights_sha256"], record)
    return captioner


def _open(name: str) -> tuple[Path, str, Mapping[str, Any]]:
    """Check the folder of a trained model.

    Returns:
        The folder, its format (`family_of`), and the record of the training.

    Raises:
        UserError: The folder does not exist, holds no such model, or holds other files.
    """
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise UserError(
            f"There is no trained model at '{name}'; give a folder written by `score train`."
        )
    if not (folder / RECORD).exists():
        raise UserError(
            f"'{name}' is not a model trained here: it has no {RECORD}; give a folder written by "
            f"`score train`."
        )
    check_own_files(folder)
    family = family_of(folder)
    # Libraries load whatever lies beside the weights, such as code or an adapter, so nothing else
    # may.
    known_files = {*_FILES[family], RECORD}
    foreign = sorted(path.name for path in folder.glob("[!.]*") if path.name not in known_files)
    if foreign:
        raise UserError(
            f"'{name}' holds {', '.join(foreign)}, which `score train` does not write; remove it, "
            f"or train again."
        )
    record = read_json(folder / RECORD, most=MOST_LIST)
    missing = [key for key in TRAINED_ON if key not in record]
    if missing:
        raise UserError(
            f"{folder / RECORD} is damaged: it lacks {', '.join(missing)}; restore it or train "
            f"again."
        )
    return folder, family, record


def family_of(folder: Path) -> str:
    """The format of a folder: that of the family `open_clip`, `hf`, `vilt` or `diffusion`, or
    `captioner`."""
    # By the file that only this format has.
    if (folder / CAPTIONER_CONFIG).exists():
        return _CAPTIONER
    if (folder / "model_index.json").exists():
        return "diffusion"
    if not (folder / "config.json").exists():
        return "open_clip"
    return "vilt" if read_json(folder / "config.json").get("model_type") == "vilt" else "hf"


def is_cross_encoder(spec: str) -> bool:
    """Whether `score train` trains the model that a spec names on image–text matching. Loads no
    model."""
    family, _, name = spec.partition(":")
    folder = Path(name).expanduser()
    if family == "vilt":
        return True
    return family == "jackalope" and folder.is_dir() and family_of(folder) == "vilt"
