"""A dataset drawn with rectangles instead of Blender, through the real planner and writer; and tiny
open_clip models."""

import hashlib
import io
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from click.testing import CliRunner, Result
from PIL import Image, ImageDraw

from evaluator.cli.main import main
from evaluator.models.registry import FAMILIES, Family
from evaluator.runs.measure import measure
from evaluator.training import networks
from generator.base.files import read_json, sha256, write_json
from generator.dataset.reader import Benchmark, Dataset, World
from generator.dataset.writer import WorldWriter
from generator.describe.benchmark import describe_world
from generator.describe.request import first_request
from generator.holdout.blocks import draw_block
from generator.holdout.holdout import Holdout
from generator.holdout.request import WorldPart, design_of, draw_holdouts
from generator.placement.scenes import place_scene
from generator.plan.plan import plan_parts
from generator.plan.store import Assigned
from generator.scene.planned import Planned
from generator.scene.relations import scene_graph
from generator.scene.scene import Scene
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import Vocabulary, parse_vocabulary
from tests.evaluator.synthetic import Builder, Row, add_pair, one_of_each, planted, write_run

SIZE = 64
SCENES = {"train": 96, "val": 4, "seen": 12, "partial": 12, "unseen": 12}
_LEFT_OUT = ("gray", "brown", "cylinder", "torus", "arch", "star", "crescent", "hourglass")
_SIDES = {
    "cube": (20, 20),
    "sphere": (10, 10),
    "cone": (8, 26),
    "pyramid": (26, 8),
    "heart": (14, 20),
    "cross": (20, 14),
}


def write_certificate(world: World, benchmark: Benchmark, /, **changed: Any) -> None:
    """Write a certificate as somebody could who has these files."""
    known = {
        "status": "clean",
        "level": "records",
        "faults": {},
        "benchmark": benchmark.digest,
        "world": world.digest,
    }
    manifests = [sha256(part.path("manifest.json")) for part in (world, benchmark)]
    write_json(benchmark.path("verify.json"), {**known, "manifests": manifests, **changed})


@pytest.fixture(autouse=True, scope="session")
def _cache_of_fixtures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What fixtures of several tests train is not remembered in the user's own cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Embeddings of one test never reach another, nor the user's own cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(autouse=True)
def _logs(caplog: pytest.LogCaptureFixture) -> None:
    """`caplog` holds what library code logs."""
    caplog.set_level("INFO")


@pytest.fixture
def bags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers `bag:`, the encoders of encoders.py."""
    monkeypatch.setitem(
        FAMILIES, "bag", Family("tests.evaluator.encoders:load_bag", "bag:float32@FOLDER")
    )


SHORT_TRAINING = ("--epochs", "1", "--batch", "32", "--device", "cpu")
"""Options of `score train`."""


def score_command(*arguments: str | Path) -> Result:
    """Run `score` in this process; an unforeseen error is an error of the test."""
    result = CliRunner().invoke(main, [str(a) for a in arguments], prog_name="score")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def succeed(*arguments: str | Path) -> Result:
    """Run `score` in this process, which ends well."""
    result = score_command(*arguments)
    assert result.exit_code == 0, result.output
    return result


def score_json(*arguments: str | Path) -> Any:
    """What `score` prints as JSON."""
    return json.loads(succeed(*arguments, "--json").stdout)


def assert_one_sentence(result: Result, *sentences: str) -> None:
    """The command ended as a user's mistake does. What it says while it loads does not count."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    last = []
    for line in result.stderr.strip().splitlines():
        if not line.startswith("Importing the libraries of "):
            last.append(line)
    assert len(last) == 1, result.stderr
    assert last[0].startswith("Error: ")
    assert last[0].endswith((".", "?"))
    for part in sentences:
        assert part in last[0]


def small_vocabulary_text() -> str:
    """The family clevr with 6 colours and 6 shapes: 900 captions instead of 7,392."""
    lines = vocabulary_text("clevr").splitlines(keepends=True)
    return "".join(
        line for line in lines if not line.startswith(tuple(f"{name} =" for name in _LEFT_OUT))
    )


def draw(scene: Scene) -> tuple[bytes, list[list[int]]]:
    """A PNG with a rectangle for each object, and their boxes: colour is value, sides are category,
    place is order."""
    image = Image.new("RGB", (SIZE, SIZE), (225, 225, 225))
    pen, boxes = ImageDraw.Draw(image), []
    n = max(2, len(scene.objects))
    for i, obj in enumerate(scene.objects):
        x, y = (
            SIZE // (2 * n) + i * SIZE // n + round(obj.position[0]),
            SIZE // 2 + round(4 * obj.position[1]),
        )
        w, h = _SIDES[obj.category]
        boxes.append([x - w // 2, y - h // 2, x + w // 2, y + h // 2])
        pen.rectangle(
            (boxes[-1][0], boxes[-1][1], boxes[-1][2] - 1, boxes[-1][3] - 1),
            fill=obj.attributes["color"],
        )
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue(), boxes


def build_dataset(root: Path, scenes: dict[str, int] = SCENES, seed: int = 3) -> Path:
    """Write a dataset of drawn scenes, held out 3x3, as `gen render` does."""
    vocabulary = parse_vocabulary(small_vocabulary_text(), "small")
    holdout = draw_block("3x3", vocabulary, 0)
    _write_drawn(root, vocabulary, [WorldPart(holdout, scenes)], scenes, seed)
    describe_world(
        root,
        World(root / "world"),
        holdout=holdout,
        name=_name(holdout),
        request=first_request(holdout),
    )
    return root


def build_class_lists(root: Path, seed: int = 3) -> Path:
    """Write a dataset of drawn scenes with a benchmark of each kind of the design gzsl, as `gen
    render` does."""
    vocabulary = parse_vocabulary(small_vocabulary_text(), "small")
    holdouts = draw_holdouts(("objects=3",), "gzsl", vocabulary=vocabulary, block_seed=0)
    scenes = {"train": 24, "id_val": 6, "id_test": 6, "ood_val": 6, "ood_test": 6}
    planned = _write_drawn(
        root, vocabulary, [WorldPart(holdout, scenes) for holdout in holdouts], scenes, seed
    )
    for part, holdout in enumerate(holdouts):
        made_for = {
            scene.scene_id: Assigned(str(scene.split), scene.named)
            for scene in planned
            if scene.part == part
        }
        describe_world(
            root,
            World(root / "world"),
            holdout=holdout,
            name=_name(holdout),
            request=first_request(holdout),
            assigned=made_for,
            with_world=True,
        )
    return root


def _name(holdout: Holdout) -> str:
    return design_of(holdout).benchmark_name(holdout)


def _write_drawn(
    root: Path,
    vocabulary: Vocabulary,
    parts: Sequence[WorldPart],
    scenes: dict[str, int],
    seed: int,
) -> list[Planned]:
    text = small_vocabulary_text()
    request = {
        "family": vocabulary.name,
        "holdout": "3x3",
        "scenes": scenes,
        "width": SIZE,
        "height": SIZE,
        "seed": seed,
        "block_seed": 0,
        "quality": {"name": "draft", "samples": 1, "bounces": 0, "denoise": ""},
        "blender": "none",
        "vocabulary": text,
    }
    planned = list(plan_parts(vocabulary, parts, seed))
    with WorldWriter(root, request) as writer:
        for planned_scene in planned:
            scene = place_scene(planned_scene, vocabulary, seed, 0, SIZE, SIZE)
            png, boxes = draw(scene)
            (writer.images / f"{planned_scene.scene_id}.png").write_bytes(png)
            writer.add(
                _record(
                    planned_scene.scene_id, planned_scene.cluster_id, scene, boxes, vocabulary, png
                )
            )
        writer.finish(text)
    return planned


def _record(
    scene_id: str,
    cluster_id: str,
    scene: Scene,
    boxes: list[list[int]],
    vocabulary: Vocabulary,
    png: bytes,
) -> dict[str, Any]:
    return {
        "scene_id": scene_id,
        "cluster_id": cluster_id,
        "objects": [
            {
                "category": obj.category,
                "attributes": obj.attributes,
                "amodal_box": box,
                "visible_fraction": 1.0,
            }
            for obj, box in zip(scene.objects, boxes, strict=True)
        ],
        "relations": [
            {"subject": i, "relation": name, "object": j}
            for i, j, name, holds in scene_graph(scene, vocabulary).edges(keys=True, data="holds")
            if holds
        ],
        "scene": scene.to_json(),
        "files": {f"images/{scene_id}.png": hashlib.sha256(png).hexdigest()},
    }


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of 136 drawn scenes at 64x64, held out 3x3 of 6 colours and 6 shapes. Not to be
    changed."""
    return build_dataset(tmp_path_factory.mktemp("drawn") / "dataset")


@pytest.fixture(scope="session")
def class_lists(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of drawn scenes with four benchmarks of the design gzsl. Not to be changed."""
    return build_class_lists(tmp_path_factory.mktemp("drawn") / "class-lists")


@pytest.fixture
def drawn_copy(drawn: Path, tmp_path: Path) -> Path:
    """A copy of the drawn dataset that a test may damage."""
    return Path(shutil.copytree(drawn, tmp_path / "dataset"))


@pytest.fixture(scope="session")
def world(drawn: Path) -> World:
    """The world of the drawn dataset."""
    return Dataset.open(drawn).world


@pytest.fixture(scope="session")
def benchmark(drawn: Path) -> Benchmark:
    """The benchmark of the drawn dataset."""
    return Dataset.open(drawn).benchmark()


@dataclass(frozen=True)
class Tiny:
    """A tiny architecture that open_clip knows by name, its configuration and random weights."""

    name: str
    config: dict[str, Any]
    state: dict[str, torch.Tensor]

    def save(self, path: Path) -> Path:
        """Write the weights as `torch.save(model.state_dict())` does; returns the path."""
        torch.save(self.state, path)
        return path


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Tiny]:
    """Makes tiny architectures: `tiny("name", context_length=6)` changes the text tower,
    `quick_gelu=True` both."""
    folder = tmp_path_factory.mktemp("configs")
    models: dict[str, Tiny] = {}

    def make(
        name: str = "tiny", quick_gelu: bool = False, embed_dim: int = 16, **text: int
    ) -> Tiny:
        if name not in models:
            config: dict[str, Any] = {
                "embed_dim": embed_dim,
                "vision_cfg": {
                    "image_size": 32,
                    "layers": 1,
                    "width": 32,
                    "patch_size": 16,
                    "head_width": 16,
                },
                "text_cfg": {
                    "context_length": 16,
                    "vocab_size": 49408,
                    "width": 32,
                    "heads": 2,
                    "layers": 1,
                    **text,
                },
            }
            if quick_gelu:
                config["quick_gelu"] = True
            path = folder / f"{name}.json"
            path.write_text(json.dumps(config))
            open_clip.add_model_config(path)
            torch.manual_seed(0)
            models[name] = Tiny(name, config, open_clip.CLIP(**config).state_dict())
        return models[name]

    return make


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """New models of every architecture have few weights: what is tested is not what they learn."""
    for kind in ("dual", "dual-vit"):
        config = networks.network_config(kind)
        config["vision_cfg"] |= {"width": 8, "head_width": 8}
        config["text_cfg"] |= {"width": 8, "heads": 2, "layers": 1}
        monkeypatch.setitem(networks.NETWORKS[kind], "tiny", config)
    unet = networks.NETWORKS["diffusion"]["tiny"]["unet"] | {
        "sample_size": 16,
        "block_out_channels": (8, 16),
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
    }
    monkeypatch.setitem(networks.NETWORKS["diffusion"]["tiny"], "unet", unet)
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    monkeypatch.setitem(
        networks.NETWORKS["cross"], "tiny", {**sizes, "image_size": 32, "patch_size": 16}
    )


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A measured run of every protocol but retrieval, with random scores."""
    builder = one_of_each(Builder(0, 240), 40)
    for _ in range(40):
        add_pair(builder)
    root = builder.write(tmp_path_factory.mktemp("papers") / "dataset")
    rng = np.random.default_rng(1)
    folder = write_run(
        root, tmp_path_factory.mktemp("papers-run") / "run", lambda n: planted(rng, n), [3]
    )
    measure(folder)
    return folder


@pytest.fixture(scope="session")
def results(measured: Path) -> Row:
    """The results of that run."""
    return read_json(measured / "results.json")
