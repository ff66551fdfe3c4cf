"""The live page: runs as they go on, in a browser on this machine. Reads run folders only, and never writes."""
