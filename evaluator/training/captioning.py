"""`Captioning`: the learner of captioners. In a step the model predicts each piece of the images'
descriptions."""

from torch import Tensor
from torch.nn import functional as F

from evaluator.models.captioner import Captioner
from evaluator.models.network import autocast, training_precision
from evaluator.training.data import Augment, PreparedImages, Step, TrainingData
from evaluator.training.fit import Learner, gather, share
from evaluator.training.recipe import Recipe


class Captioning(Learner):
    """Trains a captioner by teacher forcing: each piece is predicted from the true ones before
    it."""

    def __init__(
        self,
        model: Captioner,
        data: TrainingData,
        *,
        recipe: Recipe,
        augment: Augment | None = None,
    ):
        """Prepare the training.

        Args:
            model: The captioner.
            data: The training data; captions are descriptions as JSON.
            recipe: Its precision.
            augment: Changes an image at random.
        """
        self.network = model.network.train()
        self.device = model.device
        self._model = model
        self._texts = data.texts
        self._images = PreparedImages(data, model.prepare, augment)
        self._precision = training_precision(recipe.precision, model.device)

    def loss(self, step: Step, number: int) -> Tensor:
        """Compute the mean over images of the cross-entropy of their pieces, itself a mean over the
        description. Each process computes its share of the images."""
        n = len(step.images)
        own = share(n)
        places = range(n)[own]
        images = self._images.batch(step.images[own], places, number)
        descriptions = [self._texts[text] for text in step.captions[own]]
        with autocast(self.device, self._precision):
            logits, pieces, is_piece = self._model.piece_logits(images, descriptions)
        # The padding that makes descriptions equally long does not count.
        flat_logits = logits.float().flatten(0, 1)
        errors = F.cross_entropy(flat_logits, pieces.flatten(), reduction="none")
        errors = errors.view_as(pieces) * is_piece
        losses = errors.sum(1) / is_piece.sum(1)
        return gather(losses, n).mean()
