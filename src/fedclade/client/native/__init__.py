"""The kernel's sources in C, and how they are built."""
