"""Models of one's own: `python:module:factory`, what is filled in, what is refused."""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from evaluator.models.contracts import Group, fingerprints
from evaluator.models.registry import load_model
from evaluator.models.user_code import networks_of, user_code
from evaluator.provenance.exposure import Exposure
from generator.base.errors import UserError
from generator.base.files import read_json
from tests.conftest import succeed
from tests.evaluator.conftest import score_command
from tests.paths import CHECKOUT

PAGE = (CHECKOUT / "docs" / "models.md").read_text(encoding="utf-8")


TEXTS = ["a red cube", "a blue sphere", "a cone"]


IMAGES = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]


ENCODER = """
import numpy as np
class Model:
    def encode_images(self, images):
        return np.stack([np.asarray(i, np.float64).mean((0, 1)) + 1 for i in images])
    def encode_texts(self, texts):
        return np.array([[len(t), t.count("r"), 1] for t in texts], np.float64)
"""


NETWORK = """
import torch
class Model(torch.nn.Module):
    def __init__(self, device):
        super().__init__()
        torch.manual_seed(SEED)
        self.layer = torch.nn.Linear(3, 4, device=device)
        self.drop = torch.nn.Dropout(0.5)
    def encode_images(self, images):
        return self.drop(self.layer(torch.tensor([list(map(float, i.getpixel((0, 0)))) for i in images]))).bfloat16()
    def encode_texts(self, texts):
        return [self.layer(torch.tensor([float(len(t)), 1, 2], requires_grad=True)) for t in texts]
"""


SCORER = """
class Model:
    def score(self, image, text):
        return image.getpixel((0, 0))[0] * text.count("red")
"""


BULK = """
import numpy as np
class Model:
    channels = ("fit", "length")
    passes = 2
    key = "first"
    calls = []
    def score_pairs(self, images, pairs, contests=None):
        self.calls.append((len(images), len(pairs), contests))
        return np.array([[images[i].getpixel((0, 0))[0], len(text)] for i, text in pairs], np.float16)
    def tokens(self, texts):
        return np.array([[len(text)] for text in texts], np.int16)
"""


def _load(spec: str) -> Any:
    return load_model(spec, "cpu")


@pytest.fixture
def make_model(written: Callable[..., str]) -> Callable[..., Any]:
    """Loads the `Model` of a module that is written for it."""
    return lambda source, name="own_model": _load(written(source, name))


def test_two_methods_are_a_dual_encoder_whose_score_is_the_cosine(
    make_model: Callable[..., Any],
) -> None:
    model = make_model(ENCODER)
    left, right = model.encode_images(IMAGES), model.encode_texts(TEXTS)
    assert left.dtype == right.dtype == np.float32
    raw = np.array([[256, 1, 1], [1, 1, 256]]), np.array([[10, 1, 1], [13, 1, 1], [6, 0, 1]])
    norms = [np.linalg.norm(vectors, axis=1) for vectors in raw]
    assert left @ right.T == pytest.approx(raw[0] @ raw[1].T / np.outer(*norms), abs=1e-6)
    assert np.array_equal(model.tokens(TEXTS), fingerprints(t.encode() for t in TEXTS))
    assert len({row.tobytes() for row in model.tokens([*TEXTS, TEXTS[0]])}) == 3
    assert model.info["weights"] == "python:own_model:Model"
    assert model.info["embeddings"] == "scaled to unit length"


def test_networks_are_counted_put_on_the_device_and_not_left_training(
    make_model: Callable[..., Any],
) -> None:
    first = make_model(NETWORK.replace("SEED", "0"))
    assert (first.info["parameters"], first.info["device"]) == (16, "cpu")
    assert np.array_equal(first.encode_images(IMAGES), first.encode_images(IMAGES))
    assert first.encode_texts(TEXTS).shape == (3, 4)


def test_results_are_reused_under_the_key_that_the_object_gives(
    make_model: Callable[..., Any],
) -> None:
    assert not make_model(ENCODER).reusable
    named = ENCODER + "    key = 'version 1'\n    channels = 3  # of its images\n"
    first, reloaded, changed = (
        make_model(named),
        make_model(named),
        make_model(named + "# changed\n"),
    )
    assert first.reusable
    assert first.key == reloaded.key
    assert (
        len({first.key, changed.key, make_model(named.replace("version 1", "version 2")).key}) == 3
    )
    assert first.key != make_model(named, "elsewhere").key
    assert re.fullmatch(r"[0-9a-f]{16}", make_model(ENCODER + "    key = '../../x'\n").key)


@pytest.mark.parametrize(("key", "cached"), [("", 0), ("    key = 'mine'\n", 1)])
def test_the_cache_of_a_model_without_a_key_is_deleted_with_its_run(
    key: str, cached: int, written: Callable[..., str], drawn: Path, tmp_path: Path
) -> None:
    succeed(
        "score run",
        drawn,
        "--model",
        written(ENCODER + key),
        "--out",
        tmp_path / "run",
        "--limit",
        "2",
    )
    assert len(list((tmp_path / "cache").rglob("*.sqlite"))) == cached
    assert not list((tmp_path / "run").rglob("*.sqlite"))


def test_one_method_is_a_pair_scorer(make_model: Callable[..., Any]) -> None:
    model = make_model(SCORER)
    scores = model.score_pairs(
        IMAGES, [(0, "a red cube"), (1, "a red cube"), (0, "a cone")], contests=[[0, 2]]
    )
    assert scores.dtype == np.float32
    assert scores.tolist() == [[255], [0], [0]]
    assert (model.channels, model.passes) == (("score",), 1)


def test_many_pairs_at_once_with_channels(make_model: Callable[..., Any]) -> None:
    model = make_model(BULK)
    scores = model.score_pairs(IMAGES, [(1, "abc"), (0, "d")], contests=[[0, 1]])
    assert scores.dtype == np.float32
    assert scores.tolist() == [[0, 3], [255, 1]]
    assert (model.channels, model.passes) == (("fit", "length"), 2)
    assert model.tokens(["ab", "cd", "e"]).tolist() == [[2], [2], [1]]
    untold = make_model(
        BULK.replace(", contests=None", "").replace(", contests)", ")") + "    contested = True\n"
    )
    assert untold.score_pairs(IMAGES, [(1, "abc")], [[0]]).tolist() == [[0, 3]]


def test_scores_that_are_not_numbers_are_unscored(make_model: Callable[..., Any]) -> None:
    model = make_model(SCORER.replace("return", "return float('inf') or", 1))
    assert np.isnan(model.score_pairs(IMAGES, [(1, "abc")])).all()
    encoder = make_model(ENCODER.replace("+ 1 for", "* np.nan for"))
    assert np.isnan(encoder.encode_images(IMAGES)).all()


WRONG = {  # model: what is changed, into what, what is said
    "rows": (
        ENCODER,
        "in texts",
        "in texts[:2]",
        r"Expected encode_texts of .* to give floating point embeddings of shape \(3, width\), got float64 of shape "
        r"\(2, 3\)",
    ),
    "kind": (
        ENCODER,
        "in texts], np.float64",
        "in texts], np.int64",
        r"encode_texts .* got int64 of shape \(3, 3\)",
    ),
    "width": (
        ENCODER,
        "1] for t",
        "1, 2] for t",
        r"encode_texts .* width 3, as before, got float64 of shape \(3, 4\)",
    ),
    "zeros": (
        ENCODER,
        "+ 1 for",
        "* 0 for",
        "encode_images .* only zeros for input 1 of 2; such an embedding has no cosine",
    ),
    "text": (
        SCORER,
        "return",
        "return '0.5' or",
        "Expected score of .* to give one number for 'a', got <U3",
    ),
    "shape": (
        BULK,
        "len(text)] for i",
        "len(text), 0] for i",
        r"score_pairs .* numbers of shape \(2, 2\), got float16 of shape \(2, 3\)",
    ),
    "tokens": (
        BULK,
        "in texts], np.int16",
        "in texts], float",
        r"Expected tokens of .* whole numbers of shape \(2, length\), got float64 of shape \(2, 1\)",
    ),
}


def _use(model: Any) -> None:
    if hasattr(model, "score_pairs"):
        model.score_pairs(IMAGES, [(0, "a"), (1, "b")])
        model.tokens(["a", "b"])
    else:
        model.encode_images(IMAGES)
        model.encode_texts(TEXTS)


@pytest.mark.parametrize("mistake", WRONG)
def test_wrong_results_of_a_method_are_named_in_one_sentence(
    mistake: str, make_model: Callable[..., Any]
) -> None:
    source, before, after, message = WRONG[mistake]
    assert before in source
    model = make_model(source.replace(before, after))
    with pytest.raises(UserError, match=message) as caught:
        _use(model)
    assert "python:own_model:Model" in caught.value.message
    assert caught.value.message.endswith(".")


@pytest.mark.parametrize(
    ("source", "spec", "message"),
    [
        (
            ENCODER,
            "python:no_such_module:Model",
            "There is no Python module 'no_such_module' in .*; run in its folder",
        ),
        (ENCODER, "python:own_model.deeper:Model", "There is no Python module 'own_model.deeper'"),
        (
            ENCODER,
            "python:own_model:Modell",
            "There is no 'Modell' in the module own_model: it has Model",
        ),
        (
            ENCODER,
            "python:own_model",
            "Expected python:PACKAGE.MODULE:FACTORY or python:FILE.py:FACTORY, .*got "
            "'python:own_model'",
        ),
        (ENCODER, "python:./own_model:Model", "Expected python:PACKAGE.MODULE:FACTORY"),
        ("Model = 3", "python:own_model:Model", "'Model' in own_model is not a class or function"),
        (
            "class Model: pass",
            "python:own_model:Model",
            r"\(Model\) has no method to score with; give it encode_images and",
        ),
        (
            "class Model:\n  def encode_texts(self, t): pass",
            "python:own_model:Model",
            "has only encode_texts; give it",
        ),
        (
            BULK + "    channels = 'fit'\n",
            "python:own_model:Model",
            "The attribute `channels` of .* is 'fit' ",
        ),
        (
            SCORER + "    channels = ('a', 'b')\n",
            "python:own_model:Model",
            "one number for 2 channels; give it score_pairs",
        ),
        (
            ENCODER + "    key = 3\n",
            "python:own_model:Model",
            r"The attribute `key` of .* is 3 \(.*\); fix it, or leave it out",
        ),
        (
            BULK + "    contested = 'yes'\n",
            "python:own_model:Model",
            "The attribute `contested` of .* is 'yes'",
        ),
        (
            BULK + "    exposure = 3\n",
            "python:own_model:Model",
            "The attribute `exposure` of .* is 3 .*Exposure",
        ),
        (
            ENCODER + "    info = {'a': np.float32(1)}\n",
            "python:own_model:Model",
            "attribute `info` of .* is {'a': ",
        ),
        (
            BULK.replace("passes = 2", "passes = 0"),
            "python:own_model:Model",
            "The attribute `passes` of .* is 0",
        ),
        (
            BULK + "    image_channel = 'x'\n",
            "python:own_model:Model",
            "The image_channel of .* is 'x'; give one of",
        ),
        (
            BULK.replace('"length"', '"../x"', 1),
            "python:own_model:Model",
            "The attribute `channels` of .* pattern",
        ),
        (
            BULK.replace('"length"', '"fit"', 1),
            "python:own_model:Model",
            "channels of .*; give a tuple of different",
        ),
    ],
)
def test_an_object_that_is_not_a_model_is_refused(
    source: str, spec: str, message: str, written: Callable[..., str]
) -> None:
    written(source)
    with pytest.raises(UserError, match=message) as caught:
        _load(spec)
    assert caught.value.message.endswith(".")
    assert "\n" not in caught.value.message


RAISING = {  # what is written, after what, the sentence, the line of the user's that is shown
    "syntax": (
        "class Model(:\n",
        "importing the module of {spec} ended with SyntaxError: invalid syntax",
        "class Model(:",
    ),
    "import": (
        "import no_such_package\n",
        "importing the module of {spec} ended with ModuleNotFoundError: No module named "
        "'no_such_package'",
        "import no_such_package",
    ),
    "exit": (
        "raise SystemExit(0)\n",
        "importing the module of {spec} ended with SystemExit: 0",
        "raise SystemExit(0)",
    ),
    "constructor": (
        ENCODER + "    def __init__(self): self.x = 1 / 0\n",
        "Model of {spec} ended with ZeroDivisionError: division by zero",
        "self.x = 1 / 0",
    ),
    "method": (
        ENCODER.replace("return np.array", "return {}['no'] or np.array"),
        "encode_texts of {spec} ended with KeyError: 'no'",
        "return {}['no'] or",
    ),
    "deeper": (
        "def helper(x):\n    raise ValueError('two\\nlines')\n"
        + ENCODER.replace("return np.stack", "return helper(images) or np.stack"),
        "encode_images of {spec} ended with ValueError: two lines",
        "raise ValueError('two",
    ),
    "library": (
        ENCODER.replace("return np.stack", "return np.linalg.inv(np.zeros((2, 3))) or np.stack"),
        "encode_images of {spec} ended with LinAlgError: Last 2 dimensions",
        "np.linalg.inv",
    ),
}


@pytest.mark.parametrize("mistake", RAISING)
def test_errors_of_user_code_are_shown_with_its_own_lines_alone(
    mistake: str, written: Callable[..., str], tmp_path: Path
) -> None:
    source, message, line = RAISING[mistake]
    spec = written(source)
    with pytest.raises(UserError) as caught:
        _use(_load(spec))
    first, *lines = caught.value.message.split("\n")
    assert first.startswith(message.format(spec=spec))
    assert first.endswith("; fix it here:")
    assert line in caught.value.message
    files = [line for line in lines if line.lstrip().startswith("File ")]
    assert files
    assert all(str(tmp_path / "own_model.py") in line for line in files)


def test_a_run_ends_with_that_sentence_and_exit_code_2(
    written: Callable[..., str], drawn: Path, tmp_path: Path
) -> None:
    spec = written(RAISING["method"][0])
    done = score_command("run", drawn, "--model", spec, "--out", tmp_path / "run")
    assert (done.exit_code, done.stdout) == (2, "")
    error = done.stderr[done.stderr.index("Error: ") :]
    assert error.startswith(
        f"Error: encode_texts of {spec} ended with KeyError: 'no'; fix it here:\n"
    )
    assert "evaluator/" not in error
    assert "Traceback" not in error


def test_images_prepared_in_threads_are_those_the_object_encodes(
    make_model: Callable[..., Any],
) -> None:
    prepares = (
        ENCODER.replace("i, np.float64", "i[1], np.float64")
        + "    def prepare(self, image):\n        return 'ready', image\n"
    )
    plain, model = make_model(ENCODER, "plain"), make_model(prepares)
    assert model.prepare(IMAGES[0]) == ("ready", IMAGES[0])
    ready = [model.prepare(image) for image in IMAGES]
    assert np.array_equal(
        model.encode_images(ready), plain.encode_images([plain.prepare(image) for image in IMAGES])
    )
    with pytest.raises(
        UserError, match="prepare of python:broken:Model ended with ZeroDivisionError"
    ):
        make_model(ENCODER + "    def prepare(self, image):\n        1 / 0\n", "broken").prepare(
            IMAGES[0]
        )


def test_optional_members_of_an_object_are_handed_on(make_model: Callable[..., Any]) -> None:
    more = (
        "    contested = True\n    reads_images = False\n    from evaluator.provenance.exposure "
        "import Exposure\n  "
        "  exposure = Exposure()\n    tie_tolerance = 1e-9\n"
    )
    silent, model = make_model(BULK, "silent"), make_model(BULK + more)
    assert (silent.contested, silent.reads_images, silent.exposure, silent.fits_texts) == (
        False,
        True,
        None,
        False,
    )
    assert (model.contested, model.reads_images, model.exposure) == (True, False, Exposure())
    assert (silent.tie_tolerance, model.tie_tolerance) == (1e-5, 1e-9)


def test_an_object_that_is_contested_gets_its_pairs_at_once_and_others_get_batches(
    make_model: Callable[..., Any],
) -> None:
    pairs, contests = [(i, text) for i in (0, 1) for text in TEXTS], [[0, 1, 2], [3, 4, 5]]
    parts, whole = make_model(BULK, "parts"), make_model(BULK + "    contested = True\n", "whole")
    for model in (parts, whole):
        model.batch.size = 2
    assert np.array_equal(
        parts.score_pairs(IMAGES, pairs, contests), whole.score_pairs(IMAGES, pairs, contests)
    )
    assert whole._model.calls == [(2, 6, contests)]
    assert parts._model.calls == [(1, 2, None), (2, 2, None), (1, 2, None)]


def test_an_object_that_is_fitted_on_texts_is_told_them(make_model: Callable[..., Any]) -> None:
    fits = SCORER + (
        "    def fit_texts(self, texts, groups):\n        self.fitted = sorted(texts), "
        "len(groups)\n"
    )
    model = make_model(fits)
    model.fit_texts(tuple(TEXTS), [Group(frozenset("a"), frozenset(TEXTS))])
    assert model.fits_texts
    assert model._model.fitted == (sorted(TEXTS), 1)


def test_a_model_is_named_by_its_file(written: Callable[..., str], tmp_path: Path) -> None:
    written(ENCODER.replace("import numpy", "import own_helper, numpy"), "own_file_model")
    written("", "own_helper")
    specs = [
        f"python:{place}:Model"
        for place in ("own_file_model.py", "./own_file_model.py", tmp_path / "own_file_model.py")
    ]
    models = [_load(spec) for spec in (*specs, "python:own_file_model:Model")]
    assert [model.info["weights"] for model in models[:3]] == specs
    assert len({model.info["source_sha256"] for model in models}) == 1
    assert all(
        np.array_equal(model.encode_images(IMAGES), models[0].encode_images(IMAGES))
        for model in models
    )


def test_a_file_need_not_be_in_the_working_directory(
    written: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written("from own_helper import SIZE\n" + ENCODER, "own-model")
    written("SIZE = 3\n", "own_helper")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert _load("python:../own-model.py:Model").encode_images(IMAGES).shape == (2, 3)


def test_a_file_that_is_no_module_of_its_own_is_refused(
    written: Callable[..., str], tmp_path: Path
) -> None:
    written(ENCODER, "json_of_mine")
    (tmp_path / "json.py").write_text(ENCODER)
    with pytest.raises(
        UserError, match=r"'json.py' has the name of another module, 'json', .*; rename the file"
    ):
        _load("python:json.py:Model")
    with pytest.raises(
        UserError, match=r"There is no file 'nowhere.py' in .*; give the path of the file"
    ):
        _load("python:nowhere.py:Model")
    written("1 / 0\n", "own_broken")
    for _ in range(2):  # a module that could not be imported is not kept half made
        with pytest.raises(
            UserError, match=r"importing the file of .* ended with ZeroDivisionError"
        ):
            _load("python:./own_broken.py:Model")


def test_the_model_of_the_docs_is_scored(
    written: Callable[..., str], drawn: Path, tmp_path: Path
) -> None:
    source = re.search(r"```python\n(import numpy.*?)```", PAGE, re.DOTALL)
    spec = re.search(r"--model (python:([\w.]+):\w+)", PAGE)
    assert source
    assert spec
    assert len(source[1].strip().splitlines()) <= 12
    written(source[1], spec[2])
    succeed("score run", drawn, "--model", spec[1], "--out", tmp_path / "run")
    assert read_json(tmp_path / "run" / "run.json")["info"]["weights"] == spec[1]


@pytest.mark.parametrize(
    "error",
    [MemoryError(), torch.OutOfMemoryError("full"), KeyboardInterrupt(), UserError("Expected a.")],
)
def test_lack_of_memory_a_stop_and_our_own_sentences_are_passed_on(error: BaseException) -> None:
    with pytest.raises(type(error)), user_code("python:m:M", "score"):
        raise error


def test_networks_are_found_in_attributes_and_containers() -> None:
    inner, outer = torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Linear(3, 4))
    shared = SimpleNamespace(
        own=inner, deep={"a": [(SimpleNamespace(held=outer),)], "again": inner}
    )
    shared.itself = shared
    assert {id(network) for network in networks_of(shared)} == {id(inner), id(outer)}
    assert networks_of(outer) == [outer]
    assert networks_of("no network") == []


FACTORY = """
import numpy as np
class Grown:
    def __init__(self, size: int, shift: float = 0.0): self.size, self.shift = size, shift
    def score(self, image, text): return len(text) * self.size + self.shift
"""


def test_a_factory_gets_the_arguments_of_the_model(written: Callable[..., str]) -> None:
    """Read as its annotations say; another argument is another model; what it does not take is
    refused."""
    spec = written(FACTORY).replace("Model", "Grown")
    model = _load(f"{spec},size=3,shift=0.5")
    assert model.score_pairs(IMAGES, [(0, "four")]).tolist() == [[12.5]]
    assert model.info["weights"] == f"{spec},size=3,shift=0.5"
    assert model.key != _load(f"{spec},size=4").key
    with pytest.raises(
        UserError, match=r"'Grown' in \w+ has no argument 'sise': did you mean 'size'"
    ):
        _load(f"{spec},sise=3")
    with pytest.raises(
        UserError, match=r"Grown of .* ended with TypeError: .* missing 1 required .* 'size'"
    ):
        _load(spec)
