"""A tokenizer of the words of some texts."""

from pathlib import Path

from transformers import AutoTokenizer

from evaluator.training.networks import word_tokenizer

TEXTS = ["A red cube, and a blue cone.", "a x-ray"]


def test_words_are_told_apart_and_others_are_unknown(tmp_path: Path) -> None:
    tokenizer = word_tokenizer(TEXTS, 4)
    assert tokenizer.model_max_length == 11  # [CLS], nine words and marks, [SEP]
    first, second, third = (tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"]) for text in (*TEXTS, "a pan"))
    assert first == ["[CLS]", "a", "red", "cube", ",", "and", "a", "blue", "cone", ".", "[SEP]"]
    assert second == ["[CLS]", "a", "x", "-", "ray", "[SEP]"]
    assert third == ["[CLS]", "a", "[UNK]", "[SEP]"]
    tokenizer.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert again(TEXTS)["input_ids"] == tokenizer(TEXTS)["input_ids"]
    assert again.model_max_length == tokenizer.model_max_length


def test_a_tokenizer_reads_at_least_so_many_tokens() -> None:
    assert word_tokenizer(TEXTS, 40).model_max_length == 40
