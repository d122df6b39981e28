"""What a run records of a pretrained model, and what identifies the model in the cache."""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

# libraries write these about themselves; models that differ in nothing else are the same
_INCIDENTAL = {
    "transformers_version", "_name_or_path", "name_or_path", "dtype", "torch_dtype", "architectures", "is_local",
    "local_files_only", "processor_class",
}  # fmt: skip
_STEPS = {
    "resize": ("size", "size_divisor", "min_pixels", "max_pixels", "resample", "patch_size", "max_num_patches"),
    "center_crop": ("crop_size",),
    "rescale": ("rescale_factor",),
    "normalize": ("image_mean", "image_std"),
}


def describe_preprocessing(image_processor: Any) -> str:
    """The steps of an image processor in their order, each with its settings: `CLIPImageProcessor → resize size=… → …`."""
    settings = {name: value for name, value in image_processor.to_dict().items() if value is not None}
    if "resample" in settings:
        settings["resample"] = Image.Resampling(settings["resample"]).name.lower()
    steps = [
        " ".join([step, *(f"{name}={settings[name]}" for name in names if name in settings)])
        for step, names in _STEPS.items()
        if settings.get(f"do_{step}")
    ]
    return " → ".join([type(image_processor).__name__, *steps])


def activations(model: Any) -> str:
    """Class names of the activation functions among the model's modules, such as `QuickGELUActivation`."""
    from transformers.activations import ACT2CLS

    known = {each[0] if isinstance(each, tuple) else each for each in ACT2CLS.values()}
    return ", ".join(sorted({type(module).__name__ for module in model.modules() if type(module) in known}))


def tokenizer_digest(tokenizer: Any) -> str:
    """SHA-256 (hex) of the files that the tokenizer saves."""
    digest = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save_pretrained(folder)
        for path in sorted(Path(folder).iterdir()):
            content = path.read_bytes()
            if path.name == "tokenizer_config.json":
                content = json.dumps(without_incidental(json.loads(content)), sort_keys=True).encode()
            digest.update(f"{path.name} {len(content)} ".encode() + content)
    return digest.hexdigest()


def without_incidental(settings: Any) -> Any:
    """Settings without names of folders and versions of libraries, at every depth."""
    if isinstance(settings, dict):
        return {str(key): without_incidental(value) for key, value in settings.items() if key not in _INCIDENTAL}
    return [without_incidental(each) for each in settings] if isinstance(settings, list | tuple) else settings
