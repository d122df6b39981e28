"""For people to look at: sheets of images, and the check of a family."""
