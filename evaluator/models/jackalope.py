"""`jackalope:` models: folders written by `score train`. They are folders of open_clip or transformers with a record of the training."""

from pathlib import Path

from evaluator.exposure import RECORD, recorded_exposure
from evaluator.models.hf import HfEncoder, load_hf
from evaluator.models.open_clip import CONFIG, OpenClipEncoder, load_open_clip
from evaluator.models.open_clip_config import check_plain_sizes
from generator.dataset.errors import UserError
from generator.dataset.files import read_json
from generator.dataset.limits import MOST_LIST
from generator.dataset.paths import check_own_files

_OF_OPEN_CLIP = {"open_clip_model.safetensors", CONFIG}
_OF_TRANSFORMERS = {
    "config.json", "model.safetensors", "preprocessor_config.json", "processor_config.json", "tokenizer.json",
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt",
    "spiece.model", "tokenizer.model", "sentencepiece.bpe.model",
}  # fmt: skip
_TRAINED_ON = ("name", "benchmark", "world", "method", "recipe")
_ALSO = ("base", "certificate")
_FORGETTING = "forgetting.json"


def load_jackalope(path: str, device: str | None) -> OpenClipEncoder | HfEncoder:
    """Load the folder at `path`.

    Raises UserError when it does not exist or holds no model trained by `score train`, and when it holds anything else.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise UserError(f"There is no trained model at '{path}'; give a folder written by `score train`.")
    if not (folder / RECORD).exists():
        raise UserError(
            f"'{path}' is not a model trained here: it has no jackalope.json; give a folder written by `score train`."
        )
    check_own_files(folder)
    ours = _OF_TRANSFORMERS if (folder / "config.json").exists() else _OF_OPEN_CLIP
    if foreign := sorted(path.name for path in folder.glob("[!.]*") if path.name not in {*ours, RECORD, _FORGETTING}):
        raise UserError(
            f"'{path}' holds {', '.join(foreign)}, which `score train` does not write; remove it, or train again."
        )
    record = read_json(folder / RECORD, most=MOST_LIST)
    if lacking := [key for key in _TRAINED_ON if key not in record]:
        raise UserError(f"{folder / RECORD} is damaged: it lacks {', '.join(lacking)}; restore it or train again.")
    encoder = _load(folder, path, device)
    encoder.info |= {
        "weights": str(folder),
        "trained_on": {key: record[key] for key in (*_TRAINED_ON, *_ALSO) if key in record},
    }
    return encoder


def _load(folder: Path, path: str, device: str | None) -> OpenClipEncoder | HfEncoder:
    if (folder / "config.json").exists():
        encoder = load_hf(str(folder.absolute()), device)
        encoder.exposure = recorded_exposure(folder)
        return encoder
    if (folder / CONFIG).exists():
        check_plain_sizes(read_json(folder / CONFIG).get("model_cfg"), path)
    return load_open_clip(f"local-dir:{folder}", device)
