"""Plug-ins for fedclade, one of each kind, as a model for your own."""
