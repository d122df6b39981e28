"""The declaration of an experiment: stages, runs, values and scales, read from TOML (docs/experiments.md)."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, StrictFloat, StrictInt, StrictStr, ValidationError, model_validator

from generator.base.declarations import Declared, refuse, sentence_of, table_of
from generator.base.errors import UserError, did_you_mean
from generator.base.files import read_toml
from generator.base.registry import resource

MODEL, MODELS = "model", "models"
"""The name that stands for each of the models in turn, and the one by which a scale chooses from them."""
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
Scalar = StrictStr | StrictInt | StrictFloat
Listed = Annotated[tuple[Scalar, ...], Field(min_length=1)]
Commands = Annotated[tuple[StrictStr, ...], Field(min_length=1)]
Element = Scalar | dict[Name, Scalar]
Table = Annotated[dict[str, Element], Field(min_length=1)]
Value = Scalar | Listed | Table
D = TypeVar("D", bound=Declared)
T = TypeVar("T")


class Model(Declared):
    """A model that rows start from. run, train: further options of `score run` and of `score train METHOD`. missing: why there is
    none.
    """

    spec: str = ""
    run: str = ""
    train: str = ""
    method: Literal["finetune", "dreambooth"] = "finetune"
    missing: str = ""

    @model_validator(mode="after")
    def _either(self) -> "Model":
        if bool(self.spec) == bool(self.missing):
            raise ValueError('expected either spec = "FAMILY:NAME" or missing = "REASON"')
        return self


class Experiment(Declared):
    """An experiment, as declared in `experiments/NAME.toml` or in a file of the user's.

    tables: the paper whose tables are made. values: what names in commands stand for; a list or a table stands for each of its
    elements in turn. scales: values that differ by scale; a list chooses from a table of `values`, or from `models`. stages: a
    command by name. took: what all stages of a scale took when they were last measured, by scale, such as "75 minutes of one core".
    runs: a `score run`, or several, by the label of its row. shown: commands whose results stand beside the tables, by label. missing: the reason, by label, for what no run is made of.
    """

    about: str
    tables: str
    models: dict[str, Model] = Field(default_factory=dict)
    values: dict[Name, Value] = Field(default_factory=dict)
    scales: Annotated[dict[Name, dict[Name, Scalar | Listed]], Field(min_length=1)]
    took: dict[Name, str] = Field(default_factory=dict)
    stages: dict[Name, str]
    runs: Annotated[dict[str, StrictStr | Commands], Field(min_length=1)]
    shown: dict[str, StrictStr] = Field(default_factory=dict)
    missing: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> "Experiment":
        names = [*self.values, *(name for values in self.scales.values() for name in values)]
        both = [f"'{name}' is a stage and a value; rename one" for name in self.stages if name in names]
        if MODEL in (*names, *self.stages) or MODELS in (*self.values, *self.stages):
            both.append(f"'{MODEL}' and '{MODELS}' stand for [models]; rename that value or stage")
        labels = [
            f"the label '{label}' has '='; choose another"
            for label in (*self.runs, *self.shown, *self.missing)
            if "=" in label
        ]
        scales = [
            f"took.{name}: unknown scale; {did_you_mean(name, list(self.scales))}"
            for name in self.took
            if name not in self.scales
        ]
        refuse([*both, *labels, *scales])
        return self

    def at(self, scale: str, whole: bool = False) -> tuple[dict[str, Value], dict[str, Model]]:
        """The values and models at a scale, by name; all models and whole tables, of which the scale may choose some, if `whole`.

        Raises UserError for an unknown scale, and for a choice of what there is not.
        """
        if scale not in self.scales:
            raise UserError(f"Unknown scale '{scale}'; {did_you_mean(scale, list(self.scales))}")
        found, models = dict(self.values), self.models
        for name, value in self.scales[scale].items():
            table, place = found.get(name), f"scales.{scale}.{name}"
            if name == MODELS:
                models = _chosen(self.models, value, place)
            else:
                found[name] = _chosen(table, value, place) if isinstance(table, Mapping) else value
        if whole:
            return {
                **found,
                **{name: each for name, each in self.values.items() if isinstance(each, Mapping)},
            }, self.models
        return found, models


def _chosen(table: Mapping[str, T], keys: Value, place: str) -> dict[str, T]:
    if not isinstance(keys, tuple):
        raise UserError(f"{place}: expected a list that chooses from {', '.join(table)}, got {keys!r}.")
    for key in keys:
        if key not in table:
            raise UserError(f"{place}: there is no '{key}'; {did_you_mean(str(key), list(table))}")
    return {str(key): table[str(key)] for key in keys}


class Models(Declared):
    """The file of `--models`: models that replace those of an experiment, by name."""

    models: Annotated[dict[str, Model], Field(min_length=1)]


def experiment_names() -> list[str]:
    """Names of the experiments that are shipped."""
    return sorted(path.stem for path in resource("experiments").glob("*.toml"))


def read_experiment(name: str) -> Experiment:
    """The shipped experiment of that name, or the one in the TOML file at that path.

    Raises UserError when there is none, when the file is not TOML, or when a declaration is wrong.
    """
    path = _path_of(name)
    return _validated(Experiment, _extended(path, name), path)


def with_models(experiment: Experiment, path: Path) -> Experiment:
    """The experiment with the models in the TOML file at `path` in place of its own, whose options stay and come first. They join
    those that a scale chooses.

    Raises UserError when the file cannot be read, and for a model that the experiment does not have.
    """
    given = _validated(Models, read_toml(path, "file of models"), path).models
    known = list(experiment.models)
    for name in given:
        if name not in known:
            named = did_you_mean(name, known) if known else "the experiment starts from no model."
            raise UserError(f"{path}: the experiment has no model '{name}'; {named}")
    changed = {name: _over(experiment.models[name], model) for name, model in given.items()}
    scales = {
        scale: {
            name: tuple(dict.fromkeys((*value, *given))) if name == MODELS and isinstance(value, tuple) else value
            for name, value in values.items()
        }
        for scale, values in experiment.scales.items()
    }
    return experiment.model_copy(update={"models": {**experiment.models, **changed}, "scales": scales})


def _over(below: Model, above: Model) -> Model:
    """A model of the user's in place of one of the experiment's, whose options come first."""
    options = {name: f"{getattr(below, name)} {getattr(above, name)}".strip() for name in ("run", "train")}
    method = above.method if "method" in above.model_fields_set else below.method
    return above.model_copy(update={**options, "method": method})


def _path_of(name: str) -> Path:
    if name.endswith(".toml"):
        return Path(name)
    if name not in experiment_names():
        raise UserError(
            f"Unknown experiment '{name}'; {did_you_mean(name, experiment_names())} A file of yours ends in .toml."
        )
    return resource(f"experiments/{name}.toml")


def _extended(path: Path, name: str) -> dict[str, Any]:
    """A file's declaration over that of the shipped experiment that it extends, table by table."""
    data = read_toml(path, "experiment")
    if "extends" not in data:
        return data
    base = data.pop("extends")
    if base not in experiment_names() or base == name:
        raise UserError(f"{path}: cannot extend '{base}'; {did_you_mean(str(base), experiment_names())}")
    below = _extended(_path_of(base), base)
    below.pop("took", None)  # changed values take another time
    return _merged(below, data)


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def _validated(declared: type[D], data: Mapping[str, Any], path: Path) -> D:
    try:
        return declared.model_validate(data)
    except ValidationError as error:
        raise UserError(f"{path}: {_sentence(declared, error)}") from None


def _sentence(declared: type[Declared], error: ValidationError) -> str:
    """The mistake that says most: an unknown key before what is missing for its sake."""
    mistake: Mapping[str, Any] = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
    if mistake["type"] == "extra_forbidden":
        *place, key = mistake["loc"]
        known = list(table_of(declared, place).model_fields)
        return f"unknown key '{'.'.join(map(str, mistake['loc']))}'; {did_you_mean(str(key), known)}"
    if re.search(r"_type$", mistake["type"]) and mistake["loc"][0] in ("values", "scales"):
        place_of = ".".join(str(part) for part in mistake["loc"][: 2 if mistake["loc"][0] == "values" else 3])
        return f"{place_of}: expected text, a number, a list of them, or (in values) a table of them, got {mistake['input']!r}."
    return sentence_of(mistake)
