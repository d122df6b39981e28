"""The turns of a rotation: which benchmarks they are, and which model belongs to which turn."""

from generator.base.errors import UserError
from generator.dataset.reader import TURN, Dataset


def asks_for_turns(benchmark: str | None, models: tuple[str, ...]) -> bool:
    """Whether a command is about all turns.

    Args:
        benchmark: The value of `--benchmark`.
        models: The values of `--model`.

    Returns:
        Whether `{turn}` is in the benchmark or in a model.

    Example:
        >>> asks_for_turns(None, ("jackalope:models/{turn}",))
        True
    """
    return any(TURN in text for text in (benchmark or "", *models))


def names_of_turns(dataset: str, benchmark: str | None) -> list[str]:
    """The benchmarks that are the turns of the dataset's rotation, turn 0 first.

    Args:
        dataset: Folder or URL of the dataset.
        benchmark: None, or the value of `--benchmark` with `{turn}`, such as `{turn}-dose`.

    Returns:
        Their names.

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
    """The spec of a model for one turn.

    Args:
        model: A spec, which may contain `{turn}`.
        turn: The name of the turn; None if the command is not about turns.

    Returns:
        The spec with the turn's name in place of `{turn}`.

    Example:
        >>> of_turn("jackalope:models/{turn}", "turn0")
        'jackalope:models/turn0'
    """
    if turn is None:
        return model
    return model.replace(TURN, turn)
