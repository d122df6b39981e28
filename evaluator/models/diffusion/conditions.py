"""What a network is told of each text: encoded once, with the most recent ones kept in main memory."""

from collections import OrderedDict
from collections.abc import Sequence

import torch

from evaluator.models.diffusion.networks import Condition, Network
from evaluator.models.quiet import quiet

_TEXTS = 16
"""Texts that are encoded at once."""
_KEPT_BYTES = 2**30


class ConditionCache:
    """The conditions of texts, float32 on the CPU; the least recently used are dropped above 1 GiB."""

    def __init__(self, network: Network):
        self._network = network
        self._kept: OrderedDict[str, Condition] = OrderedDict()
        self._bytes = 0

    def stacked(self, texts: Sequence[str], device: torch.device) -> Condition:
        """The conditions of texts on a device, each tensor with the texts along its first axis."""
        distinct = list(dict.fromkeys(texts))
        new = [text for text in distinct if text not in self._kept]
        for start in range(0, len(new), _TEXTS):
            self._encode(new[start : start + _TEXTS])
        for text in distinct:
            self._kept.move_to_end(text)
        place = torch.tensor([distinct.index(text) for text in texts], device=device)
        stacked = {
            name: torch.stack([self._kept[text][name] for text in distinct]).to(device)[place]
            for name in self._kept[distinct[0]]
        }
        while self._bytes > _KEPT_BYTES and len(self._kept) > 1:
            self._bytes -= _size(self._kept.popitem(last=False)[1])
        return stacked

    def _encode(self, texts: list[str]) -> None:
        with quiet(), torch.autocast(self._network.pipe.device.type, enabled=False):
            conditions = self._network.encode_texts(texts)
        for row, text in enumerate(texts):
            self._kept[text] = {name: tensor[row].float().cpu().clone() for name, tensor in conditions.items()}
            self._bytes += _size(self._kept[text])


def _size(condition: Condition) -> int:
    return sum(tensor.nbytes for tensor in condition.values())
