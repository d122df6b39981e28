"""The checks of a benchmark, one function a promise: each yields what it finds wrong."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations, product

from generator.dataset.files import read_sums
from generator.judge.case import Case
from generator.judge.files import Finding, finding
from generator.judge.geometry import Shown
from generator.judge.words import Claim, UnreadableError, read_sentence

_SPLIT_HELD_OUT = {"train": 0, "val": 0, "seen": 0, "partial": 1, "unseen": 2}


def _world_digest(case: Case) -> Iterator[Finding]:
    if case.manifest.get("world") != case.world.digest:
        yield finding("another world", "the benchmark was made over a world with other files; run `gen split` again")


def _texts(case: Case) -> Iterator[Finding]:
    meanings: dict[str, str] = {}
    for text_id, text in case.text_of.items():
        if hashlib.sha256(text.encode()).hexdigest()[:16] != text_id:
            yield finding("wrong text id", f"text {text_id} '{text}' has another content hash")
        if text in meanings:
            yield finding("repeated text", f"texts {meanings[text]} and {text_id} are both '{text}'")
        meanings[text] = text_id
        if case.claims[text_id] is None:
            try:
                read_sentence(text, case.lexicon)
            except UnreadableError as error:
                yield finding("unreadable text", f"text {text_id}: {error}")


def _splits(case: Case) -> Iterator[Finding]:
    clusters: dict[str, set[str]] = defaultdict(set)
    images: dict[str, set[str]] = defaultdict(set)
    sums = read_sums(case.world.folder)
    for scene_id, split in case.split_of.items():
        if split is None:
            continue
        if scene_id not in case.world.scenes:
            yield finding("missing scene", f"scene {scene_id} is in split {split} and was not rendered")
            continue
        clusters[case.cluster(scene_id)].add(split)
        images[sums.get(f"images/{scene_id}.png", scene_id)].add(split)
        shown = case.shown_held_out(scene_id)
        if split != "train" and len(shown) != _SPLIT_HELD_OUT.get(split, -1):
            yield finding(
                "wrong split",
                f"scene {scene_id} is in {split} and shows {len(shown)} held-out bindings ({', '.join(shown) or 'none'})",
            )
    for cluster, splits in clusters.items():
        if len(splits) > 1:
            yield finding("shared group", f"scenes of {cluster} are in {' and '.join(sorted(splits))}")
    for image, splits in images.items():
        if len(splits) > 1:
            yield finding("shared image", f"one image ({image[:12]}…) is in {' and '.join(sorted(splits))}")
    counts = Counter(split for split in case.split_of.values() if split)
    for split, n in case.manifest.get("scenes", {}).items():
        if counts[split] != n:
            yield finding("wrong count", f"split {split} has {counts[split]} scenes, the manifest says {n}")


def _items(case: Case) -> Iterator[Finding]:
    """Every item has a true text, a false one or a pool, and stands in the split of its scenes."""
    truths: dict[str, set[bool]] = defaultdict(set)
    for row in case.tables["candidates"]:
        truths[row["item_id"]].add(row["truth"])
        item, split = case.item_of.get(row["item_id"]), case.split_of.get(row["scene_id"])
        if item is not None and item["split"] != split:
            yield finding(
                "wrong split",
                f"item {row['item_id']} is in {item['split']}, its scene {row['scene_id']} in {split or 'no split'}",
            )
    for item_id, item in case.item_of.items():
        if True not in truths[item_id]:
            yield finding("missing row", f"item {item_id} has no true text")
        if item["split"] != "train" and item["pool_id"] is None and False not in truths[item_id]:
            yield finding("missing row", f"item {item_id} has neither a false text nor a pool")


def _leaks(case: Case) -> Iterator[Finding]:
    for scene_id, split in case.split_of.items():
        if split == "train" and scene_id in case.world.scenes:
            for binding in case.shown_held_out(scene_id):
                yield finding("leaked binding", f"training scene {scene_id} shows the held-out {binding}")
    for row in case.tables["candidates"]:
        item = case.item_of.get(row["item_id"])
        if (
            item is None
            or item["split"] != "train"
            or row["text_id"] not in case.text_of
            or not case.said_held_out(row["text_id"])
        ):
            continue
        if row["truth"] or not case.manifest.get("exposed_negatives"):
            what = "caption" if row["truth"] else "negative"
            yield finding(
                "leaked binding",
                f"training {what} '{case.text_of[row['text_id']]}' of item {row['item_id']} names a held-out binding",
            )


def _truth(case: Case) -> Iterator[Finding]:
    for row in case.tables["candidates"]:
        where = f"item {row['item_id']}, scene {row['scene_id']}"
        text, shown = case.text_of.get(row["text_id"]), case.world.shown.get(row["scene_id"])
        if text is None or shown is None or row["item_id"] not in case.item_of:
            yield finding("missing row", f"{where}: its text, scene or item does not exist")
            continue
        claims = case.claims[row["text_id"]]
        if claims is None:
            continue
        true = shown.bears_out(claims)
        if row["truth"] and not true:
            yield finding("false positive", f"{where}: '{text}' is listed as true; the scene shows {_words(shown)}")
        if not row["truth"] and true:
            yield finding("true negative", f"{where}: '{text}' is listed as false; the scene shows {_words(shown)}")


def _symmetry(case: Case) -> Iterator[Finding]:
    said: dict[str, dict[bool, set[int]]] = defaultdict(lambda: {True: set(), False: set()})
    for row in case.tables["candidates"]:
        if case.claims.get(row["text_id"]) is not None:
            said[row["item_id"]][row["truth"]].add(case.said_held_out(row["text_id"]))
    for item_id, item in case.item_of.items():
        if item["split"] == "train":
            continue
        positive, negative = said[item_id][True], said[item_id][False]
        if positive and negative and positive != negative:
            yield finding(
                "asymmetric familiarity",
                f"item {item_id}: its true texts name {sorted(positive)} held-out bindings, its false ones {sorted(negative)}",
            )
        for listed, found in ((item["held_out_positive"], positive), (item["held_out_negative"], negative)):
            if listed is not None and found and found != {listed}:
                yield finding(
                    "wrong familiarity",
                    f"item {item_id} is listed with {listed} held-out bindings, its words name {sorted(found)}",
                )


def _pools(case: Case) -> Iterator[Finding]:
    pools: dict[str, list[str]] = defaultdict(list)
    for row in case.tables["pools"]:
        pools[row["pool_id"]].append(row["text_id"])
    by_claims: dict[str, dict[tuple[Claim, ...], set[str]]] = {}
    for pool_id, text_ids in pools.items():
        if len(set(text_ids)) != len(text_ids):
            yield finding("repeated text", f"pool {pool_id} names {len(text_ids) - len(set(text_ids))} texts twice")
        by_claims[pool_id] = defaultdict(set)
        for text_id in set(text_ids):
            by_claims[pool_id][tuple(sorted(case.claims.get(text_id) or []))].add(text_id)
    shapes = {pool_id: _shapes(texts) for pool_id, texts in by_claims.items()}
    listed: dict[str, set[str]] = defaultdict(set)
    scene_of: dict[str, str] = {}
    for row in case.tables["candidates"]:
        scene_of[row["item_id"]] = row["scene_id"]
        if row["truth"]:
            listed[row["item_id"]].add(row["text_id"])
    for item_id, item in case.item_of.items():
        if item["pool_id"] is None or scene_of.get(item_id) not in case.world.shown:
            continue
        if item["pool_id"] not in pools:
            yield finding("missing row", f"item {item_id}: its pool {item['pool_id']} does not exist")
            continue
        texts = by_claims[item["pool_id"]]
        true = _true_texts(case.world.shown[scene_of[item_id]], texts, *shapes[item["pool_id"]])
        if true != listed[item_id]:
            yield finding(
                "wrong pool truth",
                f"item {item_id}: {len(true)} texts of the pool are true, {len(listed[item_id])} are listed",
            )


def _shapes(by_claims: dict[tuple[Claim, ...], set[str]]) -> tuple[set[frozenset[str]], set[int]]:
    namings = {frozenset(kind for kind, _ in values) for claims in by_claims for _, values in claims}
    return namings, {len(claims) for claims in by_claims if claims}


def _true_texts(
    shown: Shown, by_claims: dict[tuple[Claim, ...], set[str]], namings: set[frozenset[str]], lengths: set[int]
) -> set[str]:
    """Texts of a pool that are true of a scene, `namings` and `lengths` being how its texts name objects and how many."""
    true: set[str] = set()
    said = [
        [(category, tuple(sorted((kind, values[kind]) for kind in kinds))) for kinds in namings if kinds <= set(values)]
        for category, values in shown.objects
    ]
    for length in lengths:
        for chosen in combinations(said, length):
            for claims in product(*chosen):
                true |= by_claims.get(tuple(sorted(claims)), set())
    return true


def _words(shown: Shown) -> str:
    return " and ".join(f"{' '.join(values.values())} {category}" for category, values in shown.objects)


CHECKS = (_world_digest, _texts, _splits, _items, _leaks, _truth, _symmetry, _pools)
