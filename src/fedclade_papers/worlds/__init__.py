"""The worlds of the papers, one a file: plug-ins like those of any package."""
