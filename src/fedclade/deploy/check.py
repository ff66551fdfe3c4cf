"""Check an app that `deploy init` wrote and people have edited since. It only looks: nothing is changed or started."""

import ast
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from fedclade.core import InputError
from fedclade.deploy.bundle import check_bundle, check_flower
from fedclade.deploy.findings import Finding, missing, ok, warning, wrong
from fedclade.deploy.plan import CONNECTION, require_cryptography
from fedclade.deploy.reach import check_public, check_superlink

REGENERATE = "take it from a new `fedclade deploy init`"
REQUIRED_ENV = {  # of flower.env
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
}
REQUIRED_FLAGS = (
    "--host 127.0.0.1",
    "--enable-supernode-auth",
    "--disable-runtime-dependency-installation",
    "--ssl-certfile",
)
EXPORT = re.compile(r"\s*export\s+([A-Z_]+)=(.*)")
ConfigTable = Mapping[str, object]


def check_app(folder: Path, public: str = "") -> list[Finding]:
    """All findings about an app. `public` is the address that sites dial, to be probed too."""
    if not folder.is_dir():
        need = "an app"
        raise InputError("there is no such folder", where=str(folder), need=need, do=f"fedclade deploy init {folder}")
    if not (folder / "pyproject.toml").is_file():
        need = "a pyproject.toml"
        raise InputError("there is no app here", where=str(folder), need=need, do="fedclade deploy init DIR")
    require_cryptography()
    from fedclade.deploy.certificates import check_certificates, check_site_keys

    settings = read_exports(folder / "flower.env")
    return [
        *check_flower(),
        *check_components(folder),
        *check_experiment(folder),
        *check_settings(folder, settings),
        *check_scripts(folder),
        *check_connection(folder, settings),
        *check_proxy(folder, settings),
        *check_certificates(folder, settings.get("FLEET_ADDRESS", "")),
        *check_site_keys(folder),
        *check_bundle(folder),
        *check_superlink(settings.get("SUPERLINK_PORT", "")),
        *(check_public(public, folder / "keys" / "ca.crt") if public else ()),
    ]


def check_components(folder: Path) -> Iterator[Finding]:
    """The two sides of the app are where pyproject.toml says, and load_data is there."""
    where = "pyproject.toml"
    try:
        tables = tomllib.loads((folder / where).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        yield wrong(where, f"it is not TOML: {error}", "correct it")
        return
    app = table_at(tables, "tool", "flwr", "app")
    components = table_at(app, "components")
    for part in ("serverapp", "clientapp"):
        given = components.get(part)
        module, colon, name = str(given).partition(":")
        path = folder.joinpath(*module.split(".")).with_suffix(".py")
        if given is None or not colon:
            yield missing(where, f"no {part} in [tool.flwr.app.components]", 'name it: "package.module:app"')
        elif not path.is_file():
            yield missing(where, f"{part} is in {path.relative_to(folder)}, which is not there", "correct the name")
        else:
            yield check_definition(path, folder, name, f"{part} is there")
    loads = folder.joinpath(*str(components.get("clientapp")).partition(":")[0].split(".")[:-1], "load_data.py")
    yield check_definition(loads, folder, "load_data", "load_data is there")
    run_folder = table_at(app, "config").get("folder")
    if not isinstance(run_folder, str) or not Path(run_folder).is_absolute():
        yield wrong(where, f"folder in [tool.flwr.app.config] is {run_folder!r}", "give the run's folder by full path")
    elif not Path(run_folder).is_relative_to(folder.absolute()):
        yield warning(
            where, f"runs are kept outside this app, in {run_folder}", "if the app was copied, correct the path"
        )


def check_definition(path: Path, folder: Path, name: str, good: str) -> Finding:
    """Whether a module gives a name at its top level. It is read, not run."""
    where = str(path.relative_to(folder))
    if not path.is_file():
        return missing(where, f"there is no {name}", REGENERATE)
    try:
        body = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError) as error:
        return wrong(where, f"it is not Python: {error}", "correct it")
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            takes = len(node.args.posonlyargs) + len(node.args.args)
            needs = takes - len(node.args.defaults)
            if name == "load_data" and not (takes >= 1 >= needs):
                return wrong(where, f"load_data takes {needs} arguments", "let it take one, the site")
            return ok(where, good)
        bound = [alias.asname or alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets += [node.target] if isinstance(node, ast.AnnAssign) else []
        if name in bound or name in [target.id for target in targets if isinstance(target, ast.Name)]:
            return ok(where, good)
    return missing(where, f"it does not define {name}", f"define {name} there")


def check_experiment(folder: Path) -> Iterator[Finding]:
    """The experiment can be read and played, and waits for no more sites than have keys."""
    from fedclade.runs.backend import check_sites
    from fedclade.runs.experiment import read_experiment

    where = "experiment.toml"
    try:
        experiment = read_experiment(folder / where)
        form = check_sites(experiment)
    except InputError as error:
        said = InputError(error.what, where=error.where, got=error.got, need=error.need)
        yield wrong(where, str(said).replace(f"{folder / where}, ", ""), error.do or "correct it")
        return
    yield ok(where, "it can be read" + (", and its net fits the shape" if form is not None else ""))
    sites, waits = len(list((folder / "keys" / "sites").glob("*.pub"))), getattr(experiment.engine, "clients", 0)
    if waits > sites:
        yield warning(where, f"engine.clients waits for {waits} sites, and {sites} have keys", "lower it, or add keys")


def read_exports(path: Path) -> dict[str, str]:
    """The values of `export NAME=VALUE` lines; one that only a shell can evaluate is left as it is."""
    if not path.is_file():
        return {}
    found = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if match := EXPORT.match(line):
            try:
                words = shlex.split(match.group(2), comments=True)
            except ValueError:  # an open quote
                words = [match.group(2)]
            found[match.group(1)] = words[0] if words else ""
    return found


def check_settings(folder: Path, settings: Mapping[str, str]) -> Iterator[Finding]:
    """Telemetry, update checks and run-time installation are off."""
    where = "flower.env"
    if not (folder / where).is_file():
        yield missing(where, "it is not there", REGENERATE)
        return
    off = [name for name, value in REQUIRED_ENV.items() if settings.get(name) != value]
    for name in off:
        yield wrong(where, f"{name} is {settings.get(name, 'not set')}", f"export {name}={REQUIRED_ENV[name]}")
    if "FLWR_HOME" not in settings:
        yield wrong(where, "FLWR_HOME is not set", "export it: Flower's files would lie in the home folder")
    if not off:
        yield ok(where, "telemetry, update checks and run-time installation are off")


def check_scripts(folder: Path) -> Iterator[Finding]:
    """The SuperLink is started on loopback, with TLS and node authentication; sites are started with both."""
    for name, needed in (
        ("start-superlink.sh", REQUIRED_FLAGS),
        ("start-site.sh", ("--root-certificates", "--auth-supernode-private-key")),
    ):
        path = folder / name
        if not path.is_file():
            yield missing(name, "it is not there", REGENERATE)
            continue
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        said = " ".join(" ".join(line.rstrip("\\") for line in lines if not line.lstrip().startswith("#")).split())
        lost = [word for word in needed if word not in said]
        if lost:
            yield wrong(name, f"it does not say {', '.join(lost)}", "put it back")
        if "--insecure" in said:
            yield wrong(name, "it says --insecure: no TLS", "take it out")
        if not lost and "--insecure" not in said:
            yield ok(name, "TLS and node authentication are on")


def check_connection(folder: Path, settings: Mapping[str, str]) -> Iterator[Finding]:
    """Flower's own config leads to the SuperLink on loopback, and trusts this app's CA."""
    where = ".flwr/config.toml"
    if not (folder / where).is_file():
        yield missing(where, "it is not there", REGENERATE)
        return
    try:
        superlink = table_at(tomllib.loads((folder / where).read_text(encoding="utf-8")), "superlink", CONNECTION)
    except ValueError as error:
        yield wrong(where, f"it is not TOML: {error}", "correct it")
        return
    wanted = f"127.0.0.1:{settings.get('SUPERLINK_PORT', '')}"
    given, authority = str(superlink.get("root-certificates", "")), folder / "keys" / "ca.crt"
    problems = []
    if superlink.get("address") != wanted:
        problems.append((f"address is {superlink.get('address')!r}", f'say "{wanted}", as flower.env does'))
    if superlink.get("insecure"):
        problems.append(("insecure is on: no TLS", "take it out"))
    if not Path(given).is_absolute() or not Path(given).exists() or not authority.exists():
        problems.append((f"root-certificates is {given!r}, which is no file", f"give the full path: {authority}"))
    elif not Path(given).samefile(authority):
        problems.append((f"root-certificates is {given}, another CA", f"give this app's: {authority}"))
    yield from (wrong(where, what, do) for what, do in problems)
    if not problems:
        yield ok(where, "it leads to the SuperLink on loopback, with this app's CA")


def check_proxy(folder: Path, settings: Mapping[str, str]) -> Iterator[Finding]:
    """The proxy's configuration leads to the SuperLink. Only `--public` can tell what it lets through."""
    where = "nginx.conf"
    if not (folder / where).is_file():
        yield warning(where, "it is not there", "see that your own proxy forwards /v1/fleet/ only: --public URL")
        return
    upstream = f"server 127.0.0.1:{settings.get('SUPERLINK_PORT', '')};"
    if upstream in (folder / where).read_text(encoding="utf-8", errors="replace"):
        yield ok(where, "it leads to the SuperLink on loopback")
    else:
        yield wrong(where, "its upstream is not the SuperLink of flower.env", f'say "{upstream}" in upstream')


def table_at(tables: ConfigTable, *names: str) -> ConfigTable:
    """The table below these names; an empty one where it is not there."""
    for name in names:
        inner = tables.get(name)
        tables = inner if isinstance(inner, Mapping) else {}
    return tables
