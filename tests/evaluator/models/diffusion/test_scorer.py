"""`diffusion:` models against a plain double loop over the library's own classes, on tiny pipelines read from disk."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers
import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load, load_file, save, save_file
from torchvision import transforms

from evaluator.models.diffusion.loading import load_diffusion
from evaluator.models.diffusion.networks import Flux
from evaluator.models.diffusion.samples import image_digest, noise
from evaluator.models.diffusion.schedules import Preset, Schedule, parse_preset
from evaluator.models.diffusion.scorer import DiffusionClassifier
from evaluator.models.registry import FAMILIES, load_model
from generator.dataset.errors import UserError
from tests.evaluator import diffusers_folders
from tests.evaluator.diffusers_folders import SIDE

TEXTS = ["a photo of a red cube", "a photo of a blue sphere", "a photo of a blue cube and a red sphere"]
KINDS = ["epsilon", "v_prediction", "stable_diffusion_xl", "stable_diffusion_3", "aura_flow", "flux"]
SAMPLES = 5


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Any:
    """Networks this small are slower on two threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The tiny pipeline of a kind, made at the first call. Not to be changed."""
    made: dict[str, Path] = {}

    def folder(kind: str) -> Path:
        if kind not in made:
            place = tmp_path_factory.mktemp(kind)
            unet = kind in ("epsilon", "v_prediction")
            made[kind] = (
                diffusers_folders.stable_diffusion(place, kind) if unet else getattr(diffusers_folders, kind)(place)
            )
        return made[kind]

    return folder


@pytest.fixture(autouse=True)
def _small_flux(monkeypatch: pytest.MonkeyPatch) -> None:
    """FLUX's size is not in its configuration, and too large for a test."""
    monkeypatch.setattr(Flux, "side", SIDE)


def pictures(n: int, size: tuple[int, int] = (SIDE, SIDE), seed: int = 0) -> list[Image.Image]:
    """Random pictures."""
    rng = np.random.default_rng(seed)
    return [Image.fromarray(rng.integers(0, 256, (*size[::-1], 3), dtype=np.uint8)) for _ in range(n)]


def plain_error(
    pipe: Any, image: Image.Image, text: str, loss: Callable[..., torch.Tensor], samples: int, i: int
) -> float:
    """One evaluation as the library's own pipelines make it, on an image that has their size."""
    latent = pipe.vae.encode(pipe.image_processor.preprocess(image)).latent_dist.mean
    latent = (latent - (pipe.vae.config.shift_factor or 0)) * pipe.vae.config.scaling_factor
    drawn = torch.from_numpy(noise(image_digest(image), 0, i, tuple(latent.shape[1:])))[None]
    level = (i + 0.5) / samples
    if hasattr(pipe, "unet"):
        scheduler = diffusers.DDPMScheduler.from_config(pipe.scheduler.config)
        t = torch.tensor([int(level * 1000)])
        noisy = scheduler.add_noise(latent, drawn, t)
        target = drawn if scheduler.config.prediction_type == "epsilon" else scheduler.get_velocity(latent, drawn, t)
        if isinstance(pipe, diffusers.StableDiffusionXLPipeline):
            if text:
                states, _, pooled, _ = pipe.encode_prompt(text, do_classifier_free_guidance=False)
            else:  # what the library takes where no negative prompt is given
                _, states, _, pooled = pipe.encode_prompt("x", do_classifier_free_guidance=True)
            sizes = pipe._get_add_time_ids((SIDE, SIDE), (0, 0), (SIDE, SIDE), torch.float32, 16)
            added = {"text_embeds": pooled, "time_ids": sizes}
            return float(loss(pipe.unet(noisy, t, states, added_cond_kwargs=added).sample, target))
        states = pipe.encode_prompt(text, "cpu", 1, False)[0]
        return float(loss(pipe.unet(noisy, t, states).sample, target))
    noisy, target = (1 - level) * latent + level * drawn, drawn - latent
    t = torch.tensor([level * 1000], dtype=torch.float32)
    if isinstance(pipe, diffusers.StableDiffusion3Pipeline):
        states, _, pooled, _ = pipe.encode_prompt(text, text, text, do_classifier_free_guidance=False)
        return float(loss(pipe.transformer(noisy, states, pooled, t).sample, target))
    if isinstance(pipe, diffusers.AuraFlowPipeline):
        states = pipe.encode_prompt(text, do_classifier_free_guidance=False)[0]
        return float(loss(pipe.transformer(noisy, states, t / 1000).sample, target))
    states, pooled, text_ids = pipe.encode_prompt(text, text)
    _, channels, height, width = noisy.shape
    found = pipe.transformer(
        pipe._pack_latents(noisy, 1, channels, height, width), states, pooled, t / 1000,
        pipe._prepare_latent_image_ids(1, height // 2, width // 2, "cpu", torch.float32), text_ids, torch.ones(1),
    ).sample  # fmt: skip
    return float(loss(pipe._unpack_latents(found, SIDE, SIDE, pipe.vae_scale_factor), target))


LOSSES = {"l2": torch.nn.MSELoss(), "l1": torch.nn.L1Loss(), "huber": torch.nn.HuberLoss()}


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_scores_equal_a_double_loop(folders: Callable[[str], Path], kind: str) -> None:
    """For every pipeline, image and text: the mean over the samples of the library's own error, and its difference."""
    classifier = load_model(f"diffusion:{folders(kind)}@fixed,samples={SAMPLES}", "cpu")
    pipe = diffusers.DiffusionPipeline.from_pretrained(folders(kind), safety_checker=None)
    images = pictures(2)
    pairs = [(i, text) for i in range(2) for text in TEXTS[i:]]
    scores = classifier.score_pairs(images, pairs)
    assert scores.dtype == np.float32
    for (i, text), (conditional, relative) in zip(pairs, scores, strict=True):
        plain, without = (
            -np.mean([plain_error(pipe, images[i], words, LOSSES["l2"], SAMPLES, s) for s in range(SAMPLES)])
            for words in (text, "")
        )
        assert conditional == pytest.approx(plain, abs=1e-4)
        assert relative == pytest.approx(plain - without, abs=1e-4)
    assert np.abs(np.diff(scores[:3, 0])).min() > 1e-4  # texts do matter in these networks


@pytest.mark.parametrize("loss", sorted(LOSSES))
@torch.no_grad()
def test_losses(folders: Callable[[str], Path], loss: str) -> None:
    """Each of the three against torch's own."""
    classifier = load_diffusion(f"{folders('epsilon')}@fixed,samples=4,loss={loss}", "cpu")
    pipe = diffusers.DiffusionPipeline.from_pretrained(folders("epsilon"), safety_checker=None)
    image = pictures(1)[0]
    plain = -np.mean([plain_error(pipe, image, TEXTS[0], LOSSES[loss], 4, s) for s in range(4)])
    assert classifier.score_pairs([image], [(0, TEXTS[0])])[0, 0] == pytest.approx(plain, abs=1e-4)


@pytest.mark.parametrize(
    "schedule", [Schedule((12,), (1,)), Schedule((5, 12), (2, 1)), parse_preset("sequential,samples=24").schedule]
)
def test_batch_size_and_order_do_not_matter(folders: Callable[[str], Path], schedule: Schedule) -> None:
    """Nor what else is scored, nor where the image stands; pairs given twice are scored once."""
    images = pictures(2)
    pairs = [(i, text) for i in range(2) for text in TEXTS]
    loaded = load_diffusion(str(folders("epsilon")), "cpu")
    one = DiffusionClassifier(loaded._network, Preset("tried", schedule), torch.device("cpu"))
    scores = one.score_pairs(images, pairs)
    one._batch = 5
    assert one.score_pairs(images, pairs) == pytest.approx(scores, abs=1e-5)
    again = [(1 - i, text) for i, text in reversed(pairs)]
    total = one.evaluations.total
    turned = one.score_pairs(images[::-1], again + again)
    assert turned[: len(pairs)][::-1] == pytest.approx(scores, abs=1e-5)
    assert np.array_equal(turned[: len(pairs)], turned[len(pairs) :])
    evaluations = one.evaluations
    assert evaluations.total - total == evaluations.pairs[: len(pairs)].sum() + evaluations.unconditional
    alone = one.score_pairs(images[1:], [(0, text) for text in TEXTS])
    assert alone == pytest.approx(scores[3:], abs=1e-5)


def test_noise_is_shared_by_texts_and_texts_are_read_once(
    folders: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the network is shown differs between images and samples, never between texts of an image."""
    classifier = load_diffusion(f"{folders('epsilon')}@fixed,samples=4", "cpu")
    shown: list[tuple[bytes, int, bytes]] = []
    read: list[str] = []
    network = classifier._network
    find, encode = network.find, network.read

    def watched_find(noisy: torch.Tensor, timesteps: torch.Tensor, condition: dict[str, torch.Tensor]) -> torch.Tensor:
        rows = zip(noisy, timesteps, condition["states"], strict=True)
        shown.extend((x.numpy().tobytes(), int(t), states.numpy().tobytes()) for x, t, states in rows)
        return find(noisy, timesteps, condition)

    def watched_read(texts: list[str]) -> dict[str, torch.Tensor]:
        read.extend(texts)
        return encode(texts)

    monkeypatch.setattr(network, "find", watched_find)
    monkeypatch.setattr(network, "read", watched_read)
    images = pictures(2)
    classifier.score_pairs(images, [(i, text) for i in range(2) for text in TEXTS])
    classifier.score_pairs(images, [(0, TEXTS[0])])
    assert sorted(read) == sorted([*TEXTS, ""])
    first = shown[: 2 * 4 * 4]
    by_text: dict[bytes, list[tuple[bytes, int]]] = {}
    for noisy, t, states in first:
        by_text.setdefault(states, []).append((noisy, t))
    assert len(by_text) == 4
    assert len({tuple(seen) for seen in by_text.values()}) == 1
    assert len({noisy for noisy, _, _ in first}) == 2 * 4
    assert sorted({t for _, t, _ in first}) == [125, 375, 625, 875]


def test_sequential_is_the_exhaustive_on_fewer(folders: Callable[[str], Path]) -> None:
    """Same noise and timesteps: texts that got all samples have the exhaustive score, and contests the same winner."""
    images = pictures(3)
    pairs = [(i, text) for i in range(3) for text in TEXTS]
    contests = [[0, 1, 2], [3, 4], [4, 5], [6, 7, 8]]
    every = load_diffusion(f"{folders('epsilon')}@exhaustive,samples=64", "cpu")
    some = load_diffusion(f"{folders('epsilon')}@sequential,samples=64", "cpu")
    full, quick = every.score_pairs(images, pairs, contests), some.score_pairs(images, pairs, contests)
    assert every.evaluations.pairs.tolist() == [64] * 9
    assert set(some.evaluations.pairs) <= set(some._preset.schedule.stages)
    assert some.evaluations.total < every.evaluations.total
    for contest in contests:
        assert full[contest, 0].argmax() == quick[contest, 0].argmax()
        for channel in (0, 1):
            assert np.argsort(quick[contest, 0]).tolist() == np.argsort(quick[contest, channel]).tolist()
    assert (some.contested, every.contested) == (True, False)


def test_info_and_key(folders: Callable[[str], Path]) -> None:
    """All that decides a score is said and is in the key; where the files lie is not."""
    one = load_diffusion(f"{folders('v_prediction')}@li2023", "cpu")
    assert one.info | {
        "pipeline": "StableDiffusionPipeline", "scheduler": "PNDMScheduler", "prediction": "v_prediction", "resolution": "32 × 32",
        "preset": "li2023", "samples": "50 samples keep 5 → 500 samples keep 1", "loss": "l2", "precision": "float32", "device": "cpu",
        "text_length": 16,
    } == one.info  # fmt: skip
    assert len(one.info["weights_sha256"]) == 64
    assert (one.channels, one.passes) == (("conditional", "relative"), 500)
    changed = load_diffusion(f"{folders('v_prediction')}@sequential,confidence=0.9,samples=64", "cpu").info
    assert changed["preset"] == "sequential,confidence=0.9,samples=64"
    assert changed["samples"] == "16 to 64 samples, until decided with 90% confidence"
    keys = {
        load_diffusion(f"{folders('v_prediction')}{preset}", "cpu").key
        for preset in (
            "",
            "@li2023,seed=1",
            "@li2023,loss=l1",
            "@sequential",
            "@sequential,confidence=0.9",
            "@exhaustive",
        )
    }
    assert len({*keys, one.key}) == 7


def test_a_moved_folder_is_the_same_model(folders: Callable[[str], Path], tmp_path: Path) -> None:
    """Its name may hold an @."""
    copy = tmp_path / "model@home"
    shutil.copytree(folders("epsilon"), copy)
    assert load_diffusion(str(copy), "cpu").key == load_diffusion(str(folders("epsilon")), "cpu").key
    assert load_diffusion(f"{copy}@li2023", "cpu").info["preset"] == "li2023"


def test_the_whole_image_is_seen(folders: Callable[[str], Path]) -> None:
    """A wide image keeps its sides, at the area that the network was made for; published presets crop."""
    whole, cropped = (load_diffusion(f"{folders('epsilon')}{preset}", "cpu") for preset in ("", "@li2023"))
    wide = pictures(1, (64, 36))[0]
    assert whole.fitted(wide).size == (44, 24)
    assert whole.fitted(pictures(1, (200, 20))[0]).size == (44, 24)
    assert whole.fitted(pictures(1, (50, 50))[0]).size == (SIDE, SIDE)
    assert cropped.fitted(wide).size == (SIDE, SIDE)
    for size in ((64, 36), (35, 57), (33, 33)):
        image = pictures(1, size)[0]
        published = transforms.Compose(
            [transforms.Resize(SIDE, transforms.InterpolationMode.BICUBIC), transforms.CenterCrop(SIDE)]
        )
        assert np.array_equal(np.array(cropped.fitted(image)), np.array(published(image)))
    classifier = load_diffusion(f"{folders('stable_diffusion_3')}@fixed,samples=4", "cpu")
    assert np.isfinite(classifier.score_pairs([wide], [(0, TEXTS[0])])).all()


def test_tokens_tell_cut_texts_apart(folders: Callable[[str], Path]) -> None:
    """All tokenizers beside one another; what CLIP cuts off, T5 still reads."""
    long = ["cube " * 20 + "red", "cube " * 20 + "blue"]
    clip = load_diffusion(str(folders("epsilon")), "cpu").tokens(long)
    assert clip.shape == (2, 16)
    assert np.array_equal(clip[0], clip[1])
    both = load_diffusion(str(folders("stable_diffusion_3")), "cpu").tokens(long)
    assert both.shape == (2, 16 + 16 + 256)
    assert not np.array_equal(both[0], both[1])


def test_batches_are_halved_when_memory_runs_out(
    folders: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is lost, and one evaluation that is too large is said in one sentence."""
    classifier = load_diffusion(f"{folders('epsilon')}@fixed,samples=6", "cpu")
    images, pairs = pictures(1), [(0, text) for text in TEXTS]
    scores = classifier.score_pairs(images, pairs)
    find, room = classifier._network.find, 3

    def cramped(noisy: torch.Tensor, *rest: Any) -> torch.Tensor:
        if len(noisy) > room:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return find(noisy, *rest)

    monkeypatch.setattr(classifier._network, "find", cramped)
    total = classifier.evaluations.total
    assert classifier.score_pairs(images, pairs) == pytest.approx(scores, abs=1e-5)
    assert classifier.evaluations.total == 2 * total
    assert "batches of 2" in capsys.readouterr().err
    room = 0
    with pytest.raises(UserError, match=r"no memory for one evaluation .* smaller model\.$"):
        classifier.score_pairs(images, pairs)


def test_half_precision_reaches_the_network_alone(folders: Callable[[str], Path]) -> None:
    """Under the engine's autocast: float32 comes back, near the full score; latents and texts are the same."""
    classifier = load_diffusion(f"{folders('epsilon')}@fixed,samples=4", "cpu")
    other = load_diffusion(f"{folders('epsilon')}@fixed,samples=4", "cpu")
    images, pairs = pictures(1), [(0, text) for text in TEXTS]
    full = classifier.score_pairs(images, pairs)
    with torch.autocast("cpu", torch.bfloat16):
        half = other.score_pairs(images, pairs)
        assert torch.equal(other.latent(images[0]), classifier.latent(images[0]))
    assert half.dtype == np.float32
    assert half == pytest.approx(full, abs=0.02)
    assert not np.array_equal(half, full)


# --- what cannot be loaded -------------------------------------------------------------------------------------------


def refused(name: str) -> str:
    """The one sentence that loading ends in."""
    with pytest.raises(UserError) as raised:
        load_diffusion(name, "cpu")
    message = raised.value.message
    assert "\n" not in message
    assert message.endswith((".", "?"))
    return message


def changed(folder: Path, to: Path, **entries: Any) -> Path:
    """A copy with entries of model_index.json changed, or taken out where None."""
    shutil.copytree(folder, to)
    index = json.loads((to / "model_index.json").read_text()) | entries
    (to / "model_index.json").write_text(json.dumps({key: value for key, value in index.items() if value is not None}))
    return to


def test_bad_places(folders: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder, no pipeline, no network, no such preset."""
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert "There is no folder" in refused(str(tmp_path / "none"))
    assert "There is no folder 'none'" in refused("none")
    assert "no model_index.json" in refused(str(tmp_path))
    assert "cannot be downloaded" in refused("somebody/some-model")
    assert "did you mean 'sequential'?" in refused(f"{folders('epsilon')}@sequentiel")
    (tmp_path / "model_index.json").write_text("{")
    assert "cannot be read" in refused(str(tmp_path))


def test_other_pipelines(folders: Callable[[str], Path], tmp_path: Path) -> None:
    """What does not make images of texts."""
    video = changed(folders("epsilon"), tmp_path / "a", _class_name="TextToVideoSDPipeline")
    assert "is a TextToVideoSDPipeline, not a text-to-image pipeline" in refused(str(video))
    edits = changed(folders("epsilon"), tmp_path / "b", _class_name="StableDiffusionImg2ImgPipeline")
    assert "did you mean 'StableDiffusionPipeline'?" in refused(str(edits))
    foreign = changed(folders("epsilon"), tmp_path / "c", unet=["my_code", "MyUNet"])
    assert "of the library 'my_code', whose code is not run here" in refused(str(foreign))
    shutil.copytree(folders("epsilon"), tmp_path / "d")
    config = tmp_path / "d" / "unet"
    diffusers_folders.unet(in_channels=9).save_pretrained(config)
    assert "takes 9 channels and the VAE gives 4" in refused(str(tmp_path / "d"))
    shutil.copytree(folders("epsilon"), tmp_path / "e")
    scheduler = tmp_path / "e" / "scheduler" / "scheduler_config.json"
    scheduler.write_text(scheduler.read_text().replace('"epsilon"', '"sample"'))
    assert "predicts epsilon or v_prediction, got 'sample'" in refused(str(tmp_path / "e"))


def test_incomplete_pipelines(folders: Callable[[str], Path], tmp_path: Path) -> None:
    """A component that is not listed, has no folder, no weights, weights that are more than tensors, or too few."""
    assert "has no vae; give one that is complete" in refused(
        str(changed(folders("epsilon"), tmp_path / "a", vae=None))
    )
    folder = tmp_path / "b"
    shutil.copytree(folders("epsilon"), folder)
    shutil.move(folder / "unet", tmp_path / "unet")
    assert "lacks the folder 'unet'" in refused(str(folder))
    shutil.move(tmp_path / "unet", folder / "unet")
    weights = folder / "unet" / "diffusion_pytorch_model.safetensors"
    whole = weights.read_bytes()
    weights.unlink()
    assert "cannot be loaded" in refused(str(folder))
    torch.save({"weight": torch.zeros(1)}, folder / "unet" / "diffusion_pytorch_model.bin")
    assert "safetensors" in refused(str(folder))
    weights.write_bytes(whole[: len(whole) // 2])
    assert "cannot be loaded" in refused(str(folder))
    tensors = load(whole)
    tensors.pop("conv_out.weight")
    weights.write_bytes(save(tensors))
    assert "The weights of the unet" in (said := refused(str(folder)))
    assert "lack conv_out.weight (1 in all)" in said
    weights.write_bytes(whole)
    encoder = folder / "text_encoder" / "model.safetensors"
    tensors = load_file(encoder)
    tensors.pop(next(name for name in tensors if name.endswith("fc1.weight")))
    save_file(tensors, encoder, metadata={"format": "pt"})
    assert "text_encoder" in (said := refused(str(folder)))
    assert "fc1.weight (1 in all)" in said


def test_registered() -> None:
    """The family and what `score models` says of it."""
    assert FAMILIES["diffusion"].loader == "evaluator.models.diffusion.loading:load_diffusion"
    assert "@PRESET" in FAMILIES["diffusion"].usage
    assert isinstance(DiffusionClassifier.channels, tuple)
