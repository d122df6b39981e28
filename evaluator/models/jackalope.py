"""`jackalope:` models: folders written by `score train`. They are folders of other families with a record of the
training."""

from pathlib import Path

from evaluator.models.contracts import Model
from evaluator.models.open_clip import CONFIG, check_plain_sizes
from evaluator.models.registry import load_model
from evaluator.provenance.exposure import RECORD
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
_FILES = {"diffusion": _OF_DIFFUSERS, "open_clip": _OF_OPEN_CLIP, "hf": _OF_TRANSFORMERS, "vilt": _OF_TRANSFORMERS}
_TRAINED_ON = ("name", "benchmark", "world", "method", "recipe")
_ALSO = ("base", "certificate")


def load_jackalope(path: str, device: str | None) -> Model:
    """Load the folder at `path`, which a diffusion model may follow with `@PRESET`.

    Raises UserError when it does not exist or holds no model trained by `score train`, and when it holds anything else.
    """
    folder, preset = _folder_and_preset(path)
    if not folder.is_dir():
        raise UserError(f"There is no trained model at '{path}'; give a folder written by `score train`.")
    if not (folder / RECORD).exists():
        raise UserError(
            f"'{path}' is not a model trained here: it has no jackalope.json; give a folder written by `score train`."
        )
    check_own_files(folder)
    ours = _FILES[family_of(folder)]
    if foreign := sorted(path.name for path in folder.glob("[!.]*") if path.name not in {*ours, RECORD}):
        raise UserError(
            f"'{path}' holds {', '.join(foreign)}, which `score train` does not write; remove it, or train again."
        )
    record = read_json(folder / RECORD, most=MOST_LIST)
    if lacking := [key for key in _TRAINED_ON if key not in record]:
        raise UserError(f"{folder / RECORD} is damaged: it lacks {', '.join(lacking)}; restore it or train again.")
    encoder = _load(folder, preset, path, device)
    encoder.info |= {
        "weights": str(folder),
        "trained_on": {key: record[key] for key in (*_TRAINED_ON, *_ALSO) if key in record},
    }
    return encoder


def family_of(folder: Path) -> str:
    """The family that reads the folder too: `open_clip`, `hf`, `vilt` or `diffusion`."""
    if (folder / "model_index.json").exists():
        return "diffusion"
    if not (folder / "config.json").exists():
        return "open_clip"
    return "vilt" if read_json(folder / "config.json").get("model_type") == "vilt" else "hf"


def is_cross_encoder(spec: str) -> bool:
    """Whether `score train` trains the model that a spec names on image–text matching. Loads no model."""
    family, _, name = spec.partition(":")
    return family == "vilt" or (family == "jackalope" and Path(name).is_dir() and family_of(Path(name)) == "vilt")


def _folder_and_preset(path: str) -> tuple[Path, str]:
    place, at, preset = path.rpartition("@")
    if at and not Path(path).is_dir() and Path(place).is_dir() and family_of(Path(place)) == "diffusion":
        return Path(place), f"@{preset}"
    return Path(path), ""


def _load(folder: Path, preset: str, path: str, device: str | None) -> Model:
    family = family_of(folder)
    if family != "open_clip":
        return load_model(f"{family}:{folder.absolute()}{preset}", device)
    if (folder / CONFIG).exists():
        check_plain_sizes(read_json(folder / CONFIG).get("model_cfg"), path)
    return load_model(f"open_clip:local-dir:{folder}", device)
