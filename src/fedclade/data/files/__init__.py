"""Files that a user gives, one format a file: sized before they are read, and never a program.

What a file claims of itself (its ending, the sizes in its directory and headers) is compared with what it is before
memory is asked for. Nothing here can unpickle.
"""
