"""The readers of files, each as a function of a folder, and the real files that they read."""

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from PIL import Image

from evaluator.analysis.answers import match, read_answers
from evaluator.api import ask
from evaluator.audits.familiarity.corpora import parts
from evaluator.audits.familiarity.counting import read_counts, read_table
from evaluator.models.contracts import Answer
from evaluator.provenance.exposure import recorded_exposure
from evaluator.report.files import write_latex
from evaluator.report.page import write_page
from evaluator.runs.batch import read_batch
from evaluator.runs.elsewhere import ScoresFile, measure_items
from evaluator.runs.folder import open_run, read_named, read_results
from evaluator.runs.measure import measure
from evaluator.runs.parts import captions_digest, read_splits, write_splits
from evaluator.scoring.store import VectorCache
from evaluator.scoring.words.files import AnswerStore
from evaluator.scoring.words.prompt import DEFAULT, read_prompt
from evaluator.scoring.words.reader import read_choice
from generator.assets.importing import check_file, read_file
from generator.assets.sets import read_asset, read_notes, write_asset
from generator.assets.shapes import UnitMesh
from generator.base.arrays import map_npy
from generator.base.files import write_json, write_sums
from generator.dataset.certificate import describe_certificate
from generator.dataset.journal import Journal
from generator.dataset.outputs import (
    OUTPUTS,
    ObjectBoxes,
    PixelOutputs,
    decode,
    encode,
    output_path,
)
from generator.dataset.packing import Packer
from generator.dataset.reader import Dataset
from generator.dataset.records import BENCHMARK_TABLES
from generator.holdout.request import read_holdout
from generator.inspection.reproduction import Reproduction
from generator.judge.foreign.verify import verify_splits
from generator.judge.verify import verify_dataset
from generator.plan.store import StoredPlan
from generator.vocabulary.families import vocabulary_text
from generator.vocabulary.schema import parse_vocabulary, read_vocabulary
from tests.evaluator.audits.familiarity.test_corpora import tar
from tests.glb import glb, triangle

Read = Callable[[Path], object]


@dataclass(frozen=True)
class Reader:
    """`read` takes the folder; `files` of it are damaged, one at a time. `seal`: the sums of their
    component are made again, as whoever sends a damaged file would."""

    files: tuple[str, ...]
    read: Read
    seal: bool = False


def _seal(folder: Path) -> None:
    """SHA256SUMS and its digest in the manifest, as far as they can be."""
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_bytes())
        write_json(path, {**manifest, "sums": write_sums(folder, {})})
    except (ValueError, TypeError, RecursionError):
        return


def seal(root: Path, name: str) -> None:
    """Seal the component that a file belongs to."""
    _seal(root / Path(*Path(name).parts[: 1 if name.startswith("world") else 2]))


def _read_dataset(root: Path) -> None:
    dataset = Dataset.open(root)
    world = dataset.world
    for row in world.scenes.to_pylist():
        if row["status"] == "ok":
            world.image(row["scene_id"])
            world.image_digest(row["scene_id"])
    assert world.vocabulary_text is not None
    for name in dataset.benchmark_names():
        benchmark = dataset.benchmark(name)
        for table in BENCHMARK_TABLES:
            getattr(benchmark, table).to_pylist()
        assert isinstance(benchmark.text_of, dict)
        describe_certificate(benchmark, world)
        if benchmark.holdout is not None:
            read_holdout(
                benchmark.folder / "holdout.json",
                parse_vocabulary(world.vocabulary_text, "vocabulary.toml"),
            )


def _read_plan(root: Path) -> None:
    plan = StoredPlan(root)
    assert len(plan) >= 0
    list(plan)
    plan.counts()
    plan.assigned()


def _mesh_files(*names: str) -> Read:
    def read(root: Path) -> None:
        for name in names:
            check_file(root / name)
            read_file(root / name)

    return read


def _resume(root: Path) -> None:
    journal = Journal(root / ".journal.db")
    journal.keep(lambda record: True)
    list(journal.records())
    Packer(root, 1 << 20, journal).holds("000001")
    list(journal.packed())


def _output(output: str) -> Read:
    def read(root: Path) -> None:
        try:
            decode(output, (root / output_path(output, "0")).read_bytes())
        except ValueError:  # which World turns into a UserError
            return

    return read


def _reported(name: str, measured: bool) -> Read:
    """Measure a run where that is asked for, and write its tables and its page."""

    def read(root: Path) -> None:
        run = open_run(root / name)
        results = measure(run.folder) if measured else read_results(run)
        write_latex(results, run.folder)
        write_page([read_named(str(run.folder))], root / "page.html")

    return read


def _answers(root: Path) -> None:
    with AnswerStore("store", root) as store:
        for answer in store.get(["a", "b"]).values():
            read_choice(answer.text, answer.finish, "AB")


class _Says:
    def answer(self, images: list[Image.Image], question: str) -> str:
        return "<think>Red?</think> The answer is A."


def _corpus(root: Path) -> None:
    for name in CORPORA:
        for part in parts(root / name):
            assert part.texts or part.left_out


def _counts(root: Path) -> None:
    for some in read_table(root / "counts.csv"):
        some.to_pylist()
    read_counts(root / "counts.parquet", {("red", "car")})


def _cache(root: Path) -> None:
    with VectorCache(root / "cache.sqlite") as cache:
        for vector in cache.get(["a", "b", "c"]).values():
            assert vector.dtype == np.float32


def _pool(root: Path) -> None:
    try:
        map_npy(root / "pool.npy", (2, 3), np.float32).sum()
    except ValueError:  # which measuring turns into a UserError
        return


def _items(name: str) -> Read:
    return lambda root: measure_items(ScoresFile(items=root / name, out=root / "measured"))


_KINDS = ("JSONL", "CSV", "Parquet")
CORPORA = tuple(
    f"corpus.{form}" for form in ("tar", "json", "jsonl.gz", "parquet", "txt", "tar.gz")
)
READERS: dict[str, Reader] = {
    "tables": Reader(
        ("world/scenes.parquet", *(f"benchmarks/NAME/{name}.parquet" for name in BENCHMARK_TABLES)),
        _read_dataset,
        seal=True,
    ),
    "manifests": Reader(
        (
            "world/manifest.json",
            "world/SHA256SUMS",
            "benchmarks/NAME/manifest.json",
            "benchmarks/NAME/SHA256SUMS",
            "benchmarks/NAME/verify.json",
        ),
        _read_dataset,
    ),
    "files of a component": Reader(
        ("world/vocabulary.toml", "benchmarks/NAME/holdout.json", "world/images/000001.png"),
        _read_dataset,
        seal=True,
    ),
    "plan": Reader(("world/plan.parquet",), _read_plan),
    "judge": Reader(
        (
            "world/scenes.parquet",
            "world/plan.parquet",
            "world/vocabulary.toml",
            "benchmarks/NAME/holdout.json",
            *(f"benchmarks/NAME/{name}.parquet" for name in BENCHMARK_TABLES),
            "world/images/000001.png",
        ),
        lambda root: verify_dataset(root, None),
        seal=True,
    ),
    "judge, indices": Reader(
        (
            "dataset.json",
            "README.md",
            "croissant.json",
            "world/manifest.json",
            "world/SHA256SUMS",
            "benchmarks/NAME/manifest.json",
        ),
        lambda root: verify_dataset(root, None, reproduce=Reproduction()),
    ),
    "judge, tars": Reader(
        ("world/packed.parquet", "world/shards/000000.tar"),
        lambda root: verify_dataset(root, None),
        seal=True,
    ),
    "tars": Reader(("world/packed.parquet", "world/shards/000000.tar"), _read_dataset, seal=True),
    "journal": Reader((".journal.db",), _resume),
    **{output: Reader((output_path(output, "0"),), _output(output)) for output in OUTPUTS},
    "family": Reader(("family.toml",), lambda root: read_vocabulary(str(root / "family.toml"))),
    "mesh": Reader(("hare.npz",), lambda root: read_asset(root, "hare")),
    "notes of a mesh": Reader(("hare.json",), lambda root: read_notes(root, "hare")),
    "obj": Reader(("a.obj",), _mesh_files("a.obj")),
    "ply": Reader(("a.ply", "b.ply"), _mesh_files("a.ply", "b.ply")),
    "glb": Reader(("a.glb",), _mesh_files("a.glb")),
    "pool": Reader(("pool.npy",), _pool),
    "splits, CSV": Reader(("splits.csv",), lambda root: verify_splits(root / "splits.csv")),
    **{
        f"items, {kind}": Reader((f"items.{kind.lower()}",), _items(f"items.{kind.lower()}"))
        for kind in _KINDS
    },
    "compare, CSV": Reader(
        ("answers.csv",), lambda root: match(read_answers(f"a={root}/answers.csv"))
    ),
    "compare, Parquet": Reader(
        ("answers.parquet",), lambda root: match(read_answers(f"a={root}/answers.parquet"))
    ),
    "compare, run": Reader(
        ("run/tables/items.csv", "run/results.json", "run/run.json"),
        lambda root: match(read_answers(f"a={root}/run")),
    ),
    "run": Reader(("run/scores.parquet", "run/run.json"), _reported("run", True)),
    "report": Reader(
        ("run/tables/items.csv", "run/results.json", "run/run.json"), _reported("run", False)
    ),
    "partitions": Reader(
        tuple(
            f"partitions/{name}"
            for name in ("per_sample_overlap.tsv", "excluded.tsv", "summary.json")
        ),
        lambda root: read_splits(root / "partitions", open_run(root / "run").benchmark),
    ),
    "corpora": Reader(CORPORA, _corpus),
    "tables of counts": Reader(("counts.csv", "counts.parquet"), _counts),
    "splits of a run": Reader(
        ("parted/splits.json",), lambda root: measure(open_run(root / "parted").folder)
    ),
    "exposure": Reader(("jackalope.json",), recorded_exposure),
    "cache of scores": Reader(("cache.sqlite",), _cache),
    "run in words": Reader(
        ("worded/answers.parquet", "worded/run.json"), _reported("worded", True)
    ),
    "report in words": Reader(("worded/results.json",), _reported("worded", False)),
    "answers": Reader(("store.sqlite",), _answers),
    "prompt": Reader(("prompt.toml",), lambda root: read_prompt(root / "prompt.toml")),
    "batch": Reader(("batch.jsonl",), lambda root: list(read_batch([root / "batch.jsonl"]))),
}


_PLY = (
    "ply\nformat {} 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    "element face 1\nproperty list uchar int vertex_indices\nend_header\n"
)
_ITEMS = """item,protocol,image,text,score,truth,split
0,binary,0.png,a red cube,0.0,True,seen
0,binary,0.png,a blue cube,0.25,False,seen
1,binary,1.png,a red cube,0.0,True,seen
1,binary,1.png,a blue cube,0.25,False,seen
"""
_ANSWERS = "item,cluster,correct,model\n0,c0,0,m\n1,c1,1,m\n2,c0,0,m\n3,c1,1,m\n"
_CAPTIONS = (
    '{"caption": "a red car"}\n{"phrases": ["red car", "old dogs"]}\n{"captions": ["a dog", "a '
    'café"]}\n'
)
_DIGEST = captions_digest(["a red cube", "a blue cube"])
TEXTS = {
    "a.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "a.ply": _PLY.format("ascii") + "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
    "splits.csv": (
        "split,first.color,first,relation,second,image\ntrain,red,cube,left,ball,a.png\n"
        "test,blue,ball,right,cube,b.png\n"
    ),
    "items.csv": _ITEMS,
    "answers.csv": _ANSWERS,
    "corpus.json": (
        f'{{"images": [{{"id": 0}}], "annotations": [{",".join(_CAPTIONS.splitlines())}]}}'
    ),
    "corpus.txt": "a red car\na café\n",
    "counts.csv": "attr,obj_lemma,perfect_count,close_count\nred,car,1,2\nold,dog,0,1\n",
    "jackalope.json": '{"exposure": {"objects": [["color", "red", "cube"]], "triples": [["cube", '
    '"left", "ball"]], '
    '"scenes": ["0a"]}}',
    "partitions/summary.json": '{"benchmark": "b", "reference": "r", "captions": "free", '
    '"extractor": "rules", '
    '"match": "lemmas"}',
    "partitions/per_sample_overlap.tsv": f"question\tcaptions\tbucket\tpartition\n0\t{_DIGEST}\tall\tseen\n"
    f"1\t{_DIGEST}\tall\tunseen\n",
    "batch.jsonl": '{"custom_id": "a", "response": {"status_code": 200, "body": {"choices": '
    '[{"message": '
    '{"content": "A"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}}}}\n'
    '{"custom_id": "b", "error": {"message": "no"}}\n',
    "partitions/excluded.tsv": f"question\tcaptions\n2\t{_DIGEST}\n",
}


def make_files(folder: Path) -> None:
    """Write the small files that are not part of a dataset."""
    for name, text in TEXTS.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    _make_files_of_rendering(folder)
    _make_meshes(folder)
    _make_tables(folder)
    _make_corpora(folder)
    _make_runs(folder)


def _make_files_of_rendering(folder: Path) -> None:
    """The journal of a renderer, and what it writes beside an image."""
    journal = Journal(folder / ".journal.db")
    for i in range(3):
        journal.add({"scene_id": f"{i:06d}", "cluster_id": "c", "objects": [], "files": {}})
    row = {
        "path": "images/000000.png",
        "tar": "shards/000000.tar",
        "offset": 512,
        "size": 3,
        "sha256": "0" * 64,
    }
    journal.add_tar("shards/000000.tar", sha256="0" * 64, last_scene="000002", rows=[row])
    journal.close()
    boxes = [ObjectBoxes(0, "cube", (2.0, 2.0), (0, 0, 4, 4), (0, 0, 4, 4), 9, 1.0)]
    grid = np.arange(20, dtype=np.uint8).reshape(4, 5)
    pixels = PixelOutputs(grid, grid.astype(np.float32), np.zeros((4, 5, 3), np.float32), boxes)
    for output in OUTPUTS:
        path = folder / output_path(output, "0")
        path.parent.mkdir()
        path.write_bytes(encode(output, pixels))


def _make_meshes(folder: Path) -> None:
    """A family, and meshes to import."""
    (folder / "family.toml").write_text(vocabulary_text("clevr-relations"))
    mesh = UnitMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)])
    write_asset(folder, "hare", mesh=mesh, notes={"licence": "CC0-1.0", "source": "a"})
    face = b"\x03" + np.arange(3, dtype="<i4").tobytes()
    (folder / "b.ply").write_bytes(
        _PLY.format("binary_little_endian").encode() + np.eye(3, dtype="<f4").tobytes() + face
    )
    (folder / "a.glb").write_bytes(glb(*triangle()))


def _make_tables(folder: Path) -> None:
    """Scores and answers from elsewhere."""
    np.save(folder / "pool.npy", np.zeros((2, 3), np.float32))
    pq.write_table(pa.csv.read_csv(folder / "items.csv"), folder / "items.parquet")
    answers = pa.csv.read_csv(folder / "answers.csv")
    pq.write_table(
        answers.cast(pa.schema([(name, pa.string()) for name in answers.schema.names])),
        folder / "answers.parquet",
    )
    rows = pq.read_table(folder / "items.parquet").to_pylist()
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _make_corpora(folder: Path) -> None:
    """Captions in every form of a reference corpus."""
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(_CAPTIONS.encode()))
    pq.write_table(pa.table({"caption": ["a red car", None, "a café"]}), folder / "corpus.parquet")
    members = {
        "0.txt": b"a red car",
        "0.jpg": b"x" * 600,
        "1.json": _CAPTIONS.splitlines()[1].encode(),
    }
    for name, mode in (("corpus.tar", "w"), ("corpus.tar.gz", "w:gz")):
        tar(folder / name, members, mode)
    pq.write_table(next(read_table(folder / "counts.csv")), folder / "counts.parquet")


def _make_runs(folder: Path) -> None:
    """Runs with scores, with answers and with partitions, and their caches."""
    measure_items(ScoresFile(items=folder / "items.csv", out=folder / "run"))
    with VectorCache(folder / "cache.sqlite") as cache:
        cache.put(["a", "b", "c"], np.eye(3, 4))
    for name in ("0.png", "1.png"):
        Image.new("RGB", (2, 2)).save(folder / name)
    ask(_Says(), f"table:{folder / 'items.csv'}", out=folder / "worded")
    with AnswerStore("store", folder) as store:
        store.put("ab", [Answer("A", "stop", 3, 1)] * 2)
    shutil.copy(DEFAULT, folder / "prompt.toml")
    parted = Path(shutil.copytree(folder / "run", folder / "parted"))
    write_splits(parted, read_splits(folder / "partitions", open_run(parted).benchmark))
