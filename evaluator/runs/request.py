"""`Request`: the options of a run, declared once for `score run` and `evaluate`.

To add an option, add a field made by `option`, and read it where it is used (run.py). Other fields
are for Python only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evaluator.protocols import protocol_names

if TYPE_CHECKING:  # `score --help` lists the options and must not load the readers of datasets
    from evaluator.runs.dataset import Dataset


def option(default: Any, about: str, **more: Any) -> Any:
    """A field that is also an option of a command, with its help; `more` is read by
    evaluator.cli.options."""
    return field(default=default, metadata={"help": about, **more})


@dataclass(frozen=True, kw_only=True)
class Request:
    """The options of a run. The help of each option explains it.

    dataset: a `Dataset`, or the path that `Dataset.open` takes. model: a spec, or an object
        (evaluator.models.python).
    within: the splits to score; () for all. `within` and `protocols` may be a single name.
    """

    dataset: "Dataset | str | Path"
    model: Any
    name: str | None = option(
        None,
        "Name of the model in tables and pages.  [default: its spec; of a model trained here, its "
        "folder]",
    )
    within: str | Sequence[str] = ()
    protocols: str | Sequence[str] = option(
        (),
        f"Protocol to score: {', '.join(protocol_names())}. Repeat for several.  [default: all "
        f"that the benchmark has]",
        flag="--protocol",
        metavar="NAME",
        several=True,
    )
    limit: int | None = option(
        None,
        "Score at most this many items of each protocol, drawn by their names, for a quick look; "
        "the results say so.",
        least=1,
    )
    out: Path | str | None = option(
        None,
        "Folder to write; several models get a folder each in it.  [default: "
        "runs/DATASET-BENCHMARK/MODEL]",
        written=True,
    )
    batch_size: int | None = option(
        None,
        "Images, texts or pairs per batch; halved when memory runs out.  [default: the model's "
        "own; for dual encoders 512 on a GPU, else 128]",
        least=1,
    )
    precision: Literal["auto", "float32", "bfloat16"] = option(
        "auto",
        "auto: bfloat16 for the image side of dual encoders on a GPU, else float32. Similarities "
        "are always float32.",
    )
    workers: int | None = option(
        None,
        "Threads that read images ahead.  [default: one per processor core, at most 8]",
        least=0,
    )
    splits: Path | str | None = option(
        None,
        "Folder of `score familiarity`: its partitions seen, mixed and unseen become the splits of "
        "a published benchmark.",
    )
    level: float | None = option(
        None,
        "Level of the intervals, from 0.5 to 0.999, such as 0.9.  [default: the level of `score "
        "run`, else 0.95]",
    )
    channel: str | None = option(
        None,
        "Which of the model's scores to measure, such as itm or itc.  [default: the model's first]",
        metavar="NAME",
    )
    full_pools: bool = option(
        False,
        "Score complete pools and raw retrieval with a pair scorer too, which may take very long.",
    )
    verify: bool = option(
        False,
        "Judge the dataset with `gen verify` first, and stop if it fails. By default the run "
        "reports the certificate in the folder.",
    )
    allow_contaminated: bool = option(
        False,
        "Score a model that was trained on held-out combinations or on images that are scored; "
        "every table and page then says CONTAMINATED.",
    )
    device: str | None = option(
        None, "Device to compute on, such as cpu or cuda:1.  [default: the first GPU, else the CPU]"
    )

    @property
    def model_name(self) -> str:
        """The given name of the model, else its spec or the name of the object."""
        from evaluator.models.python import name_of
        from evaluator.models.registry import name_of_spec

        if self.name:
            return self.name
        return name_of_spec(self.model) if isinstance(self.model, str) else name_of(self.model)


@dataclass(frozen=True, kw_only=True)
class AskRequest(Request):
    """The options of a run in words."""

    form: Literal["choice", "yes-no"] = option(
        "choice",
        "choice: the letter of the true caption among 2 to 5; yes-no: each caption of an item in "
        "its own question.",
    )
    prompt: Path | str | None = option(
        None,
        "TOML file with the words of the questions and answers.  [default: "
        "evaluator/scoring/words/prompt.toml]",
        file=True,
    )
    orders: int | None = option(
        None,
        "Ask a choice in this many cyclic orders of its options.  [default: all of them]",
        least=1,
    )
    samples: int = option(
        1, "Ask each question this many times; needs a --temperature above 0.", least=1, most=1000
    )
    temperature: float = option(
        0.0, "Temperature of the answers; 0 for the most likely answer.", least=0
    )
    max_tokens: int = option(
        1024,
        "Maximum tokens of an answer, reasoning included; longer answers are cut off and unscored.",
        least=1,
    )
    budget: int | None = option(
        None,
        "Maximum tokens of all questions and answers of this run, as the model counts them.",
        least=1,
    )


def names(given: str | Sequence[str]) -> tuple[str, ...]:
    """A tuple of names, from a single name or from several.

    >>> names("binary"), names(["binary", "retrieval"])
    (('binary',), ('binary', 'retrieval'))
    """
    return (given,) if isinstance(given, str) else tuple(given)
