"""The turns of a rotation: which benchmarks they are, and which model belongs to which turn."""

from generator.base.errors import UserError
from generator.dataset.reader import TURN, Dataset


def asks_for_turns(benchmark: str | None, models: tuple[str, ...]) -> bool:
    """Whether a command is about all turns: `{turn}` is in the benchmark or in a model."""
    return any(TURN in text for text in (benchmark or "", *models))


def names_of_turns(dataset: str, benchmark: str | None) -> list[str]:
    """The benchmarks that are the turns of the dataset's rotation, turn 0 first.

    Args:
        dataset: Folder or URL of the dataset.
        benchmark: None, or the value of `--benchmark` with `{turn}`, such as `{turn}-dose`.

    Raises:
        UserError: `benchmark` names a single benchmark, or the dataset has no complete rotation.
    """
    if benchmark is not None and TURN not in benchmark:
        raise UserError(
            f"{TURN} in --model asks for every turn; leave --benchmark {benchmark} out, or name "
            f"the model of that turn."
        )
    return Dataset.open(dataset).turn_names(benchmark)


def of_turn(model: str, turn: str | None) -> str:
    """The spec of a model for one turn; unchanged if it has no `{turn}`.

    >>> of_turn("jackalope:models/{turn}", "turn0")
    'jackalope:models/turn0'
    """
    return model if turn is None else model.replace(TURN, turn)
