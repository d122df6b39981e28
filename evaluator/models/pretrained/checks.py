"""Checks that weights and tokenizer fit the configuration, where transformers itself only warns."""

import re
from collections.abc import Mapping
from typing import Any

from generator.base.errors import UserError

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def check_weights(name: str, model: Any, report: Mapping[str, Any]) -> None:
    """Refuse weights that leave a tensor random, or that hold layers which the configuration lacks.

    `report` is the loading info of `from_pretrained`. Raises UserError.
    """
    if missing := sorted(set(report["missing_keys"]) & set(model.state_dict())):
        more = f" and {len(missing) - 1:,} more tensors" * (len(missing) > 1)
        raise UserError(
            f"The weights of '{name}' do not fit {type(model).__name__}: {missing[0]}{more} would be random; name a model trained for this task."
        )
    layers = {re.sub(r"\d+", "0", key) for key in model.state_dict()}
    if unexpected := sorted(key for key in report["unexpected_keys"] if re.sub(r"\d+", "0", key) in layers):
        raise UserError(
            f"The weights of '{name}' do not fit its config.json: they also hold {unexpected[0]} and {len(unexpected) - 1} other tensors of layers that it does not have; restore config.json."
        )


def check_tokenizer(name: str, tokenizer: Any, config: Any) -> None:
    """Refuse a tokenizer without files, and one whose texts hold ids that the model has no embedding for.

    Raises UserError.
    """
    spelled = {tuple(ids) for ids in tokenizer([*_LETTERS], add_special_tokens=False)["input_ids"]}
    if len(spelled) == 1:  # transformers makes an empty tokenizer where the files are missing
        raise UserError(f"'{name}' has no tokenizer files; add those that the model was published with.")
    size = getattr(config.get_text_config(), "vocab_size", None)
    # special tokens that no text gets, such as one added for padding, may lie beyond the embeddings
    words = [i for token, i in tokenizer.get_vocab().items() if token not in tokenizer.all_special_tokens]
    highest = max([*words, *tokenizer("a")["input_ids"]])
    if size is not None and highest >= size:
        raise UserError(
            f"The tokenizer of '{name}' has ids up to {highest}, its text model only {size} words; give the tokenizer it was trained with."
        )
