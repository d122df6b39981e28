"""Captioners: small networks, trained by `score train scratch --architecture captioner`, that write
the description of an image as JSON.

A convolutional encoder turns the image into a grid of cells. A causal transformer attends to the
cells and writes the description piece by piece. A piece is a pair of key and value, such as
`"color": "red"`, or the punctuation between two pairs, so the words of a world make a vocabulary of
a few dozen pieces.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from evaluator.models.contracts import (
    Answer,
    Answerer,
    BatchSize,
    Chat,
    GenerationConfig,
    cache_key,
)
from evaluator.models.hub import check_files
from evaluator.models.network import best_device, describe_network
from generator.base.errors import UserError
from generator.base.files import read_json, write_json

CONFIG, WEIGHTS = "captioner.json", "captioner.safetensors"
"""The files of a captioner."""
_PIECE = re.compile(r'"[^"]*": "[^"]*"|[^"]+')
"""A pair of key and value, or what stands between pairs."""
_END = 0
"""The number of the piece that begins and ends every description, and pads batches."""
_BATCH = 64
"""Images that are described together."""
_CELL_SIDE = 8
"""Pixels of a cell: the encoder halves the resolution three times."""
_EMBEDDING_DEVIATION = 0.02
"""Of the first embeddings, as in GPT-2."""
_DROPOUT = 0.1
"""Share of activations that training drops."""


def split_pieces(description: str) -> list[str]:
    """Split a description into pieces.

    Args:
        description: A JSON document of `evaluator.descriptions`, a list of objects.

    Returns:
        The pieces. Joined, they are the description.

    Example:
        >>> split_pieces('[{"category": "cube", "color": "red"}]')
        ['[{', '"category": "cube"', ', ', '"color": "red"', '}]']
    """
    return _PIECE.findall(description)


class CaptionerNetwork(nn.Module):
    """The encoder of images and the decoder of pieces."""

    def __init__(
        self, *, n_pieces: int, length: int, image_size: int, width: int, layers: int, heads: int
    ):
        """Make a network with random weights, which follow torch's seed.

        Args:
            n_pieces: Size of the vocabulary, the end included.
            length: Most pieces of a description, the end included.
            image_size: Side of the square images in pixels, a multiple of 8.
            width: Size of the embeddings of cells and pieces, a multiple of 4 and of `heads`.
            layers: Of the decoder.
            heads: Of each attention of the decoder.
        """
        super().__init__()
        self.image_encoder = nn.Sequential(
            _halving(3, width // 4),
            _halving(width // 4, width // 2),
            _Residual(width // 2),
            _halving(width // 2, width),
            _Residual(width),
        )
        n_cells = (image_size // _CELL_SIDE) ** 2
        self.cell_embedding = nn.Parameter(torch.randn(n_cells, width) * _EMBEDDING_DEVIATION)
        self.place_embedding = nn.Parameter(torch.randn(length, width) * _EMBEDDING_DEVIATION)
        self.piece_embedding = nn.Embedding(n_pieces, width)
        nn.init.normal_(self.piece_embedding.weight, std=_EMBEDDING_DEVIATION)
        layer = nn.TransformerDecoderLayer(
            width, heads, 4 * width, _DROPOUT, "gelu", batch_first=True, norm_first=True
        )
        self.decoder = nn.TransformerDecoder(layer, layers, nn.LayerNorm(width))
        self.output = nn.Linear(width, n_pieces)

    def encode(self, images: Tensor) -> Tensor:
        """Encode images.

        Args:
            images: Float (n, 3, side, side).

        Returns:
            Their cells, float (n, cells, width).
        """
        features: Tensor = self.image_encoder(images)
        return features.flatten(2).transpose(1, 2) + self.cell_embedding

    def logits(self, cells: Tensor, pieces: Tensor) -> Tensor:
        """Predict the piece after each piece.

        Args:
            cells: Of n images, as `encode` returns them.
            pieces: Int64 (n, length), each row beginning with `_END`.

        Returns:
            Logits, float (n, length, n_pieces).
        """
        length = pieces.shape[1]
        embedded = self.piece_embedding(pieces) + self.place_embedding[:length]
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=pieces.device)
        states = self.decoder(embedded, cells, tgt_mask=mask, tgt_is_causal=True)
        logits: Tensor = self.output(states)
        return logits


class _Residual(nn.Module):
    """Two convolutions whose result is added to their input."""

    def __init__(self, channels: int):
        super().__init__()
        self.change = nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(channels),
        )

    def forward(self, features: Tensor) -> Tensor:
        """Float (n, channels, h, w), unchanged in shape."""
        return torch.relu(features + self.change(features))


def _halving(inputs: int, outputs: int) -> nn.Module:
    """A convolution that halves the resolution."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


class Captioner(Answerer):
    """A captioner as an Answerer: whatever the question, it describes the image as JSON.

    It is asked only for descriptions as JSON (`score ask --form describe`), by the likeliest
    pieces.
    """

    def __init__(
        self, network: CaptionerNetwork, config: dict[str, Any], device: torch.device, weights: str
    ):
        """Wrap a network.

        Args:
            network: The network.
            config: `network`, its arguments but for n_pieces; and `pieces`, the vocabulary, whose
                first piece is the end.
            device: Where the network is.
            weights: Where the weights come from.
        """
        self.network = network
        self.config = config
        self.device = device
        self.pieces: list[str] = config["pieces"]
        """The vocabulary."""
        self._number_of = {piece: number for number, piece in enumerate(self.pieces)}
        self._side: int = config["network"]["image_size"]
        self._length: int = config["network"]["length"]
        self.batch = BatchSize(_BATCH, "image")
        self.info = describe_network(weights, network, device) | {
            "preprocessing": f"{self._side}x{self._side}, bicubic",
            "text_length": self._length,
        }
        self.key = cache_key("captioner", self.info["weights_sha256"], config)

    def prepare(self, image: Image.Image) -> Tensor:
        """Convert an RGB image to the network's input, float32 (3, side, side) in −1..1."""
        resized = image.resize((self._side, self._side), Image.Resampling.BICUBIC)
        pixels = torch.from_numpy(np.array(resized, dtype=np.float32))
        # Channels first, from 0..255 to −1..1.
        return pixels.permute(2, 0, 1) / 127.5 - 1

    def numbers(self, description: str) -> list[int]:
        """The numbers of the pieces of a description, the end included."""
        pieces = split_pieces(description)
        return [self._number_of[piece] for piece in pieces] + [_END]

    def piece_logits(
        self, images: Sequence[Tensor], descriptions: Sequence[str]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Predict the pieces of descriptions, with gradients, for training.

        Args:
            images: n prepared images.
            descriptions: The description of each.

        Returns:
            Logits, float (n, length, vocabulary); the true pieces, int64 (n, length); and which
            of them belong to the description, bool (n, length): shorter ones are padded.
        """
        rows = [torch.tensor(self.numbers(text)) for text in descriptions]
        lengths = torch.tensor([len(row) for row in rows])
        targets = pad_sequence(rows, batch_first=True, padding_value=_END).to(self.device)
        is_piece = torch.arange(targets.shape[1]) < lengths[:, None]
        # Each piece is predicted from those before it; the first from the end alone.
        before = torch.full_like(targets, _END)
        before[:, 1:] = targets[:, :-1]
        cells = self.network.encode(torch.stack(list(images)).to(self.device))
        return self.network.logits(cells, before), targets, is_piece.to(self.device)

    def answer_all(
        self,
        chats: Iterable[Chat],
        generation: GenerationConfig,
        *,
        keep: Callable[[Chat, Answer], None],
    ) -> None:
        """As Answerer.answer_all. Raises UserError for any question but a description as JSON."""
        if generation.temperature:
            raise UserError("A captioner answers at temperature 0; leave --temperature out.")
        remaining = iter(chats)
        while part := list(islice(remaining, self.batch.size)):
            # Only descriptions as JSON have a schema.
            if any(chat.schema is None for chat in part):
                raise UserError(
                    "A captioner describes images as JSON and answers no other question; ask it "
                    "with --form describe, without --answer prose."
                )

            def describe(batch: Sequence[Chat]) -> list[Answer]:
                return self._describe([chat.show()[0] for chat in batch], generation.max_tokens)

            for batch, answers in self.batch.run(describe, part):
                for chat, answer in zip(batch, answers, strict=True):
                    keep(chat, answer)

    @torch.inference_mode()
    def _describe(self, images: Sequence[Image.Image], max_pieces: int) -> list[Answer]:
        """Describe images by the likeliest piece after each piece."""
        # Batch normalisation and dropout would make a description depend on the rest of its batch.
        self.network.eval()
        prepared = [self.prepare(image) for image in images]
        cells = self.network.encode(torch.stack(prepared).to(self.device))
        written = torch.full((len(images), 1), _END, device=self.device)
        has_ended = torch.zeros(len(images), dtype=torch.bool, device=self.device)
        for _ in range(min(max_pieces, self._length)):
            logits_at_end = self.network.logits(cells, written)[:, -1]
            following = logits_at_end.argmax(-1)
            written = torch.cat([written, following[:, None]], 1)
            has_ended |= following == _END
            if has_ended.all():
                break

        # A row without an end was cut off. Pieces after the end mean nothing.
        answers = []
        for row in written[:, 1:].tolist():
            is_finished = _END in row
            length = row.index(_END) if is_finished else len(row)
            text = "".join(self.pieces[number] for number in row[:length])
            finish = "stop" if is_finished else "length"
            answers.append(Answer(text, finish, completion_tokens=length))
        return answers


def new_captioner(
    descriptions: Sequence[str], size: dict[str, int], device: torch.device
) -> Captioner:
    """Make an untrained captioner. Its weights follow torch's seed.

    Args:
        descriptions: Their pieces are the vocabulary; the longest sets the length.
        size: image_size, width, layers and heads of CaptionerNetwork.
        device: Where the network is.
    """
    split = [split_pieces(text) for text in descriptions]
    vocabulary = {piece for pieces in split for piece in pieces}
    length = 1 + max(len(pieces) for pieces in split)
    config = {"network": {"length": length, **size}, "pieces": ["", *sorted(vocabulary)]}
    return _captioner_of(config, device, "untrained")


def load_captioner(folder: Path, device: str | None) -> Captioner:
    """Load a captioner.

    Args:
        folder: As `save_captioner` writes it.
        device: Name of the device; None for the best one.

    Raises:
        UserError: A file is missing or damaged.
    """
    check_files(folder / WEIGHTS)
    try:
        captioner = _captioner_of(read_json(folder / CONFIG), best_device(device), str(folder))
        captioner.network.load_state_dict(load_file(folder / WEIGHTS))
    except UserError:
        raise
    except Exception as error:
        # torch and safetensors each raise errors of their own.
        raise UserError(
            f"The captioner in {folder} is damaged ({type(error).__name__}); restore {CONFIG} and "
            f"{WEIGHTS}, or train again."
        ) from None
    return Captioner(captioner.network, captioner.config, captioner.device, str(folder))


def save_captioner(captioner: Captioner, folder: Path) -> None:
    """Write a captioner into an existing folder."""
    write_json(folder / CONFIG, captioner.config)
    state = captioner.network.state_dict()
    save_file({name: tensor.contiguous() for name, tensor in state.items()}, folder / WEIGHTS)


def _captioner_of(config: dict[str, Any], device: torch.device, weights: str) -> Captioner:
    """A captioner with random weights."""
    network = CaptionerNetwork(n_pieces=len(config["pieces"]), **config["network"])
    return Captioner(network.to(device), config, device, weights)
