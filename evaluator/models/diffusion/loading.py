"""Load `diffusion:` models, and refuse pipelines that would run foreign code or lack a
component."""

from importlib import import_module
from pathlib import Path
from typing import Any, Unpack

import torch

from evaluator.models.diffusion.networks import NETWORKS, Network
from evaluator.models.diffusion.schedules import Options, settings_of
from evaluator.models.diffusion.scorer import DiffusionClassifier
from evaluator.models.hub import ModelSource, find_source, loading
from evaluator.models.network import best_device
from evaluator.provenance.exposure import recorded_exposure
from generator.base.errors import UserError, did_you_mean

_LIBRARIES = ("diffusers", "transformers")
"""The libraries whose classes are loaded."""
_ABSENT = (None, None)
"""How the index of a pipeline enters a part that it lacks: library and class."""
_UNUSED = ("safety_checker", "image_encoder", "feature_extractor")
"""Components that only make or check images."""


def load_diffusion(
    name: str, device: str | None, **options: Unpack[Options]
) -> DiffusionClassifier:
    """Load a pipeline in float32, only from safetensors.

    Args:
        name: `FOLDER`, `OWNER/NAME` or `OWNER/NAME@REVISION`.
        device: The device that the user named; None for the best one.
        options: A preset, and settings that override it.

    Raises:
        UserError: The pipeline does not exist, does not make images from texts, or lacks a
            component; or the preset does not have an option.
    """
    settings = settings_of(**options)
    target = best_device(device)
    source = find_source(name, "diffusion:", "model_index.json")
    index = _read_index(source)
    network_class = NETWORKS[index["_class_name"]]
    _check_components(source, index, network_class)
    pipe = _load_pipeline(source, index, target)
    network = _make_network(source, network_class, pipe)
    classifier = DiffusionClassifier(network, settings, device=target, name=name)
    classifier.exposure = recorded_exposure(Path(source.place))
    return classifier


def _read_index(source: ModelSource) -> dict[str, Any]:
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


def _check_components(source: ModelSource, index: dict[str, Any], network: type[Network]) -> None:
    """Raise UserError when a component is not listed, comes from an unknown library or with code
    of its own, or is missing from the folder."""
    import diffusers

    pipeline = getattr(diffusers, index["_class_name"])
    required, _ = pipeline._get_signature_keys(pipeline)
    listed = {part for part, entry in index.items() if isinstance(entry, list | tuple)}
    for part in sorted(listed.union(required).difference(_UNUSED)):
        library, class_name = index.get(part) or _ABSENT
        folder = Path(source.place) / part
        if library is None:
            if part in network.optional or part not in required:
                continue
            raise UserError(
                f"The pipeline '{source.name}' has no {part}; give one that is complete."
            )
        if library not in _LIBRARIES:
            raise UserError(
                f"The {part} of '{source.name}' is of the library '{library}', whose code is not "
                f"run here; expected one of: {', '.join(_LIBRARIES)}."
            )
        # Classes such as AutoModel may run code from the folder.
        if library == "transformers" and str(class_name).startswith("Auto"):
            raise UserError(
                f"The {part} of '{source.name}' is of the class {class_name}, which may run "
                f"foreign code; name the component's own class in model_index.json."
            )
        # diffusers would take a file of this name for the library.
        if (folder / f"{library}.py").exists():
            raise UserError(
                f"The {part} of '{source.name}' has code of its own, {library}.py, which is not "
                f"run; remove it."
            )
        if source.is_local and not folder.is_dir():
            raise UserError(
                f"The pipeline '{source.name}' lacks the folder '{part}'; copy or download it "
                f"whole."
            )


def _load_pipeline(source: ModelSource, index: dict[str, Any], device: torch.device) -> Any:
    import diffusers

    components: dict[str, Any] = {part: None for part in _UNUSED if part in index}
    components |= _load_networks(source, index)
    with loading(source):
        pipe = getattr(diffusers, index["_class_name"]).from_pretrained(
            source.place, revision=source.revision, use_safetensors=True, **components
        )
        return pipe.to(device, torch.float32)


def _load_networks(source: ModelSource, index: dict[str, Any]) -> dict[str, Any]:
    """The components with weights. They are loaded one by one, since a pipeline does not report
    missing tensors."""
    networks = {}
    for part, entry in index.items():
        if not isinstance(entry, list | tuple) or part in _UNUSED or entry[0] not in _LIBRARIES:
            continue
        library, class_name = entry
        component_class = getattr(import_module(library), class_name, None)
        is_network = isinstance(component_class, type) and issubclass(
            component_class, torch.nn.Module
        )
        if component_class is None or not is_network:
            continue
        options = {"trust_remote_code": False} if library == "transformers" else {}
        with loading(source):
            networks[part], report = component_class.from_pretrained(
                source.place,
                subfolder=part,
                revision=source.revision,
                use_safetensors=True,
                output_loading_info=True,
                **options,
            )
        missing = sorted(report["missing_keys"])
        if missing:
            raise UserError(
                f"The weights of the {part} of '{source.name}' lack {missing[0]} ({len(missing):,} "
                f"in all); copy or download it whole."
            )
    return networks


def _make_network(source: ModelSource, network_class: type[Network], pipe: Any) -> Network:
    """The adapter of a pipeline, frozen. Raises UserError for a pipeline that edits images."""
    network = network_class(pipe)
    for component in pipe.components.values():
        if isinstance(component, torch.nn.Module):
            component.eval().requires_grad_(False)
    # A network that edits images also takes the channels of the image to edit.
    network_channels = network.model.config.in_channels
    latent_channels = pipe.vae.config.latent_channels
    if network_channels != latent_channels * network.latents_per_token:
        raise UserError(
            f"The network of '{source.name}' takes {network_channels} channels and the VAE gives "
            f"{latent_channels}: it edits images; name a text-to-image pipeline."
        )
    return network
