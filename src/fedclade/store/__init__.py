"""The run folder: its files, checkpoints, events and lock. Only this room knows how they are laid out."""
