"""Sources of examples, one a file."""
