"""The models that an experiment starts from: the recipe's, and the user's from a TOML file."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationError

from evaluator.experiments.stages import Option, Options, Stage, Text, joined
from generator.base.declarations import Declared, sentence_of
from generator.base.errors import UserError
from generator.base.files import read_toml

HARMLESS_OPTIONS = {
    "ask": {
        "allow_contaminated",
        "budget",
        "device",
        "level",
        "limit",
        "max_tokens",
        "orders",
        "samples",
        "temperature",
        "verify",
    },
    "run": {
        "allow_contaminated",
        "batch_size",
        "channel",
        "device",
        "full_pools",
        "level",
        "limit",
        "precision",
        "protocol",
        "verify",
        "workers",
    },
    "train": {
        "architecture",
        "batch",
        "epochs",
        "images_per_class",
        "lora",
        "negative_loss",
        "negative_weight",
        "negatives",
        "positive_weight",
        "positives",
        "preset",
        "rate",
        "seed",
        "size",
        "steps",
        "text_encoder",
        "texts",
    },
}
"""Options of `score ask`, `score run` and `score train` that a file of models may set without
--allow-code. An option that is not here may run code, contact a host, read other files or write
elsewhere."""
HARMLESS_FLAGS = {"allow_contaminated", "full_pools", "text_encoder", "verify"}
"""Those of HARMLESS_OPTIONS that take no value."""
_REACHING = re.compile(r"\b(python|api):|://")
"""Matches in a model's spec, or in the value of an option, that runs code or contacts a host."""
_SPEC_ARGUMENTS = re.compile(r",\w+=.*")
"""Matches the arguments at the end of a model's spec. The name before them may hold commas."""


@dataclass(frozen=True)
class Model:
    """A model that rows start from."""

    spec: str | Text = ""
    """The model as `--model` takes it; "" if it is missing."""
    run: Options = field(default_factory=dict)
    """Further options of `score run`, for this model and for what is trained from it."""
    train: Options = field(default_factory=dict)
    """Further options of `score train`."""
    missing: str = ""
    """In place of a spec, the reason why there is no model; tables say it."""

    def after(self, trained: Stage) -> "Model":
        """The model after a training, with the same arguments of the spec and `run` options."""
        written = self.spec.written if isinstance(self.spec, Text) else self.spec
        # The name is replaced by the folder of the training; samples, presets and the like stay as
        # they were.
        arguments = _SPEC_ARGUMENTS.search(written)
        return trained_model(trained, arguments[0] if arguments else "", run=self.run)


def trained_model(trained: Stage, arguments: str = "", run: Options | None = None) -> Model:
    """The model that a stage has trained.

    Args:
        trained: A stage of `score train`.
        arguments: The text after the model's folder in the spec, such as ",samples=16".
        run: Further options of `score run`.
    """
    return Model(spec=joined("jackalope:", trained, arguments), run=run or {})


_Value: TypeAlias = StrictBool | StrictInt | StrictFloat | StrictStr
OptionTable: TypeAlias = dict[
    Annotated[str, Field(pattern=r"^[a-z][a-z_-]*$")],
    _Value | list[StrictInt | StrictFloat | StrictStr],
]
"""Options in TOML: by name, a value, true for a flag, or a list for an option that is repeated."""


class _DeclaredModel(Declared):
    """A model in a user's file; `Model` says what the fields mean."""

    spec: str = ""
    """As `Model.spec`."""
    run: OptionTable = Field(default_factory=dict)
    """As `Model.run`."""
    train: OptionTable = Field(default_factory=dict)
    """As `Model.train`."""
    missing: str = ""
    """As `Model.missing`."""


class _DeclaredModels(Declared):
    """The file of `--models`."""

    models: dict[str, _DeclaredModel] = Field(min_length=1)
    """The models by the recipe's names."""


def read_models(path: Path, allow_code: bool = False) -> dict[str, Model]:
    """Read the models of a user.

    Args:
        path: The TOML file.
        allow_code: Whether models may run code, contact a host, or read and write other files.

    Returns:
        The models by name.

    Raises:
        UserError: The file cannot be read, or declares anything else; or a model can do what
            `allow_code` does not allow.
    """
    try:
        declared = _DeclaredModels.model_validate(read_toml(path, "file of models")).models
    except ValidationError as error:
        raise UserError(f"{path}: {sentence_of_mistake(error)}") from None
    models = {}
    for name, of_user in declared.items():
        if not (of_user.spec or of_user.missing):
            raise UserError(f"{path}: models.{name}.spec is missing.")
        model = Model(
            spec=of_user.spec,
            run=with_underscores(of_user.run),
            train=with_underscores(of_user.train),
            missing=of_user.missing,
        )
        reaching = None
        if not allow_code:
            reaching = reaching_part(of_user.spec, {"run": model.run, "train": model.train})
        if reaching is not None:
            raise UserError(
                f"{path}: the model '{name}' has '{reaching}', which can run code, reach a host or "
                f"write elsewhere; check that you trust it, then add --allow-code."
            )
        models[name] = model
    return models


def sentence_of_mistake(error: ValidationError) -> str:
    """Say what is wrong with a file of models.

    Args:
        error: The error of its declaration.

    Returns:
        A sentence, with the form of options if one is a string.
    """
    mistake = error.errors()[0]
    place = mistake["loc"]
    is_table = len(place) == 3 and place[2] in ("run", "train")
    if is_table and isinstance(mistake["input"], str):
        dotted = ".".join(str(part) for part in place)
        return f"expected {dotted} to be a table such as {{ limit = 50 }}, got a string."
    return sentence_of(mistake)


def with_underscores(options: Options) -> dict[str, Option]:
    """Rename options of the command line to their names in Python.

    Args:
        options: By name with -.

    Returns:
        The same by name with _.
    """
    return {name.replace("-", "_"): option for name, option in options.items()}


def reaching_part(spec: str, options_by_command: Mapping[str, Options]) -> str | None:
    """Find what a user's model may reach.

    Args:
        spec: The model as `--model` takes it.
        options_by_command: Further options of `score ask`, `score run` and `score train`, by the
            keys of HARMLESS_OPTIONS.

    Returns:
        The first part that may run code, contact a host or write elsewhere; None if there is none.
    """
    # A file of models may come from somebody else, who chooses what runs on this machine.
    if _REACHING.search(spec):
        return spec
    for command, options in options_by_command.items():
        for option_name, option in options.items():
            name = option_name.replace("-", "_")
            is_flag = name in HARMLESS_FLAGS
            # A value after a flag would be another argument of the command, such as a dataset.
            if name not in HARMLESS_OPTIONS[command] or is_flag != isinstance(option, bool):
                return f"--{name.replace('_', '-')}"
            for value in option if isinstance(option, list) else [option]:
                word = str(value)
                if word.startswith("--") or _REACHING.search(word):
                    return word
    return None
