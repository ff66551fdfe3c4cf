"""Distances between clients, and groups from them: pure functions that several methods share."""
