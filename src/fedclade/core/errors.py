"""The kinds of errors, and the exit code of each.

FedcladeError      1  our bug, if nothing more exact fits
├── InputError     2  the input is wrong; nothing was started
├── Stopped        3  the run could not go on; its state is safe and can be resumed
│   └── Diverged   3  training diverged: the run has ended, and its models are of no use
└── Damaged        4  a run folder is not what was written there
"""


class FedcladeError(Exception):
    """An error with a place, what was got, what is needed, and what to do about it."""

    exit_code = 1

    def __init__(self, what: str, *, where: str = "", got: str = "", need: str = "", do: str = "") -> None:
        super().__init__(what)
        self.what, self.where, self.got, self.need, self.do = what, where, got, need, do

    def __str__(self) -> str:
        """One line: `what, where: got ..., need ...; do ...`, without the parts that are not known."""
        place = f"{self.what}, {self.where}" if self.where else self.what
        facts = ", ".join(f"{word} {value}" for word, value in (("got", self.got), ("need", self.need)) if value)
        line = f"{place}: {facts}" if facts else place
        return " ".join((f"{line}; do: {self.do}" if self.do else line).split())


class InputError(FedcladeError, ValueError):
    """The input is wrong: a setting, a file, data, a name."""

    exit_code = 2


class NameTaken(InputError):
    """Two installed packages, or a package and fedclade, have plug-ins of one name: no experiment is at fault."""


class Stopped(FedcladeError):
    """The run could not go on; its state is on disk, and `fedclade resume` continues it."""

    exit_code = 3


class Diverged(Stopped):
    """Training diverged: losses grew instead of falling. The run folder is complete, and there is nothing to resume."""


class Damaged(FedcladeError):
    """A file of a run folder is missing, cut short, or not what its checksum says."""

    exit_code = 4
