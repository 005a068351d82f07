"""Random input against the program: what `make hunt` does for hours and `make test` for a moment."""
