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
    """Trains the U-Net of a pipeline to predict the scheduler's target: ε or v. It trains the text
    encoders too, if asked to.

    Images are prepared as for scoring, by the model's preset.
    """

    def __init__(
        self,
        model: DiffusionClassifier,
        data: TrainingData,
        recipe: Recipe,
        *,
        text_encoder: bool,
        augment: Augment | None = None,
        caption_dropout: float = 0.0,
    ):
        """Prepare the training.

        Args:
            model: The pipeline.
            data: The training data.
            recipe: Its seed and precision.
            text_encoder: Whether to train the text encoders.
            augment: Changes a latent at random.
            caption_dropout: The share of images that are trained without their caption, for
                classifier-free guidance (Ho & Salimans 2022, algorithm 1).

        Raises:
            UserError: The pipeline is not diffusion in discrete timesteps, or would truncate a
                text.
        """
        adapter = model.adapter
        if not isinstance(adapter.process, Diffusion):
            raise UserError(
                f"'{model.info['weights']}' cannot be trained this way: it does not predict ε or v "
                f"in discrete timesteps; give a Stable Diffusion 1, 2 or XL."
            )
        check_length(model, data.texts)
        trained: dict[str, nn.Module] = {adapter.component: adapter.model}
        if text_encoder:
            for name in ("text_encoder", "text_encoder_2"):
                if name in model.network:
                    trained[name] = model.network[name]
        trains_encoders = len(trained) > 1
        self.network: nn.Module = nn.ModuleDict(trained).train().requires_grad_(True)
        self.device = model.device
        self._adapter = adapter
        self._process = adapter.process
        self._data = data
        self._seed = recipe.seed
        self._caption_dropout = caption_dropout
        self._precision = training_precision(recipe.precision, model.device)
        self._latents = PreparedImages(data, model.latent, augment)
        # States of frozen encoders are computed once for each text.
        self._frozen_states = None if trains_encoders else ConditionCache(adapter)

    def loss(self, step: Step, number: int) -> Tensor:
        """Compute the mean squared error of the prediction at a random timestep of each image (Ho
        et al. 2020, equation 14). Each process computes its share of the images."""
        n = len(step.images)
        own = share(n)
        places = range(n)[own]
        latents = self._latents.batch(step.images[own], places, number)
        captions = step.captions[own]

        # Each image has a generator of its own, so that processes do not change the draws. The
        # order of draws is level, dropout, noise.
        levels, noises, texts = [], [], []
        for place, latent, caption in zip(places, latents, captions, strict=True):
            seed = Stream(self._seed, "noise", number, place).below(2**32)
            generator = torch.Generator().manual_seed(seed)
            levels.append(torch.rand(1, generator=generator))
            dropout_draw = torch.rand(1, generator=generator).item()
            noises.append(torch.randn(latent.shape, generator=generator))
            keeps_caption = dropout_draw >= self._caption_dropout
            texts.append(self._data.texts[caption] if keeps_caption else UNCONDITIONAL)

        # Latents of one shape are computed together.
        rows_of_shape: dict[torch.Size, list[int]] = defaultdict(list)
        for row, latent in enumerate(latents):
            rows_of_shape[latent.shape].append(row)
        losses = []
        for rows in rows_of_shape.values():
            latent = torch.stack([latents[row] for row in rows]).to(self.device)
            noise = torch.stack([noises[row] for row in rows]).to(self.device)
            level = torch.cat([levels[row] for row in rows])
            noisy = self._process.add_noise(latent, noise, level)
            timesteps = self._process.timesteps(level).to(self.device)
            with autocast(self.device, self._precision):
                condition = self._conditions([texts[row] for row in rows])
                prediction = self._adapter.predict(noisy, timesteps, condition)
            target = self._process.target(latent, noise, level)
            errors = F.mse_loss(prediction.float(), target, reduction="none")
            losses.append(errors.mean((1, 2, 3)))
        return gather(torch.cat(losses), n).mean()

    def _conditions(self, texts: list[str]) -> Condition:
        if self._frozen_states is not None:
            return self._frozen_states.stacked(texts, self.device)
        # Texts of a batch repeat, at least the empty one; the encoder runs once for each.
        distinct = list(dict.fromkeys(texts))
        row_of = {text: row for row, text in enumerate(distinct)}
        with quiet():
            encoded = self._adapter.encode_texts(distinct)
        rows = torch.tensor([row_of[text] for text in texts], device=self.device)
        return {name: states[rows] for name, states in encoded.items()}
