"""`gen verify`: proves a dataset from its files alone, and writes a certificate.

Imports nothing of the code that plans, splits or writes captions; a test keeps it so.
"""

import hashlib
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from PIL import Image

from generator.dataset.commands import progress
from generator.dataset.errors import UserError
from generator.dataset.files import SUMS, read_json, read_sums, sha256, write_json
from generator.dataset.reader import Dataset
from generator.dataset.schema import BENCHMARK_TABLES
from generator.judge.geometry import Shown, read_scene, record_faults
from generator.judge.words import Claim, Lexicon, UnreadableError, read_sentence

_SPLIT_HELD_OUT = {"train": 0, "val": 0, "seen": 0, "partial": 1, "unseen": 2}
_LISTED = 20  # findings of one fault that are named one by one

Finding = dict[str, str]
Row = dict[str, Any]


def verify_dataset(root: Path, name: str | None) -> dict[str, dict[str, Any]]:
    """Certificates by benchmark name, each also written to its benchmark's verify.json.

    A certificate has `status` (clean, as declared or failed), `sentence`, `findings` ({fault, what}), and the digests
    of what was judged. Raises UserError when there is nothing to judge: no dataset, an unfinished one, no benchmark.
    """
    world_folder = root / "world"
    if not world_folder.is_dir():
        raise UserError(f"{root} is no dataset: it has no folder 'world'; give a folder made by `gen render`.")
    if not (world_folder / "manifest.json").exists():
        raise UserError(f"{world_folder} is unfinished; run the same `gen render` command again to finish it.")
    names = [name] if name else sorted(path.parent.name for path in root.glob("benchmarks/[!.]*/manifest.json"))
    if not names:
        raise UserError(f"{root} has no benchmark yet; make one with `gen split {root} --holdout 3x3`.")
    world = _World(world_folder)
    certificates = {}
    for each in names:
        folder = root / "benchmarks" / each
        if not (folder / "manifest.json").exists():
            Dataset.open(root).benchmark(each)
        certificates[each] = _judge(world, folder)
        write_json(folder / "verify.json", certificates[each])
    return certificates


class _World:
    """A world's files, judged once for all benchmarks over it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.digest = read_json(folder / "manifest.json").get("sums")
        self.findings = list(_file_faults(folder, self.digest, images=True))
        self.vocabulary = _readable_toml(folder / "vocabulary.toml", self.findings)
        self.scenes: dict[str, Row] = {}
        if (table := _readable_table(folder / "scenes.parquet", self.findings)) is not None:
            self.scenes = {row["scene_id"]: row for row in table if row["status"] == "ok"}
        for scene_id, row in self.scenes.items():
            self.findings += [
                _finding("wrong record", f"scene {scene_id}: {fault}") for fault in record_faults(row, self.vocabulary)
            ]
        self.shown = {scene_id: read_scene(row["scene"]) for scene_id, row in self.scenes.items()}


@dataclass
class _Case:
    """What is judged: a benchmark's tables, and what their words and scenes say."""

    world: _World
    tables: dict[str, list[Row]]
    manifest: dict[str, Any]
    holdout: dict[str, Any]

    @cached_property
    def lexicon(self) -> Lexicon:
        return Lexicon.of(self.world.vocabulary)

    @cached_property
    def held_out(self) -> set[tuple[str, str, str]]:
        return {(self.holdout["kind"], value, thing) for value, thing in self.holdout["bindings"]}

    @cached_property
    def split_of(self) -> dict[str, str | None]:
        return {row["scene_id"]: row["split"] for row in self.tables["splits"]}

    @cached_property
    def item_of(self) -> dict[str, Row]:
        return {row["item_id"]: row for row in self.tables["items"]}

    @cached_property
    def text_of(self) -> dict[str, str]:
        return {row["text_id"]: row["text"] for row in self.tables["texts"]}

    @cached_property
    def claims(self) -> dict[str, list[Claim] | None]:
        """What each text says; None where it cannot be read."""
        return {row["text_id"]: _read_or_none(row["text"], self.lexicon) for row in self.tables["texts"]}

    def said_held_out(self, text_id: str) -> int:
        """Number of objects that a text gives a held-out binding."""
        return sum(
            any((kind, value, category) in self.held_out for kind, value in values)
            for category, values in self.claims[text_id] or []
        )

    def shown_held_out(self, scene_id: str) -> list[str]:
        """Held-out bindings that a scene shows."""
        return [
            f"{value} {category}"
            for category, values in self.world.shown[scene_id].objects
            for kind, value in values.items()
            if (kind, value, category) in self.held_out
        ]

    def cluster(self, scene_id: str) -> str:
        """The group of scenes with the same objects and tested values in any order or pairing."""
        objects = self.world.shown[scene_id].objects
        values = sorted(values[self.holdout["kind"]] for _, values in objects)
        return "+".join(values) + "|" + "+".join(sorted(category for category, _ in objects))


def _judge(world: _World, folder: Path) -> dict[str, Any]:
    manifest = read_json(folder / "manifest.json")
    findings = world.findings + list(_file_faults(folder, manifest.get("sums"), images=False))
    tables = {name: _readable_table(folder / f"{name}.parquet", findings) for name in BENCHMARK_TABLES}
    whole = {name: rows for name, rows in tables.items() if rows is not None}
    if len(whole) == len(tables) and (folder / "holdout.json").exists():
        case = _Case(world, whole, manifest, read_json(folder / "holdout.json"))
        for check in (_world_digest, _texts, _splits, _leaks, _truth, _symmetry, _pools):
            findings += check(case)
    return _certificate(findings, manifest, whole, world)


def _world_digest(case: _Case) -> Iterator[Finding]:
    if case.manifest.get("world") != case.world.digest:
        yield _finding("another world", "the benchmark was made over a world with other files; run `gen split` again")


def _texts(case: _Case) -> Iterator[Finding]:
    meanings: dict[str, str] = {}
    for text_id, text in case.text_of.items():
        if hashlib.sha256(text.encode()).hexdigest()[:16] != text_id:
            yield _finding("wrong text id", f"text {text_id} '{text}' has another content hash")
        if text in meanings:
            yield _finding("repeated text", f"texts {meanings[text]} and {text_id} are both '{text}'")
        meanings[text] = text_id
        if case.claims[text_id] is None:
            try:
                read_sentence(text, case.lexicon)
            except UnreadableError as error:
                yield _finding("unreadable text", f"text {text_id}: {error}")


def _splits(case: _Case) -> Iterator[Finding]:
    clusters: dict[str, set[str]] = defaultdict(set)
    images: dict[str, set[str]] = defaultdict(set)
    sums = read_sums(case.world.folder)
    for scene_id, split in case.split_of.items():
        if split is None:
            continue
        if scene_id not in case.world.scenes:
            yield _finding("missing scene", f"scene {scene_id} is in split {split} and was not rendered")
            continue
        clusters[case.cluster(scene_id)].add(split)
        images[sums.get(f"images/{scene_id}.png", scene_id)].add(split)
        shown = case.shown_held_out(scene_id)
        if split != "train" and len(shown) != _SPLIT_HELD_OUT.get(split, -1):
            yield _finding(
                "wrong split",
                f"scene {scene_id} is in {split} and shows {len(shown)} held-out bindings ({', '.join(shown) or 'none'})",
            )
    for cluster, splits in clusters.items():
        if len(splits) > 1:
            yield _finding("shared group", f"scenes of {cluster} are in {' and '.join(sorted(splits))}")
    for image, splits in images.items():
        if len(splits) > 1:
            yield _finding("shared image", f"one image ({image[:12]}…) is in {' and '.join(sorted(splits))}")
    counts = Counter(split for split in case.split_of.values() if split)
    for split, n in case.manifest.get("scenes", {}).items():
        if counts[split] != n:
            yield _finding("wrong count", f"split {split} has {counts[split]} scenes, the manifest says {n}")


def _leaks(case: _Case) -> Iterator[Finding]:
    for scene_id, split in case.split_of.items():
        if split == "train" and scene_id in case.world.scenes:
            for binding in case.shown_held_out(scene_id):
                yield _finding("leaked binding", f"training scene {scene_id} shows the held-out {binding}")
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
            yield _finding(
                "leaked binding",
                f"training {what} '{case.text_of[row['text_id']]}' of item {row['item_id']} names a held-out binding",
            )


def _truth(case: _Case) -> Iterator[Finding]:
    for row in case.tables["candidates"]:
        where = f"item {row['item_id']}, scene {row['scene_id']}"
        text, shown = case.text_of.get(row["text_id"]), case.world.shown.get(row["scene_id"])
        if text is None or shown is None or row["item_id"] not in case.item_of:
            yield _finding("missing row", f"{where}: its text, scene or item does not exist")
            continue
        claims = case.claims[row["text_id"]]
        if claims is None:
            continue
        true = shown.bears_out(claims)
        if row["truth"] and not true:
            yield _finding("false positive", f"{where}: '{text}' is listed as true; the scene shows {_words(shown)}")
        if not row["truth"] and true:
            yield _finding("true negative", f"{where}: '{text}' is listed as false; the scene shows {_words(shown)}")


def _symmetry(case: _Case) -> Iterator[Finding]:
    said: dict[str, dict[bool, set[int]]] = defaultdict(lambda: {True: set(), False: set()})
    for row in case.tables["candidates"]:
        if case.claims.get(row["text_id"]) is not None:
            said[row["item_id"]][row["truth"]].add(case.said_held_out(row["text_id"]))
    for item_id, item in case.item_of.items():
        if item["split"] == "train":
            continue
        positive, negative = said[item_id][True], said[item_id][False]
        if positive and negative and positive != negative:
            yield _finding(
                "asymmetric familiarity",
                f"item {item_id}: its true texts name {sorted(positive)} held-out bindings, its false ones {sorted(negative)}",
            )
        for listed, found in ((item["held_out_positive"], positive), (item["held_out_negative"], negative)):
            if listed is not None and found and found != {listed}:
                yield _finding(
                    "wrong familiarity",
                    f"item {item_id} is listed with {listed} held-out bindings, its words name {sorted(found)}",
                )


def _pools(case: _Case) -> Iterator[Finding]:
    pools: dict[str, list[str]] = defaultdict(list)
    for row in case.tables["pools"]:
        pools[row["pool_id"]].append(row["text_id"])
    by_claims: dict[str, dict[tuple[Claim, ...], set[str]]] = {}
    for pool_id, text_ids in pools.items():
        if len(set(text_ids)) != len(text_ids):
            yield _finding("repeated text", f"pool {pool_id} names {len(text_ids) - len(set(text_ids))} texts twice")
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
            yield _finding("missing row", f"item {item_id}: its pool {item['pool_id']} does not exist")
            continue
        texts = by_claims[item["pool_id"]]
        true = _true_texts(case.world.shown[scene_of[item_id]], texts, *shapes[item["pool_id"]])
        if true != listed[item_id]:
            yield _finding(
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


def _certificate(
    findings: list[Finding], manifest: dict[str, Any], tables: dict[str, list[Row]], world: _World
) -> dict[str, Any]:
    declared = manifest.get("declared_leaks", [])
    status = "failed" if findings else "as declared" if declared else "clean"
    counts = {"scenes": len(world.scenes)} | {
        name: len(tables.get(name, [])) for name in ("texts", "items", "candidates")
    }
    faults = Counter(finding["fault"] for finding in findings)
    if findings:
        sentence = "failed: " + ", ".join(f"{n} x {fault}" for fault, n in sorted(faults.items())) + "."
    else:
        leak = f"the declared leaks only ({'; '.join(declared)})" if declared else "no leak"
        sentence = (
            f"{status}: {counts['scenes']:,} scenes, {counts['texts']:,} texts and {counts['items']:,} items have {leak}; every "
            f"positive is true, every negative false, familiarity symmetric, every file whole."
        )
    shown: list[Finding] = []
    for fault, n in sorted(faults.items()):
        shown += [finding for finding in findings if finding["fault"] == fault][:_LISTED]
        if n > _LISTED:
            shown.append(_finding(fault, f"and {n - _LISTED} more"))
    return {
        "status": status,
        "sentence": sentence,
        "findings": shown,
        "faults": dict(faults),
        "declared_leaks": declared,
        "counts": counts,
        "world": world.digest,
        "benchmark": manifest.get("sums"),
    }


def _file_faults(folder: Path, digest: str | None, images: bool) -> Iterator[Finding]:
    """Files that are missing, changed, unlisted, or images that do not decode."""
    if not (folder / SUMS).exists() or sha256(folder / SUMS) != digest:
        yield _finding("damaged file", f"{folder.name}/{SUMS} is not the one that the manifest names")
    sums = read_sums(folder) if (folder / SUMS).exists() else {}
    with progress() as bar:
        task = bar.add_task(f"files of {folder.name}", total=len(sums), note="")
        for name, expected in sums.items():
            path = folder / name
            if not path.exists():
                yield _finding("damaged file", f"{folder.name}/{name} is missing")
            elif sha256(path) != expected:
                yield _finding("damaged file", f"{folder.name}/{name} has other bytes than when it was made")
            if path.exists() and images and path.suffix == ".png" and (fault := _image_fault(path)):
                yield _finding("damaged image", f"{folder.name}/{name} {fault}")
            bar.update(task, advance=1)
    listed = {folder / name for name in sums}
    for path in folder.rglob("*"):
        if path.is_file() and path not in listed and path.name not in (SUMS, "manifest.json", "verify.json"):
            yield _finding("unlisted file", f"{folder.name}/{path.relative_to(folder)} is not in {SUMS}")


def _image_fault(path: Path) -> str | None:
    try:
        with Image.open(path) as image:
            image.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        return f"does not decode: {error}"
    return None


def _readable_table(path: Path, findings: list[Finding]) -> list[Row] | None:
    try:
        return list(pq.read_table(path).to_pylist())
    except (OSError, ValueError) as error:
        findings.append(_finding("damaged file", f"{path.name} cannot be read: {error}"))
        return None


def _readable_toml(path: Path, findings: list[Finding]) -> str:
    try:
        text = path.read_text(encoding="utf-8")
        tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} cannot be read ({error}), so nothing can be judged; restore it or render again."
        ) from None
    return text


def _read_or_none(text: str, lexicon: Lexicon) -> list[Claim] | None:
    try:
        return read_sentence(text, lexicon)
    except UnreadableError:
        return None


def _words(shown: Shown) -> str:
    return " and ".join(f"{' '.join(values.values())} {category}" for category, values in shown.objects)


def _finding(fault: str, what: str) -> Finding:
    return {"fault": fault, "what": what}
