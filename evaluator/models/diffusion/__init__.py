"""`diffusion:` models: a text-to-image pipeline of diffusers as a classifier (Li et al. 2023, "Diffusion Classifier").

Noise is added to the image, and the network is told a text and asked for the noise. The text under which its error is
smallest fits best.
"""
