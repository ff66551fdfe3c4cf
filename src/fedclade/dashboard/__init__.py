"""Live pages about runs, in a browser on this machine. Reads run folders only, and never writes."""
