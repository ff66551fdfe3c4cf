"""The nets of CFL and ABC, whose sizes the papers do not print: plug-ins like those of any package."""
