"""Worlds, one a file: they spread examples over clients, and plant the groups that truly belong together."""
