"""What each scene of a world holds, before anything has a place."""
