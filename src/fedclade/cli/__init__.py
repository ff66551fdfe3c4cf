"""The command line: parses, builds, calls. Nothing heavy is imported before a command needs it."""

from fedclade.cli.app import main

__all__ = ["main"]
