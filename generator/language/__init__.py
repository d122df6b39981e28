"""What captions say: forms, words, truth and foils."""
