"""Flower is an extra: all other rooms load, and train, where it is not. In a process that cannot import it."""

import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "fedclade"
WITH_FLOWER = ("fedclade.fleet.flower", "fedclade.deploy")
CODE = """
import importlib, sys
sys.modules.update(dict.fromkeys(("flwr", "ray", "cryptography")))  # None: an import of it fails
for name in sys.argv[1:]:
    importlib.import_module(name)
import fedclade as fc
federation = fc.data.build(source="digits", world="label-permutation", clients=6, groups=2)
print(fc.train(federation, fc.IFCA(clusters=2), net="logistic", rounds=2).accuracy)
"""


def test_everything_loads_and_trains_without_flower(tmp_path: Path) -> None:
    paths = [path.relative_to(SOURCE.parent).with_suffix("") for path in sorted(SOURCE.rglob("*.py"))]
    names = [".".join(path.parts).removesuffix(".__init__") for path in paths if path.name != "__main__"]
    others = [name for name in names if not name.startswith(WITH_FLOWER)]
    ran = subprocess.run(
        [sys.executable, "-c", CODE, *others], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert 0.1 < float(ran.stdout) <= 1
