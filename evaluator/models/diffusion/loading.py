"""Load `diffusion:` models, and refuse pipelines that would run foreign code or lack a
component."""

from importlib import import_module
from pathlib import Path
from typing import Any, Unpack

import torch

from evaluator.models.diffusion.networks import NETWORKS, Network
from evaluator.models.diffusion.schedules import Options, settings_of
from evaluator.models.diffusion.scorer import DiffusionClassifier
from evaluator.models.hub import Source, find_source, loading
from evaluator.models.network import best_device
from evaluator.provenance.exposure import recorded_exposure
from generator.base.errors import UserError, did_you_mean

_LIBRARIES = ("diffusers", "transformers")
_ABSENT = (None, None)
_UNUSED = ("safety_checker", "image_encoder", "feature_extractor")  # they only make or check images


def load_diffusion(
    name: str, device: str | None, **options: Unpack[Options]
) -> DiffusionClassifier:
    """Load `FOLDER`, `OWNER/NAME` or `OWNER/NAME@REVISION` in float32, only from safetensors.

    Raises UserError when the pipeline does not exist, does not make images from texts, or lacks a
    component, and for an option that the preset does not have.
    """
    settings, target = settings_of(**options), best_device(device)
    source = find_source(name, "diffusion:", "model_index.json")
    index = _read_index(source)
    network_type = NETWORKS[index["_class_name"]]
    _check_components(source, index, network_type)
    network = _network(source, network_type, _load_pipeline(source, index, target))
    classifier = DiffusionClassifier(network, settings, target, name)
    classifier.exposure = recorded_exposure(Path(source.place))
    return classifier


def _read_index(source: Source) -> dict[str, Any]:
    """The pipeline's model_index.json. Raises UserError for an unsupported pipeline."""
    from diffusers import DiffusionPipeline

    with loading(source):
        index: dict[str, Any] = dict(
            DiffusionPipeline.load_config(source.place, revision=source.revision)
        )
    kind = str(index.get("_class_name"))
    if kind not in NETWORKS:
        raise UserError(
            f"'{source.name}' is a {kind}, not a supported text-to-image pipeline: "
            f"{did_you_mean(kind, list(NETWORKS))}"
        )
    return index


def _check_components(source: Source, index: dict[str, Any], network: type[Network]) -> None:
    """Raises UserError when a component is not listed, comes from an unknown library or with code
    of its own, or is missing from the folder."""
    import diffusers

    pipeline = getattr(diffusers, index["_class_name"])
    needed, _ = pipeline._get_signature_keys(pipeline)
    listed = {part for part, entry in index.items() if isinstance(entry, list | tuple)}
    for part in sorted(listed.union(needed).difference(_UNUSED)):
        library, kind = index.get(part) or _ABSENT
        if library is None:
            if part in network.optional or part not in needed:
                continue
            raise UserError(
                f"The pipeline '{source.name}' has no {part}; give one that is complete."
            )
        if library not in _LIBRARIES:
            raise UserError(
                f"The {part} of '{source.name}' is of the library '{library}', whose code is not "
                f"run here; expected one of: {', '.join(_LIBRARIES)}."
            )
        if library == "transformers" and str(kind).startswith(
            "Auto"
        ):  # these may run code from the folder
            raise UserError(
                f"The {part} of '{source.name}' is of the class {kind}, which may run foreign "
                f"code; name the component's own class in model_index.json."
            )
        if (
            Path(source.place) / part / f"{library}.py"
        ).exists():  # diffusers would take it for the library
            raise UserError(
                f"The {part} of '{source.name}' has code of its own, {library}.py, which is not "
                f"run; remove it."
            )
        if source.is_local and not (Path(source.place) / part).is_dir():
            raise UserError(
                f"The pipeline '{source.name}' lacks the folder '{part}'; copy or download it "
                f"whole."
            )


def _load_pipeline(source: Source, index: dict[str, Any], device: torch.device) -> Any:
    import diffusers

    given = {part: None for part in _UNUSED if part in index} | _load_networks(source, index)
    with loading(source):
        pipe = getattr(diffusers, index["_class_name"]).from_pretrained(
            source.place, revision=source.revision, use_safetensors=True, **given
        )
        return pipe.to(device, torch.float32)


def _load_networks(source: Source, index: dict[str, Any]) -> dict[str, Any]:
    """The components with weights. They are loaded one by one, since a pipeline does not report
    missing tensors."""
    loaded = {}
    for part, entry in index.items():
        if not isinstance(entry, list | tuple) or part in _UNUSED or entry[0] not in _LIBRARIES:
            continue
        kind = getattr(import_module(entry[0]), entry[1], None)
        if not (isinstance(kind, type) and issubclass(kind, torch.nn.Module)):
            continue
        options = {"trust_remote_code": False} if entry[0] == "transformers" else {}
        with loading(source):
            loaded[part], report = kind.from_pretrained(  # type: ignore[attr-defined]
                source.place,
                subfolder=part,
                revision=source.revision,
                use_safetensors=True,
                output_loading_info=True,
                **options,
            )
        if missing := sorted(report["missing_keys"]):
            raise UserError(
                f"The weights of the {part} of '{source.name}' lack {missing[0]} ({len(missing):,} "
                f"in all); copy or download it whole."
            )
    return loaded


def _network(source: Source, kind: type[Network], pipe: Any) -> Network:
    network = kind(pipe)
    for component in pipe.components.values():
        if isinstance(component, torch.nn.Module):
            component.eval().requires_grad_(False)
    taken, given = network.model.config.in_channels, pipe.vae.config.latent_channels
    if taken != given * network.latents_per_token:
        raise UserError(
            f"The network of '{source.name}' takes {taken} channels and the VAE gives {given}: it "
            f"edits images; name a text-to-image pipeline."
        )
    return network
