"""Methods that only the papers' experiments need."""
