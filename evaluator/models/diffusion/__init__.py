"""`diffusion:` models: a text-to-image pipeline of diffusers as a classifier (Li et al. 2023,
"Diffusion Classifier").

Noise is added to the image, and the network predicts it from the noisy image and a text. The text
with the smallest error fits best.
"""
