"""Loading `diffusion:` models: `diffusion:FOLDER`, `diffusion:OWNER/NAME`, either with `@preset` and options."""

import hashlib
import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from evaluator.models.device import best_device
from evaluator.models.diffusion.networks import NETWORKS, Network, quiet
from evaluator.models.diffusion.schedules import DEFAULT, Preset, parse_preset
from evaluator.models.diffusion.scorer import DiffusionClassifier
from evaluator.models.open_clip import weights_digest
from generator.dataset.errors import UserError, did_you_mean

_LIBRARIES = ("diffusers", "transformers")
_NOTHING = (None, None)
_UNUSED = ("safety_checker", "image_encoder", "feature_extractor")  # what only makes or checks images


def load_diffusion(name: str, device: str | None) -> DiffusionClassifier:
    """Load `FOLDER`, `OWNER/NAME`, `FOLDER@preset` … in float32, from safetensors alone.

    Raises UserError when there is no such pipeline, when it is none that makes images of texts, when a component is
    missing, and for an unknown preset.
    """
    place, preset = _place_and_preset(name)
    target = best_device(device)
    index = _index(place)
    network_type = NETWORKS[index["_class_name"]]
    _check_components(place, index, network_type)
    network = _network(place, network_type, _pipeline(place, index, target))
    modules = {part: each for part, each in network.pipe.components.items() if isinstance(each, torch.nn.Module)}
    digests = {part: weights_digest(module) for part, module in sorted(modules.items())}
    classifier = DiffusionClassifier(network, preset, target)
    classifier.identify(
        place,
        hashlib.sha256(json.dumps(digests).encode()).hexdigest(),
        sum(parameter.numel() for module in modules.values() for parameter in module.parameters()),
        [_configurations(network), digests],
    )
    return classifier


def _place_and_preset(name: str) -> tuple[str, Preset]:
    """A folder's name may hold @ itself."""
    place, at, preset = name.rpartition("@")
    if not at or Path(name).is_dir():
        return name, parse_preset(DEFAULT)
    return place, parse_preset(preset)


def _index(place: str) -> dict[str, Any]:
    """The pipeline's model_index.json, of a class that is read here."""
    from diffusers import DiffusionPipeline

    local = Path(place).is_dir()
    if not local and (Path(place).is_absolute() or place.startswith(".") or place.count("/") != 1):
        raise UserError(
            f"There is no folder '{place}'; give a folder written by save_pretrained, or OWNER/NAME of the Hugging Face hub."
        )
    if local and not (Path(place) / "model_index.json").exists():
        raise UserError(
            f"'{place}' is not a pipeline of diffusers: it has no model_index.json; give a folder written by save_pretrained."
        )
    with _mendable(place, "cannot be read"):
        index: dict[str, Any] = dict(DiffusionPipeline.load_config(place))
    kind = str(index.get("_class_name"))
    if kind not in NETWORKS:
        raise UserError(
            f"'{place}' is a {kind}, not a text-to-image pipeline that is read here: {did_you_mean(kind, list(NETWORKS))}"
        )
    return index


def _check_components(place: str, index: dict[str, Any], network: type[Network]) -> None:
    """All that the network needs is listed, is of a known library, and lies there where the pipeline is a folder."""
    import diffusers

    pipeline = getattr(diffusers, index["_class_name"])
    needed, _ = pipeline._get_signature_keys(pipeline)
    for part in sorted(set(needed).difference(_UNUSED)):
        library, _ = index.get(part) or _NOTHING
        if library is None:
            if part in network.optional:
                continue
            raise UserError(f"The pipeline '{place}' has no {part}; give one that is complete.")
        if library not in _LIBRARIES:
            raise UserError(
                f"The {part} of '{place}' is of the library '{library}', whose code is not run here; expected one of: {', '.join(_LIBRARIES)}."
            )
        if Path(place).is_dir() and not (Path(place) / part).is_dir():
            raise UserError(f"The pipeline '{place}' lacks the folder '{part}'; copy or download it whole.")


def _pipeline(place: str, index: dict[str, Any], device: torch.device) -> Any:
    import diffusers

    given = {part: None for part in _UNUSED if part in index} | _with_weights(place, index)
    with _mendable(place, "cannot be loaded"):
        pipe = getattr(diffusers, index["_class_name"]).from_pretrained(place, use_safetensors=True, **given)
        return pipe.to(device, torch.float32)


def _with_weights(place: str, index: dict[str, Any]) -> dict[str, Any]:
    """The components that have weights, loaded apart: inside a pipeline nothing tells of tensors that are missing and made up."""
    loaded = {}
    for part, entry in index.items():
        if not isinstance(entry, list | tuple) or part in _UNUSED or entry[0] not in _LIBRARIES:
            continue
        kind = getattr(import_module(entry[0]), entry[1], None)
        if not (isinstance(kind, type) and issubclass(kind, torch.nn.Module)):
            continue
        options = {"trust_remote_code": False} if entry[0] == "transformers" else {}
        with _mendable(place, "cannot be loaded"):
            loaded[part], found = kind.from_pretrained(  # type: ignore[attr-defined]
                place, subfolder=part, use_safetensors=True, output_loading_info=True, **options
            )
        if lacking := sorted(found["missing_keys"]):
            raise UserError(
                f"The weights of the {part} of '{place}' lack {lacking[0]} ({len(lacking):,} in all); copy or download it whole."
            )
    return loaded


def _network(place: str, kind: type[Network], pipe: Any) -> Network:
    network = kind(pipe)
    for component in pipe.components.values():
        if isinstance(component, torch.nn.Module):
            component.eval().requires_grad_(False)
    taken, given = network.model.config.in_channels, pipe.vae.config.latent_channels
    if taken != given * network.packs:
        raise UserError(
            f"The network of '{place}' takes {taken} channels and the VAE gives {given}: it edits images; name a text-to-image pipeline."
        )
    return network


def _configurations(network: Network) -> Any:
    """All configurations, without names of folders and versions; and the tokenizers' words."""
    found: dict[str, Any] = {}
    for part, component in sorted(network.pipe.components.items()):
        config = getattr(component, "config", None)
        if config is not None:
            told = config.to_dict() if hasattr(config, "to_dict") else dict(config)
            found[part] = {
                key: value for key, value in told.items() if not key.startswith(("_", "transformers_version"))
            }
    words = [sorted(tokenizer.get_vocab().items()) for tokenizer, _ in network.lengths()]
    return [found, hashlib.sha256(json.dumps(words).encode()).hexdigest()]


@contextmanager
def _mendable(place: str, what: str) -> Iterator[None]:
    """The libraries' errors in one sentence, and no reports of their own."""
    from diffusers.utils import logging as of_diffusers
    from transformers.utils import logging as of_transformers

    libraries = [each for each in (of_diffusers, of_transformers) if each.is_progress_bar_enabled()]
    for library in libraries:
        library.disable_progress_bar()
    try:
        with quiet(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except UserError:
        raise
    except Exception as error:  # every loader behind a pipeline has errors of its own
        reason = " ".join(str(error).split()).rstrip(".:")[:200] or type(error).__name__
        if not Path(place).is_dir():
            raise UserError(
                f"'{place}' is not on this machine and cannot be downloaded ({reason}); check the network and the name, or give a folder."
            ) from error
        if "safetensors" in reason:
            raise UserError(
                f"'{place}' {what}: a component has no weights as safetensors ({reason}); save it with safe_serialization=True."
            ) from error
        raise UserError(f"'{place}' {what} ({reason}); give a complete folder written by save_pretrained.") from error
    finally:
        for library in libraries:
            library.enable_progress_bar()
