"""The losses of dual encoders: contrastive, hard negatives of two kinds, hard positives.

All take cosines times the temperature's inverse ("logits") and return a scalar that can be differentiated.
"""

import math

import torch
from torch import Tensor
from torch.nn import functional as F


def contrastive(logits: Tensor, true: Tensor, negative_weight: float = 1.0) -> Tensor:
    """CLIP's symmetric loss (Radford et al. 2021, section 2.3) of n images and n captions, and of added negatives: NegCLIP
    (Yuksekgonul et al. 2023, section 4) appends them as columns to the softmax over texts.

    logits: float (n, n + m); column i < n is the caption of image i, the others are negatives. true: bool, the same shape; texts
    that are true of an image are never counted against it. negative_weight: w counts each added column w times in the sum of the
    softmax: 0 leaves them out, 1 is NegCLIP. The mean over images, and over captions, in equal parts.
    """
    n = len(logits)
    own = torch.eye(n, logits.shape[1], dtype=torch.bool, device=logits.device)
    logits = logits.masked_fill(true & ~own, -torch.inf)
    labels = torch.arange(n, device=logits.device)
    weight = math.log(negative_weight) if negative_weight else -math.inf
    texts = torch.cat([logits[:, :n], logits[:, n:] + weight], dim=1)
    return (F.cross_entropy(texts, labels) + F.cross_entropy(logits[:, :n].T, labels)) / 2


def hard_negative(caption: Tensor, negative: Tensor) -> Tensor:
    """SVLC's negatives loss (Doveh et al. 2023, section 3.3): each image chooses between its caption and its negative.

    caption, negative: float (k,), logits of an image with the two. The mean of -log softmax of the caption; 0 for k = 0.
    """
    return F.softplus(negative - caption).sum() / max(1, len(caption))


def hard_positive(caption: Tensor, positive: Tensor) -> Tensor:
    """The hard-positive loss of each image with its caption and its positive (Kamath et al. 2024, appendix D.1).

    caption, positive: float (k,), logits. The paper calls it SVLC's analogy loss and gives no formula. This one is the
    divergence of equal shares from the softmax of the two, the term `kl_pos` of SVLC's code: 0 where the image scores both
    alike. The mean; 0 for k = 0.
    """
    apart = positive - caption
    return (F.softplus(apart) - apart / 2 - math.log(2)).sum() / max(1, len(caption))
