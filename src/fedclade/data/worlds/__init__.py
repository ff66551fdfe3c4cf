"""How examples are spread over clients, and which clients truly belong together: one world a file."""
