"""`diffusion:` models: a text-to-image pipeline of diffusers as a classifier (Li et al. 2023).

How well a text fits an image is how well the network, told the text, finds the noise that was put on the image.
"""
