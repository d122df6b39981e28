"""`Denoising`: the learner of diffusion models. In a step the model predicts the noise that was
added to images."""

from collections import defaultdict

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evaluator.models.diffusion.networks import Condition, ConditionCache
from evaluator.models.diffusion.noising import Diffusion
from evaluator.models.diffusion.scorer import UNCONDITIONAL, DiffusionClassifier
from evaluator.models.hub import quiet
from evaluator.models.network import autocast, training_precision
from evaluator.training.data import Augment, PreparedImages, Step, TrainingData, check_length
from evaluator.training.fit import Learner, gather, share
from evaluator.training.recipe import Recipe
from generator.base.errors import UserError
from generator.base.streams import Stream


class Denoising(Learner):
    """Trains the U-Net of a pipeline, with or without its text encoders, to predict the scheduler's
    target: ε or v.

    Images are prepared as for scoring, by the model's preset; `augment` changes latents. untold:
    the share of images trained without their caption, for classifier-free guidance (Ho & Salimans
    2022, algorithm 1). Raises UserError for a pipeline that is not diffusion in discrete timesteps,
    and if a text would be truncated.
    """

    def __init__(
        self,
        model: DiffusionClassifier,
        data: TrainingData,
        recipe: Recipe,
        text_encoder: bool,
        augment: Augment | None = None,
        untold: float = 0.0,
    ):
        adapter = model.adapter
        if not isinstance(adapter.process, Diffusion):
            raise UserError(
                f"'{model.info['weights']}' cannot be trained this way: it does not predict ε or v "
                f"in discrete "
                "timesteps; give a Stable Diffusion 1, 2 or XL."
            )
        check_length(model, data.texts)
        encoders = [
            name
            for name in ("text_encoder", "text_encoder_2")
            if text_encoder and name in model.network
        ]
        trained = {
            adapter.component: adapter.model,
            **{name: model.network[name] for name in encoders},
        }
        self.network: nn.Module = nn.ModuleDict(trained).train().requires_grad_(True)
        self.device = model.device
        self._adapter, self._process, self._data, self._seed = (
            adapter,
            adapter.process,
            data,
            recipe.seed,
        )
        self._untold = untold
        self._precision = training_precision(recipe.precision, model.device)
        self._latents = PreparedImages(data, model.latent, augment)
        self._frozen = None if encoders else ConditionCache(adapter)

    def loss(self, step: Step, number: int) -> Tensor:
        """The mean squared error of the prediction at a random timestep of each image (Ho et al.
        2020, equation 14). Each process computes its share of the images.
        """
        n = len(step.images)
        places = range(n)[share(n)]
        latents = self._latents.of(step.images[share(n)], places, number)
        generators = [
            torch.Generator().manual_seed(Stream(self._seed, "noise", number, place).below(2**32))
            for place in places
        ]
        levels = torch.cat([torch.rand(1, generator=each) for each in generators])
        told = [torch.rand(1, generator=each).item() >= self._untold for each in generators]
        noises = [
            torch.randn(latent.shape, generator=each)
            for latent, each in zip(latents, generators, strict=True)
        ]
        captions = step.captions[share(n)]
        texts = [
            self._data.texts[caption] if told[i] else UNCONDITIONAL
            for i, caption in enumerate(captions)
        ]
        of_shape: dict[torch.Size, list[int]] = defaultdict(list)
        for i, latent in enumerate(latents):
            of_shape[latent.shape].append(i)
        losses = []
        for rows in of_shape.values():
            latent, noise = (
                torch.stack([each[i] for i in rows]).to(self.device) for each in (latents, noises)
            )
            level = levels[rows]
            with autocast(self.device, self._precision):
                condition = self._conditions([texts[i] for i in rows])
                predicted = self._adapter.predict(
                    self._process.add_noise(latent, noise, level),
                    self._process.timesteps(level).to(self.device),
                    condition,
                )
            target = self._process.target(latent, noise, level)
            losses.append(F.mse_loss(predicted.float(), target, reduction="none").mean((1, 2, 3)))
        return gather(torch.cat(losses), n).mean()

    def _conditions(self, texts: list[str]) -> Condition:
        if self._frozen is not None:
            return self._frozen.stacked(texts, self.device)
        distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        with quiet():
            encoded = self._adapter.encode_texts(list(distinct))
        rows = torch.tensor([distinct[text] for text in texts], device=self.device)
        return {name: states[rows] for name, states in encoded.items()}
