"""Progress of `gen verify`: every bar reaches its end."""

from pathlib import Path

from generator.base.progress import Callback
from generator.judge.verify import verify_dataset
from tests.generator.unrendered import write_texts, write_world


def test_every_bar_reaches_its_end(tmp_path: Path) -> None:
    """The bar of candidates once ended at the last full batch, at 6000 of 6816."""
    write_texts(
        tmp_path,
        write_world(tmp_path, {"train": 60, "val": 3, "seen": 4, "partial": 4, "unseen": 4}),
    )
    last: dict[str, tuple[int, int | None]] = {}

    def note(name: str, done: int, total: int | None) -> None:
        last[name] = (done, total)

    verify_dataset(tmp_path, None, progress=Callback(note))
    assert "candidates" in last
    assert all(total is None or done == total for done, total in last.values()), last
