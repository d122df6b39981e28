"""A run: one model scored on one benchmark, in a folder of its own."""

import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evaluator.measure import PROTOCOLS, measure, unknown_protocols
from evaluator.models.registry import DualEncoder, load_model
from evaluator.scoring import Needs, collect_needs, score
from generator.dataset.commands import say
from generator.dataset.errors import UserError, did_you_mean
from generator.dataset.files import read_json, write_json
from generator.dataset.reader import Benchmark, Dataset

_PACKAGES = ("jackalope", "torch", "open_clip_torch", "numpy", "pillow")


@dataclass(frozen=True)
class Request:
    """What `score run` was asked for."""

    dataset: Path
    benchmark: str | None
    model: str
    protocols: tuple[str, ...]
    out: Path | None
    batch: int
    device: str | None


def run(request: Request) -> tuple[Path, dict[str, Any]]:
    """Score and measure; returns the run's folder and its results. Raises UserError for whatever cannot be."""
    for protocol in request.protocols:
        if protocol not in PROTOCOLS:
            raise UserError(f"Unknown protocol '{protocol}': {did_you_mean(protocol, list(PROTOCOLS))}")
    dataset = Dataset.open(request.dataset)
    benchmark = dataset.benchmark(request.benchmark)
    if benchmark.manifest.get("world") not in (None, dataset.world.digest):
        raise UserError(
            f"{benchmark.folder} was made over another world than {dataset.world.folder}; run `gen split` again."
        )
    for protocol in request.protocols:
        if not benchmark.items_of(protocol).num_rows:
            raise UserError(
                f"The benchmark {benchmark.name} has no items of the protocol '{protocol}'; leave --protocol out."
            )
    protocols = request.protocols or tuple(p for p in PROTOCOLS if benchmark.items_of(p).num_rows)
    if not protocols:
        found = ", ".join(f"'{name}'" for name in unknown_protocols(benchmark)) or "none"
        raise UserError(
            f"The benchmark {benchmark.name} has no items to measure (other protocols it has: {found}); write some with `gen describe`."
        )
    out = request.out or Path("runs") / f"{request.dataset.resolve().name}-{benchmark.name}" / _slug(request.model)
    identity = {"model": request.model, "benchmark": benchmark.digest, "world": dataset.world.digest}
    _check_folder(out, identity)
    model = load_model(request.model, request.device)
    needs = collect_needs(benchmark, protocols)
    certificate = _certificate(benchmark)
    _announce(model, needs, certificate)
    out.mkdir(parents=True, exist_ok=True)
    indistinct = score(model, dataset.world, benchmark, needs, out, request.batch)
    record = {
        **identity, "dataset": str(request.dataset.resolve()), "benchmark_name": benchmark.name, "protocols": list(protocols),
        "certificate": certificate, "info": model.info, "indistinct_texts": indistinct, "batch": request.batch,
        "python": platform.python_version(), "versions": {name: version(name) for name in _PACKAGES},
    }  # fmt: skip
    write_json(out / "run.json", record)
    return out, measure(out)


def _announce(model: DualEncoder, needs: Needs, certificate: str) -> None:
    say(
        "Model: "
        + "; ".join(
            f"{name.replace('_', ' ')} {value}" for name, value in model.info.items() if isinstance(value, str | int)
        )
    )
    say(
        f"{len(needs.images):,} images and {len(needs.texts):,} texts to encode, each once ({len(needs.images) + len(needs.texts):,} forward "
        f"passes, fewer where cached). Dataset certificate: {certificate}."
    )


def _certificate(benchmark: Benchmark) -> str:
    """What `gen verify` said of these very files: its status, or "not verified"."""
    path = benchmark.folder / "verify.json"
    if not path.exists():
        return "not verified"
    certificate = read_json(path)
    current = certificate.get("benchmark") == benchmark.digest and certificate.get("world") == benchmark.manifest.get(
        "world"
    )
    return str(certificate.get("status")) if current else "not verified since it changed"


def _check_folder(out: Path, identity: dict[str, str]) -> None:
    if not out.exists() or not any(out.iterdir()):
        return
    if not (out / "run.json").exists():
        if not (out / "scores.parquet").exists():
            raise UserError(f"{out} holds something else than a run; choose another --out.")
        return
    begun = read_json(out / "run.json")
    for key, value in identity.items():
        if begun.get(key) != value:
            raise UserError(f"{out} holds a run of another {key} ({begun.get(key)}); choose another --out.")


def _slug(model: str) -> str:
    return "".join(c if c.isalnum() or c in "-." else "_" for c in model).strip("_")
