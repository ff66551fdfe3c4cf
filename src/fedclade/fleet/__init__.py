"""The clients as a server can reach them: the protocol, the gate that checks every reply, and the engines."""
