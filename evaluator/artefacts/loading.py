"""Load a language model or a sentence encoder from a folder or by its name on the Hugging Face Hub."""

from pathlib import Path
from typing import Any

import torch

from generator.dataset.errors import UserError


def load_pair(auto: str, name: str, device: torch.device, option: str) -> tuple[Any, Any]:
    """Tokenizer and model (class `auto` of transformers), in evaluation mode, float32, without running foreign code.

    Raises UserError when there is no such model or it cannot be read.
    """
    import transformers

    transformers.utils.logging.disable_progress_bar()
    if not Path(name).is_dir() and (Path(name).is_absolute() or name.startswith(".")):
        raise UserError(f"There is no folder '{name}'; give {option} a folder written by save_pretrained, or a name on the Hugging Face Hub.")  # fmt: skip
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
        model = getattr(transformers, auto).from_pretrained(name, trust_remote_code=False, dtype=torch.float32)
    except Exception as error:  # every loader of transformers has errors of its own
        reason = " ".join(str(error).split()).rstrip(".")
        raise UserError(f"Cannot read the model '{name}' of {option} ({type(error).__name__}: {_short(reason)}); give a folder written by save_pretrained, or a name on the Hugging Face Hub.") from error  # fmt: skip
    return tokenizer, model.to(device).eval()


def _short(text: str, length: int = 160) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
