"""Needs from ids and back, one tuple a pair, for tests."""

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from evaluator.scoring.needs import Needs, make_needs

Pair = tuple[str, str]
Pools = dict[str, tuple[list[str], list[str]]]


def needs_of(
    pairs: Iterable[Pair], pools: Pools | None = None, contests: Iterable[Sequence[Pair]] = ()
) -> Needs:
    """The needs of contests, and of other pairs that are compared with none."""
    groups = [list(contest) for contest in contests]
    groups += [[pair] for pair in pairs if not any(pair in group for group in groups)]
    members = [pair for group in groups for pair in group]
    images = pa.chunked_array([[image for image, _ in members]], pa.string())
    texts = pa.chunked_array([[text for _, text in members]], pa.string())
    sizes = [len(group) for group in groups]
    contest = np.repeat(np.arange(len(groups)), sizes)
    return make_needs(images, texts, contest=contest, pools=pools or {})


def pair_ids(needs: Needs) -> list[Pair]:
    """The pairs of candidates."""
    return list(zip(*(side.to_pylist() for side in needs.ids()), strict=True))


def contest_ids(needs: Needs) -> list[list[Pair]]:
    """The pairs of each contest."""
    pairs = pair_ids(needs)
    parts = np.split(needs.contests, needs.offsets[1:-1])
    return [[pairs[row] for row in part] for part in parts]


def pool_ids(needs: Needs, name: str) -> tuple[list[str], list[str]]:
    """The images and texts of a pool."""
    images, texts = needs.pools[name]
    return needs.images.take(pa.array(images)).to_pylist(), needs.texts.take(
        pa.array(texts)
    ).to_pylist()


def all_pairs(needs: Needs) -> set[Pair]:
    """Every pair, including those of pools."""
    pools = (pool_ids(needs, name) for name in needs.pools)
    return {
        *pair_ids(needs),
        *((image, text) for images, texts in pools for image in images for text in texts),
    }
