"""`python -m fedclade` is the command `fedclade`."""

from fedclade.cli import main

if __name__ == "__main__":
    main()
