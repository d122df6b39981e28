"""A new ViLT follows the seed and reads its texts whole."""

import torch
from PIL import Image

from evaluator.training.networks import new_vilt


def test_a_new_cross_encoder_follows_the_seed_and_reads_its_texts() -> None:
    texts, found = ["a red cube", " ".join(["a red cube and"] * 20)], []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        model = new_vilt(texts, torch.device("cpu"))
        found.append(model.info["weights_sha256"])
    assert found[0] == found[1] != found[2]
    assert model.token_counts(texts) == [5, 82]
    assert model.info["text_length"] == 82
    assert new_vilt(texts[:1], torch.device("cpu")).info["text_length"] == 40


def test_a_small_one_is_larger_and_sees_more_pixels() -> None:
    tiny, small = (new_vilt(["a red cube"], torch.device("cpu"), size) for size in ("tiny", "small"))
    parameters = [model.info["parameters"] for model in (tiny, small)]
    assert [round(each / 1e6, 1) for each in parameters] == [0.9, 14.5]
    assert [model.prepare(Image.new("RGB", (160, 120))).shape[-2:] for model in (tiny, small)] == [(64, 80), (128, 168)]
