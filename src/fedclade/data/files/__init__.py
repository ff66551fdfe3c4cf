"""Files that a user gives, one format a file: sized before they are read, and never a program.

The claims of a file (its ending, the sizes in its directory and headers) are compared with its content before memory is
allocated. Nothing here can unpickle.
"""
