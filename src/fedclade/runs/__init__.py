"""Runs: the loop, the folder on disk, checkpoint and resume, metrics, the byte ledger."""
