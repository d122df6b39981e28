"""The models of a suite: --model, --train and --models."""

from pathlib import Path

import pytest

from evaluator.suite.models import check_distinct_folders, named_models, read_suite_models
from generator.base.errors import UserError


def test_a_name_may_stand_before_a_spec_and_arguments_keep_their_sign() -> None:
    models = named_models(
        ["CLIP=open_clip:ViT-B-32@openai", "diffusion:sd,samples=8", "oracle", "perfect=oracle"],
        None,
    )
    assert {name: model.spec for name, model in models.items()} == {
        "CLIP": "open_clip:ViT-B-32@openai",
        "diffusion:sd,samples=8": "diffusion:sd,samples=8",
        "oracle": "oracle",
        "perfect": "oracle",
    }


def test_only_models_that_training_can_change_are_trained() -> None:
    specs = ["hf:m", "blind:length", "oracle", "jackalope:models/{world}/{turn}"]
    methods = [model.method for model in named_models(specs, "labclip").values()]
    assert methods == ["labclip", None, None, None]


@pytest.mark.parametrize(
    ("specs", "sentence"),
    [
        (["a=hf:m", "a=hf:n"], "Two models are named 'a'"),
        (["clip"], "family:name"),
        (["a=nowhere:m"], "Unknown model family 'nowhere'"),
    ],
)
def test_wrong_specs_are_one_sentence(specs: list[str], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        named_models(specs, None)


def test_two_names_of_one_folder_are_refused() -> None:
    with pytest.raises(UserError, match="'a b' and 'a:b' share a folder"):
        check_distinct_folders(["a b", "a:b"])


def test_a_file_of_models(tmp_path: Path) -> None:
    path = tmp_path / "zoo.toml"
    path.write_text(
        '[models.CLIP]\nspec = "open_clip:ViT-B-32@openai"\nrun = { batch-size = 8 }\n'
        'ask = { max-tokens = 64 }\n[models.dual]\nmethod = "scratch"\nseeds = [0, 1]\n'
        'train = { epochs = 2 }\ntracks = ["bind"]\n'
    )
    models = read_suite_models(path)
    assert list(models) == ["CLIP", "dual"]
    assert models["CLIP"].run == {"batch_size": 8}
    assert models["CLIP"].ask == {"max_tokens": 64}
    assert models["dual"].seeds == (0, 1)
    assert models["dual"].tracks == ("bind",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[models.a]", "models.a: Expected a spec, or a method such as scratch"),
        ('[models.a]\nmethod = "scratch"\nspec = "hf:m"', "leave spec out"),
        ('[models.a]\nmethod = "finetune"', "trains a model further; give its spec"),
        ('[models.a]\nmethod = "finetune"\nspec = "hf:{turn}"', "leave method out"),
        ('[models.a]\nspec = "hf:m"\ntrain = { epochs = 2 }', "need a method"),
        ('[models.a]\nspec = "hf:m"\nseeds = []', "seeds"),
        ('[models.a]\nspec = "hf:m"\nsize = 2', "size"),
        ('[models.a]\nmethod = "magic"', "method"),
        ('[models.a]\nspec = "python:mine.py:make"', "check that you trust it"),
        ('[models.a]\nspec = "hf:m"\nask = { to = "file" }', "--to"),
        ("models = 3", "models"),
    ],
)
def test_a_wrong_file_of_models_is_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "zoo.toml").write_text(text)
    with pytest.raises(UserError, match=sentence):
        read_suite_models(tmp_path / "zoo.toml")


def test_models_that_run_code_need_the_users_consent(tmp_path: Path) -> None:
    (tmp_path / "zoo.toml").write_text('[models.a]\nspec = "python:mine.py:make"')
    assert read_suite_models(tmp_path / "zoo.toml", allow_code=True)["a"].spec


def test_the_zoo_can_be_read_and_its_tags_exist() -> None:
    open_clip = pytest.importorskip("open_clip")
    models = read_suite_models(Path(__file__).parents[3] / "results" / "zoo.toml")
    assert len(models) >= 30
    check_distinct_folders(list(models))
    tags = {f"open_clip:{name}@{tag}" for name, tag in open_clip.list_pretrained()}
    of_open_clip = {m.spec for m in models.values() if m.spec.startswith("open_clip:")}
    assert of_open_clip <= tags
    assert all(model.about for model in models.values())
