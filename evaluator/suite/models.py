"""The models that a suite is asked of: from `--model`, and from a TOML file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from evaluator.experiments.models import (
    OptionTable,
    reaching_part,
    sentence_of_mistake,
    with_underscores,
)
from evaluator.models.registry import families, read_spec
from evaluator.runs.folder import folder_name
from generator.base.declarations import Declared
from generator.base.errors import UserError
from generator.base.files import read_toml
from generator.dataset.reader import TURN

WORLD = "{world}"
"""Stands in a spec for the name of the world, as TURN stands for that of the turn."""
_UNTRAINED = ("oracle", "blind")
"""Families of models that are asked of every track as they are: nothing can be held out from the
judge's truth, nor from a model that never sees an image."""

_TRAINED_HERE = "jackalope"
"""The family of models that `score train` writes."""
_CAPTIONER_CONFIG = "captioner.json"
"""The file that only captioners have (evaluator.models.captioner, which imports torch)."""

Method = Literal["scratch", "labclip", "finetune", "dreambooth"]
"""A method of `score train` that makes a model for each turn of a rotation."""


class SuiteModel(Declared):
    """A model of a suite. Either `spec` or `method` is given, or both."""

    spec: str = ""
    """The model as --model takes it; "" for a model that is trained from scratch. `{world}` and
    `{turn}` stand for the names of a world and of a turn: models that the user has trained."""
    method: Method | None = None
    """How `score train` makes a model from the train split of each turn; None for models that are
    asked as they are."""
    train: OptionTable = Field(default_factory=dict)
    """Further options of `score train`."""
    seeds: Annotated[tuple[int, ...], Field(min_length=1)] = (0,)
    """Seeds of the trainings of each turn. Two or more show how much trainings vary."""
    run: OptionTable = Field(default_factory=dict)
    """Further options of `score run`."""
    ask: OptionTable = Field(default_factory=dict)
    """Further options of `score ask`."""
    tracks: tuple[str, ...] = ()
    """The tracks to ask; () for all that the model can answer. A track with a train split is asked
    of a model without `method` only if it is named here."""
    about: str = ""
    """What it is, for people who read the file: its size, its training data, its source."""

    @property
    def is_of_turns(self) -> bool:
        """Whether the spec names a model for each turn."""
        return TURN in self.spec

    @property
    def needs_no_training(self) -> bool:
        """Whether the model is asked of tracks with a train split without training on it."""
        return bool(self.spec) and read_spec(self.spec).family in _UNTRAINED

    @property
    def answers_in_words(self) -> bool:
        """Whether `score ask` can ask it."""
        if not self.spec:
            return False
        spec = read_spec(self.spec)
        if spec.family == _TRAINED_HERE:
            return self.is_captioner
        return bool(families()[spec.family].answering)

    @property
    def is_captioner(self) -> bool:
        """Whether it is a captioner that was trained here, which scores no texts."""
        spec = read_spec(self.spec) if self.spec else None
        if spec is None or spec.family != _TRAINED_HERE:
            return False
        return (Path(spec.name).expanduser() / _CAPTIONER_CONFIG).exists()


class _DeclaredModels(Declared):
    """The file of `--models`."""

    models: dict[str, SuiteModel] = Field(min_length=1)
    """The models by name."""


def read_suite_models(path: Path, allow_code: bool = False) -> dict[str, SuiteModel]:
    """Read a file of models.

    Args:
        path: The TOML file, with a table `[models.NAME]` for each model.
        allow_code: Whether models may run code, contact a host, or read and write other files.

    Returns:
        The models by name, in the order of the file.

    Raises:
        UserError: The file cannot be read or declares anything else, a model has neither spec nor
            method, or can do what `allow_code` does not allow.
    """
    try:
        declared = _DeclaredModels.model_validate(read_toml(path, "file of models")).models
    except ValidationError as error:
        raise UserError(f"{path}: {sentence_of_mistake(error)}") from None
    models = {}
    for name, model in declared.items():
        try:
            models[name] = _checked(model)
        except UserError as error:
            raise UserError(f"{path}: models.{name}: {error}") from None
        options = {"ask": model.ask, "run": model.run, "train": model.train}
        # Only of a file: it may come from somebody else, unlike what the user types as --model.
        reaching = reaching_part(model.spec, options)
        if reaching is not None and not allow_code:
            raise UserError(
                f"{path}: the model '{name}' has '{reaching}', which can run code, reach a host or "
                f"write elsewhere; check that you trust it, then add --allow-code."
            )
    return models


def named_models(texts: Sequence[str], method: str | None) -> dict[str, SuiteModel]:
    """Read the values of `--model`.

    Args:
        texts: Each as [NAME=]SPEC. The default name is the spec.
        method: The value of `--train`; None for models that are asked as they are.

    Returns:
        The models by name.

    Raises:
        UserError: A spec has another form, or two models have one name.

    Example:
        >>> named_models(["CLIP=open_clip:ViT-B-32@openai"], None)["CLIP"].spec
        'open_clip:ViT-B-32@openai'
    """
    models: dict[str, SuiteModel] = {}
    for text in texts:
        name, spec = _split_named_spec(text)
        if name in models:
            raise UserError(f"Two models are named '{name}'; give one as NAME=SPEC.")
        model = SuiteModel(spec=spec)
        # A model that is trained already, or never is, needs no method.
        if not (model.is_of_turns or model.needs_no_training):
            model = model.model_copy(update={"method": method})
        models[name] = _checked(model)
    return models


def check_distinct_folders(models: Sequence[str]) -> None:
    """Raise UserError if two names of models give the same name of a folder."""
    folders: dict[str, str] = {}
    for name in models:
        # Characters that a folder's name may not have are replaced, so two names may become one.
        first = folders.setdefault(folder_name(name), name)
        if first != name:
            raise UserError(f"The models '{first}' and '{name}' share a folder; rename one.")


def _split_named_spec(text: str) -> tuple[str, str]:
    """(name, spec) of [NAME=]SPEC. An equals sign after the first colon belongs to an argument."""
    before, sign, spec = text.partition("=")
    if sign and ":" not in before and spec:
        return before, spec
    return text, text


def _checked(model: SuiteModel) -> SuiteModel:
    """The model, with its options by their names in Python. Raises UserError for a model that
    cannot be made."""
    if not (model.spec or model.method):
        raise UserError("Expected a spec, or a method such as scratch.")
    if model.method == "scratch" and model.spec:
        raise UserError("A model from scratch starts from nothing; leave spec out.")
    if model.method not in (None, "scratch") and not model.spec:
        raise UserError(f"The method {model.method} trains a model further; give its spec.")
    if model.method and model.is_of_turns:
        raise UserError(f"A spec with {TURN} names trained models; leave method out.")
    if model.train and not model.method:
        raise UserError("Options of train need a method, such as scratch or finetune.")
    if model.spec:
        read_spec(model.spec)
    renamed = {
        "ask": with_underscores(model.ask),
        "run": with_underscores(model.run),
        "train": with_underscores(model.train),
    }
    return model.model_copy(update=renamed)
