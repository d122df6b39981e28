"""A tokenizer that knows the words of some texts and no others."""

from collections.abc import Sequence
from typing import Any

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def word_tokenizer(texts: Sequence[str], length: int) -> Any:
    """BERT's tokenizer of transformers over the lower-cased words of texts; any other word is [UNK].

    It reads `length` tokens of a text, [CLS] and [SEP] included, or as many as the longest of these texts has, if those are more.
    """
    from transformers import BertTokenizer

    plain = BertTokenizer(vocab=_numbered(_SPECIAL))
    split, normal = plain.backend_tokenizer.pre_tokenizer, plain.backend_tokenizer.normalizer
    words = [[word for word, _ in split.pre_tokenize_str(normal.normalize_str(text))] for text in texts]
    longest = max((len(each) + 2 for each in words), default=0)
    known = sorted({word for each in words for word in each})
    return BertTokenizer(vocab=_numbered((*_SPECIAL, *known)), model_max_length=max(length, longest))


def _numbered(words: Sequence[str]) -> dict[str, int]:
    return {word: i for i, word in enumerate(words)}
