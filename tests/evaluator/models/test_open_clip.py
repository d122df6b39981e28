"""open_clip models: formats, activations, the library's own answers, and mistakes."""

import contextlib
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import open_clip
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from evaluator.models.registry import load_model
from evaluator.training.session import save_model
from generator.base.errors import UserError
from tests.evaluator.conftest import Tiny
from tests.evaluator.evil import Evil
from tests.evaluator.tiny_models import TEXTS, matrix, open_clip_folder, pictures


def _plainly(path: Path, name: str, images: list[Image.Image]) -> np.ndarray:
    """Cosines (images, texts) by the library's own API, one input at a time."""
    model, _, preprocess = open_clip.create_model_and_transforms(name, pretrained=str(path))
    tokenizer = open_clip.get_tokenizer(name)
    model.eval()
    with torch.no_grad():
        left = [model.encode_image(preprocess(image)[None], normalize=True)[0] for image in images]
        right = [model.encode_text(tokenizer([text]), normalize=True)[0] for text in TEXTS]
    return np.array([[float(a @ b) for b in right] for a in left])


def test_every_format_gives_the_librarys_own_scores(
    tiny: Callable[..., Tiny], tmp_path: Path
) -> None:
    images, state = pictures(), tiny().state
    plain, epoch, safe = (
        tmp_path / name for name in ("plain.pt", "epoch_3.pt", "weights.safetensors")
    )
    tiny().save(plain)
    torch.save({"epoch": 3, "state_dict": {f"module.{k}": v for k, v in state.items()}}, epoch)
    save_file({k: v.contiguous() for k, v in state.items()}, safe)
    names = [f"tiny@{file}" for file in (plain, epoch, safe)]
    expected = _plainly(plain, "tiny", images)
    assert expected.std() > 1e-3
    keys = set()
    for name in (*names, f"local-dir:{open_clip_folder(tiny(), tmp_path / 'folder')}"):
        model = load_model(f"open_clip:{name}", "cpu")
        images_at, texts_at = model.encode_images(images), model.encode_texts(TEXTS)
        assert images_at.dtype == texts_at.dtype == np.float32
        assert np.linalg.norm(images_at, axis=1) == pytest.approx(np.ones(len(images)), abs=1e-6)
        assert images_at @ texts_at.T == pytest.approx(expected, abs=1e-5)
        keys.add((model.key, model.info["weights_sha256"]))
    assert len(keys) == 1


def test_quickgelu_is_what_the_architectures_name_says_of_a_file(
    tiny: Callable[..., Tiny], tmp_path: Path
) -> None:
    tiny("tiny-quickgelu", quick_gelu=True)
    path, images, scores = tiny().save(tmp_path / "tiny.pt"), pictures(), {}
    for name, activation in (("tiny", "GELU"), ("tiny-quickgelu", "QuickGELU")):
        model = load_model(f"open_clip:{name}@{path}", "cpu")
        assert model.info["activation"] == activation
        scores[name] = matrix(model, images, TEXTS)[..., 0]
        assert scores[name] == pytest.approx(_plainly(path, name, images), abs=1e-5)
    assert np.abs(scores["tiny"] - scores["tiny-quickgelu"]).max() > 1e-4


def test_a_saved_resnet_keeps_quickgelu(tiny: Callable[..., Tiny], tmp_path: Path) -> None:
    """Only its text tower has it, beside the ReLU of its image tower."""
    vision = {"image_size": 32, "layers": [1, 1, 1, 1], "width": 8, "patch_size": None}
    config = {**tiny().config, "vision_cfg": vision, "quick_gelu": True}
    resnet = Tiny("resnet", config, open_clip.CLIP(**config).state_dict())
    model = load_model(
        f"open_clip:local-dir:{open_clip_folder(resnet, tmp_path / 'resnet')}", "cpu"
    )
    (tmp_path / "saved").mkdir()
    save_model(model, tmp_path / "saved")
    reloaded = load_model(f"open_clip:local-dir:{tmp_path / 'saved'}", "cpu")
    decides = ("activation", "weights_sha256", "text_length")
    assert [reloaded.info[name] for name in decides] == [model.info[name] for name in decides]
    assert "QuickGELU" in reloaded.info["activation"]
    assert np.array_equal(reloaded.encode_texts(TEXTS), model.encode_texts(TEXTS))


@pytest.fixture
def published(tiny: Callable[..., Tiny], tmp_path: Path) -> Iterator[None]:
    """Publishes weights of the tiny architectures under tags, as open_clip keeps them."""
    tiny("tiny-quickgelu", quick_gelu=True)
    table, file = open_clip.pretrained._PRETRAINED, str(tiny().save(tmp_path / "published.pt"))
    gone = (tmp_path / "gone.pt").as_uri()
    make = open_clip.pretrained._pcfg
    table["tiny"] = {
        "quick": make(file=file, quick_gelu=True),
        "plain": make(file=file),
        "gone": make(url=gone),
    }
    table["tiny-quickgelu"] = {"quick": make(file=file, quick_gelu=True), "plain": make(file=file)}
    yield
    del table["tiny"], table["tiny-quickgelu"]


def test_quickgelu_follows_a_published_tag(published: None) -> None:
    for spec, activation in (
        ("tiny@quick", "QuickGELU"),
        ("tiny@plain", "GELU"),
        ("tiny-quickgelu@quick", "QuickGELU"),
    ):
        assert load_model(f"open_clip:{spec}", "cpu").info["activation"] == activation


def test_a_file_is_prepared_as_all_published_weights_are(
    published: None, tiny: Callable[..., Tiny], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tiny().save(tmp_path / "own.pt").parent))
    published_as = open_clip.pretrained._PRETRAINED["tiny"]
    for config in published_as.values():
        config |= {"mean": (0.5, 0.5, 0.5), "resize_mode": "squash"}
    published_as["quick"]["std"] = (0.5, 0.5, 0.5)
    preprocessing = load_model("open_clip:tiny@~/own.pt", "cpu").info["preprocessing"]
    assert "mean=(0.5, 0.5, 0.5), std=(0.26" in preprocessing
    assert "CenterCrop" not in preprocessing


def test_published_weights_that_cannot_be_had(
    published: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, message in (
        ("tiny-quickgelu@plain", r"trained with GELU, not QuickGELU: name the architecture tiny\."),
        (
            "tiny@gone",
            r"'gone' is not on this machine and cannot be downloaded .*; check the name and the network",
        ),
        ("tiny@quik", "no weights 'quik' for tiny: did you mean 'quick'"),
    ):
        with pytest.raises(UserError, match=message):
            load_model(f"open_clip:{name}", "cpu")


def test_architectures_of_equal_tensors_have_keys_of_their_own(
    tiny: Callable[..., Tiny], tmp_path: Path
) -> None:
    tiny("tiny-four-heads", heads=4)
    path = tiny().save(tmp_path / "tiny.pt")
    two, four = (
        load_model(f"open_clip:{name}@{path}", "cpu") for name in ("tiny", "tiny-four-heads")
    )
    assert two.info["weights_sha256"] == four.info["weights_sha256"]
    assert two.key != four.key


def test_a_file_that_is_not_a_checkpoint_is_refused_and_never_run(
    tiny: Callable[..., Tiny], tmp_path: Path
) -> None:
    trace, files = (
        tmp_path / "trace",
        {name: tmp_path / f"{name}.pt" for name in ("text", "empty", "code", "list")},
    )
    files["text"].write_text("these are not the weights you are looking for\n" * 20)
    files["empty"].write_bytes(b"")
    files["code"].write_bytes(pickle.dumps({"state_dict": Evil(trace)}))
    torch.save([1, 2], files["list"])
    with contextlib.suppress(RuntimeError):
        torch.load(files["code"], weights_only=False)
    trace.unlink()  # the trap works
    for path in [*files.values(), tiny("tiny-wide", embed_dim=24).save(tmp_path / "wide.pt")]:
        with pytest.raises(UserError, match="saved by open_clip") as caught:
            load_model(f"open_clip:{tiny().name}@{path}", "cpu")
        assert str(path) in caught.value.message
        assert ("do not fit its configuration" in caught.value.message) == (path.stem == "wide")
        assert not trace.exists()
    with pytest.raises(UserError, match=r"is a folder.*local-dir:"):
        load_model(f"open_clip:tiny@{tmp_path}", "cpu")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_gives_the_cpus_scores(tiny: Callable[..., Tiny], tmp_path: Path) -> None:
    spec = f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}"
    cpu, gpu = (load_model(spec, device) for device in ("cpu", None))
    assert gpu.info["device"].startswith("cuda")
    assert cpu.key != gpu.key
    there, here = (matrix(model, pictures(), TEXTS) for model in (gpu, cpu))
    assert there == pytest.approx(here, abs=1e-5)


def test_training_without_padding_gives_the_librarys_features_and_gradients(
    tiny: Callable[..., Tiny], tmp_path: Path
) -> None:
    path = tiny().save(tmp_path / "tiny.pt")
    encoder = load_model(f"open_clip:tiny@{path}", "cpu")
    network = encoder.network.train()
    tokens = encoder.text_inputs(TEXTS)
    own_features = encoder.text_features(tokens)
    own_features.sum().backward()
    own_gradient = network.positional_embedding.grad.clone()
    network.zero_grad()
    padded_features = network.encode_text(tokens["text"], normalize=True)
    padded_features.sum().backward()
    assert own_features.detach().numpy() == pytest.approx(
        padded_features.detach().numpy(), abs=1e-6
    )
    assert own_gradient.numpy() == pytest.approx(
        network.positional_embedding.grad.numpy(), rel=1e-5, abs=1e-5
    )
    # What is read ends with the longest text: later positions have no part in it.
    longest = max(encoder.token_counts(TEXTS))
    assert own_gradient[:longest].abs().sum() > 0
    assert own_gradient[longest:].abs().sum() == 0


def test_evaluation_reads_the_padding(tiny: Callable[..., Tiny], tmp_path: Path) -> None:
    """An embedding has the same bits whatever texts are in its batch."""
    encoder = load_model(f"open_clip:tiny@{tiny().save(tmp_path / 'tiny.pt')}", "cpu")
    tokens = encoder.text_inputs(TEXTS)["text"]
    with torch.no_grad():
        together = encoder.text_features({"text": tokens})
        expected = encoder.network.encode_text(tokens)
    assert torch.equal(together, expected)
