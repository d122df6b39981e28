"""The options of a run, declared once for `score run`, `score ask`, `evaluate` and `ask`.

To add an option, add a field made by `option`, and read it where it is used (run.py, ask.py).
Fields without `option` are for Python only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evaluator.protocols import protocol_names

if TYPE_CHECKING:  # `score --help` lists the options and must not load the readers of datasets
    from evaluator.runs.dataset import Dataset


DESCRIBE = "describe"
"""The form of `score ask` that asks for a description of each image."""
ATTRIBUTES = "attributes"
"""The form of `score ask` that asks for the facts of each image one by one."""
DESCRIBE_OPTIONS = ("answer", "vocabulary", "relations", "reader")
"""Options that only this form has."""


def option(default: Any, about: str, **details: Any) -> Any:
    """Declare a field that is also an option of a command.

    Args:
        default: the value of the field without the option.
        about: help of the option.
        details: what `evaluator.cli.options.options_of` reads, such as `flag` or `least`.

    Returns:
        The field, for the body of a dataclass.
    """
    return field(default=default, metadata={"help": about, **details})


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of `score run`. The help of each option explains it."""

    name: str | None = option(
        None,
        "Name of the model in tables and pages.  [default: its spec; of a model trained here, its "
        "folder]",
    )
    """Name of the model in results; None: its spec, or the name of the object."""
    within: str | Sequence[str] = ()
    """The split or the splits to score; () for all."""
    protocols: str | Sequence[str] = option(
        (),
        f"Protocol to score: {', '.join(protocol_names())}. Repeat for several.  [default: all "
        f"that the benchmark has]",
        flag="--protocol",
        metavar="NAME",
        several=True,
    )
    """The protocol or the protocols to score; () for all that the benchmark has."""
    limit: int | None = option(
        None,
        "Score at most this many items of each protocol, drawn by their names, for a quick look; "
        "the results say so.",
        least=1,
    )
    """Most items of each protocol, 1 or more; None for all."""
    out: Path | str | None = option(
        None,
        "Folder to write; several models get a folder each in it.  [default: "
        "runs/DATASET-BENCHMARK/MODEL]",
        written=True,
    )
    """Folder of the run; None: `score` chooses one, Python takes a temporary one."""
    batch_size: int | None = option(
        None,
        "Images, texts or pairs per batch; halved when memory runs out.  [default: the model's "
        "own; for dual encoders 512 on a GPU, else 128]",
        least=1,
    )
    """Images, texts or pairs per batch, 1 or more; None: the model's own size."""
    precision: Literal["auto", "float32", "bfloat16"] = option(
        "auto",
        "auto: bfloat16 for the image side of dual encoders on a GPU, else float32. Similarities "
        "are always float32.",
    )
    """Of the image side of dual encoders; `auto` is bfloat16 on a GPU, else float32."""
    workers: int | None = option(
        None,
        "Threads that read images ahead.  [default: one per processor core, at most 8]",
        least=0,
    )
    """Threads that read images ahead, 0 or more; None: one per core, at most 8."""
    splits: Path | str | None = option(
        None,
        "Folder of `score familiarity`: its partitions seen, mixed and unseen become the splits of "
        "a published benchmark.",
    )
    """Folder of `score familiarity` with partitions; None: the benchmark's own splits."""
    level: float | None = option(
        None,
        "Level of the intervals, from 0.5 to 0.999, such as 0.9.  [default: the level of `score "
        "run`, else 0.95]",
    )
    """Of the intervals, 0.5..0.999; None for 0.95."""
    channel: str | None = option(
        None,
        "Which of the model's scores to measure, such as itm or itc.  [default: the model's first]",
        metavar="NAME",
    )
    """The model's score to measure; None for its first."""
    full_pools: bool = option(
        False,
        "Score complete pools and raw retrieval with a pair scorer too, which may take very long.",
    )
    """Whether a pair scorer scores complete pools and raw retrieval."""
    verify: bool = option(
        False,
        "Judge the dataset with `gen verify` first, and stop if it fails. By default the run "
        "reports the certificate in the folder.",
    )
    """Whether to judge the dataset first."""
    allow_contaminated: bool = option(
        False,
        "Score a model that was trained on held-out combinations or on images that are scored; "
        "every table and page then says CONTAMINATED.",
    )
    """Whether to score a model that was trained on held-out combinations."""
    device: str | None = option(
        None, "Device to compute on, such as cpu or cuda:1.  [default: the first GPU, else the CPU]"
    )
    """Such as `cuda:1`; None: the first GPU, else the CPU."""


@dataclass(frozen=True, kw_only=True)
class AskOptions(RunOptions):
    """The options of `score ask`."""

    form: Literal["choice", "yes-no", "describe", "attributes"] = option(
        "choice",
        "choice: the letter of the true caption among 2 to 5; yes-no: each caption of an item in "
        "its own question; describe: a description of each image, judged atom by atom; attributes: "
        "the same facts one by one, as in 'What color is the cube?' (docs/descriptions.md).",
    )
    """How a question is put: a choice among captions, a question about each caption, the
    description of an image, or a question about each fact of an image."""
    answer: Literal["json", "prose"] = option(
        "json",
        "Of describe: JSON by a schema, which api: models also get as structured output, or "
        "sentences.",
    )
    """How a description is to be written."""
    vocabulary: Literal["closed", "open"] = option(
        "closed",
        "Of describe and attributes: whether the question names the world's words (closed) or not.",
    )
    """Whether the question of a description or of a fact names the world's words."""
    relations: bool = option(False, "Of describe: also ask how the objects stand to each other.")
    """Whether a description is to name relations."""
    reader: str | None = option(
        None,
        "Of describe with --answer prose: model of api: that turns each description into JSON, in "
        "place of the grammar; its own error is measured on the same run.",
        metavar="MODEL",
    )
    """Model of api: that turns prose into JSON; None for the grammar."""
    prompt: Path | str | None = option(
        None,
        "TOML file with the words of the questions and answers.  [default: "
        "evaluator/scoring/words/prompt.toml]",
        file=True,
    )
    """TOML file with the words of questions and answers; None for the built-in ones."""
    orders: int | None = option(
        None,
        "Ask a choice in this many cyclic orders of its options.  [default: all of them]",
        least=1,
    )
    """Cyclic orders of the options of a choice that are asked; None for all."""
    samples: int = option(
        1, "Ask each question this many times; needs a --temperature above 0.", least=1, most=1000
    )
    """Answers to each question, 1..1000."""
    temperature: float = option(
        0.0, "Temperature of the answers; 0 for the most likely answer.", least=0
    )
    """Of the answers, 0 or more; 0 takes the most likely answer."""
    max_tokens: int = option(
        1024,
        "Maximum tokens of an answer, reasoning included; longer answers are cut off and wrong.",
        least=1,
    )
    """Most tokens of an answer."""
    budget: int | None = option(
        None,
        "Maximum tokens of all questions and answers of this run, as the model counts them.",
        least=1,
    )
    """Most tokens of all questions and answers of the run; None for no limit."""


@dataclass(frozen=True, kw_only=True)
class Request(RunOptions):
    """What to score, and how."""

    dataset: "Dataset | str | Path"
    """An open dataset, or the path that `Dataset.open` takes."""
    model: Any
    """A spec such as `open_clip:ViT-B-32@openai`, or an object (evaluator.models.python)."""

    @property
    def model_name(self) -> str:
        """The name that the user gave the model, else its spec or the name of the object."""
        from evaluator.models.python import name_of
        from evaluator.models.registry import name_of_spec

        if self.name:
            return self.name
        return name_of_spec(self.model) if isinstance(self.model, str) else name_of(self.model)


@dataclass(frozen=True, kw_only=True)
class AskRequest(AskOptions, Request):
    """What to ask in words, and how."""


def names(one_or_several: str | Sequence[str]) -> tuple[str, ...]:
    """A tuple of names, from a single name or from several.

    Args:
        one_or_several: a name, or a sequence of names.

    Returns:
        The names.

    Example:
        >>> names("binary"), names(["binary", "retrieval"])
        (('binary',), ('binary', 'retrieval'))
    """
    if isinstance(one_or_several, str):
        return (one_or_several,)
    return tuple(one_or_several)
