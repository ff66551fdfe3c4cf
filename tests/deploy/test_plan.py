"""The plan of an app is checked: names, hosts, ports, and a folder in which nothing is lost."""

import re
from pathlib import Path

import pytest

from deploy.apps import planned
from fedclade.deploy.plan import site_names
from refusals import check_refused


@pytest.mark.parametrize(
    ("sites", "said"),
    [
        ((), "there are no clients"),
        (("a", "a"), 'client "a" is there twice'),
        (("a", ""), "not a usable name"),
        (("a", "b c"), "name is not usable"),
        (("a", "$(reboot)"), "name is not usable"),
        (("a", "b;c"), "name is not usable"),
        (("a", "-rf"), "name is not usable"),
        (("a", "../b"), "name is not usable"),
        (("a", "a.pub"), "name is not usable"),
        (("a", 'b"'), "name is not usable"),
        (("a", "né"), "name is not usable"),
        (("a", "b\n"), "not a usable name"),
        (("a", "b" * 65), "name is not usable"),
        (("site", "Site"), "differ in case only"),
        (tuple(f"s{number}" for number in range(1001)), "too many sites"),
    ],
)
def test_bad_names_of_sites(sites: tuple[str, ...], said: str, tmp_path: Path) -> None:
    check_refused(said, planned, tmp_path / "app", sites=sites)


@pytest.mark.parametrize(
    "host",
    [
        *("", "a b", "a..b", "-a.org", "a_b.org", "a.org;", "a.org:8443", "https://a.org"),
        *("1.2.3.999", "0.0.0.0", "::", "224.0.0.1", "fe80::1%eth0"),
        *("a" * 64 + ".org", ".".join(["abcdefgh"] * 30)),
    ],
)
def test_bad_hosts(host: str, tmp_path: Path) -> None:
    check_refused("a host is not usable, --host: got ", planned, tmp_path / "app", hosts=("good.org", host))


@pytest.mark.parametrize(
    ("hosts", "address", "listens"),
    [
        (("127.0.0.1",), "127.0.0.1:8443", ("127.0.0.1:8443",)),
        (("localhost",), "localhost:8443", ("127.0.0.1:8443",)),
        (("::1",), "[::1]:8443", ("127.0.0.1:8443", "[::1]:8443")),
        (("fleet.example.org", "10.0.0.7"), "fleet.example.org:8443", ("8443",)),
        (("2001:db8::7",), "[2001:db8::7]:8443", ("8443", "[::]:8443")),
    ],
)
def test_what_sites_dial(hosts: tuple[str, ...], address: str, listens: tuple[str, ...], tmp_path: Path) -> None:
    plan = planned(tmp_path / "app", hosts=hosts)
    assert (plan.address, plan.listen_addresses) == (address, listens)
    assert set(plan.server_names) == {*hosts, "localhost", "127.0.0.1"}


def test_good_names_and_bad_hosts_and_ports(tmp_path: Path) -> None:
    folder, sites = tmp_path / "app", ("site-1", "Hospital_3", "10.ward.example.org", "x" * 64)
    assert planned(folder, sites=sites).sites == sites
    check_refused("each one once", planned, folder, hosts=("a.org", "A.org"))
    check_refused("hosts are not usable", planned, folder, hosts=())
    check_refused("cannot share a port", planned, folder, port=8000)
    for port in (0, -1, 65536):
        said = f"a port is not usable, --port: got {port}, need 1 to 65535"
        check_refused(said, planned, folder, port=port)
        check_refused("a port is not usable, --superlink-port", planned, folder, superlink_port=port)


def test_folders_that_flower_does_not_take_or_that_are_taken(tmp_path: Path) -> None:
    for name in ("my_app", "1app", "a" * 33, "my app", "app;", "-app"):
        check_refused(f"the folder's name is not usable, .*{re.escape(repr(name))}", planned, tmp_path / name)
    folder = tmp_path / "app"
    folder.mkdir()
    planned(folder)  # empty: it may be used
    for name in ("a", "b", "c", "d"):
        (folder / name).write_text("mine")
    check_refused(r"the folder is taken, .*got a, b, c and 1 more, need a new or empty folder", planned, folder)
    (tmp_path / "file").write_text("mine")
    check_refused(r"the folder is taken.*got a file", planned, tmp_path / "file")


def test_names_of_sites_from_words() -> None:
    assert site_names("", None) == ("site-1", "site-2")
    assert site_names("", 3) == ("site-1", "site-2", "site-3")
    assert site_names("", 10)[8:] == ("site-09", "site-10")  # in the same order as text and as numbers
    assert site_names("a, b", None) == ("a", "b")
    for clients, count, said in (("a", 2, "named twice"), ("", 0, "1 to 1000"), ("", 1001, "1 to 1000")):
        check_refused(said, site_names, clients, count)
