"""What is wrong with a user's arguments is said before anything is read, started or made."""

from __future__ import annotations

import ipaddress
import os
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

from .._types import Path
from ..errors import _input

__all__ = ["Hosts", "Place", "check_numbers", "check_pool", "made_parents", "refuse_url", "text_of"]

MAX_BUCKETS = 65_536


class Place(NamedTuple):
    """Where machines listen."""

    host: str
    """What the others are told; IPv6 addresses in brackets."""
    ports: Optional[range]
    """One of these; any that is free, where nothing is said."""

    @classmethod
    def parse(cls, at: str) -> Place:
        """From a host and perhaps ports: ``10.0.0.1:7500-7599``."""
        if not isinstance(at, str) or not at.strip("0123456789-"):
            raise _input(f"workers_at = {at!r}: give a host, and perhaps ports: '10.0.0.1', or '10.0.0.1:7500-7599'")
        host, ports = at, ""
        if at.startswith("["):
            inside, _, rest = at.partition("]")
            host, ports = f"{inside}]", rest[1:] if rest.startswith(":") else rest
        elif at.count(":") == 1:
            host, _, ports = at.partition(":")
        elif ":" in at:
            host = f"[{at}]"
        first, _, last = ports.partition("-")
        if not _is_host(host.strip("[]")) or not all(one.isascii() and one.isdigit() for one in (first, last) if one) or ports and not first:
            raise _input(f"workers_at = {at!r}: give a host, and perhaps ports: '10.0.0.1', or '10.0.0.1:7500-7599'")
        if not ports:
            return cls(host, None)
        some = range(int(first), int(last or first) + 1)
        if not some or some[0] < 1 or some[-1] > 65_535:
            raise _input(f"workers_at = {at!r}: ports go from 1 to 65535, the lower one first")
        return cls(host, some)

    @property
    def bound(self) -> str:
        """Where they bind: on loopback alone, or on all of the machine's addresses."""
        if self.host in ("localhost", "127.0.0.1", "[::1]"):
            return self.host
        return "[::]" if self.host.startswith("[") else "0.0.0.0"


class Hosts:
    """At which hosts machines of the others are dialed: their drivers say where, and not every place of this network is theirs to name."""

    def __init__(self, named: Mapping[str, Union[str, Sequence[str]]], usual: Mapping[str, Optional[str]]) -> None:
        if not isinstance(named, Mapping):
            raise _input(f"hosts = {named!r}: give hosts or networks by party: {{'{next(iter(usual), 'party')}': ['10.0.0.0/16']}}")
        self._named = {name: {hosts} if isinstance(hosts, str) else set(hosts) for name, hosts in named.items()}
        for name, address in usual.items():
            if name not in self._named and address:
                self._named[name] = {address.rpartition(":")[0].strip("[]")}
        self._networks: dict[str, list[Any]] = {}
        for name, hosts in self._named.items():
            if name not in usual:
                raise _input(f"hosts: no other party is called {name!r}: the job has {', '.join(usual)}")
            for host in hosts:
                if not isinstance(host, str) or _network(host) is None and not _is_host(host):
                    raise _input(f"hosts: {name} at {host!r}: give names, addresses or networks, as '10.0.0.0/16'")
            self._networks[name] = [network for host in hosts if (network := _network(host)) is not None]

    def check(self, name: str, address: str) -> None:
        """Refuses an address that is not among them."""
        host = address.rpartition(":")[0].strip("[]")
        literal = _network(host)
        known = host in self._named.get(name, ())
        if literal is not None:
            known = known or any(
                literal.version == network.version and literal.subnet_of(network) for network in self._networks.get(name, ())
            )
        if not known:
            raise _input(
                f"{name} says that a machine of it is at {address}, and this party dials {name} at "
                f"{', '.join(sorted(self._named.get(name, ()))) or 'no host'}: if it is right, say hosts={{{name!r}: [...]}}, with names, addresses or networks"
            )


def _is_host(text: str) -> bool:
    """Whether it may be a name or an address, and not a network."""
    return re.fullmatch(r"[A-Za-z0-9._:-]{1,255}", text) is not None


def _network(host: str) -> Any:
    try:
        return ipaddress.ip_network(host, strict=False)
    except ValueError:
        return None


def check_pool(on: object) -> None:
    """Refuses what no tasks run on."""
    if isinstance(on, type) or not all(hasattr(on, what) for what in ("start", "done", "slots", "close")):
        raise _input(f"on = {on!r}: give tacita.ray.Cluster(...), or tacita.ray.Processes(8)")


def check_numbers(buckets: Optional[int], retries: int, repeats: Optional[int] = None, **seconds: float) -> None:
    """Refuses numbers that none of these can be."""
    if buckets is not None and (not _is_whole(buckets) or not 1 <= buckets <= MAX_BUCKETS):
        raise _input(f"buckets = {buckets!r}: give a whole number from 1 to {MAX_BUCKETS:,}")
    if not _is_whole(retries) or retries < 0:
        raise _input(f"retries = {retries!r}: give a whole number, 0 or more")
    if repeats is not None and (not _is_whole(repeats) or repeats < 0):
        raise _input(f"repeats = {repeats!r}: give a whole number, 0 or more")
    for name, value in seconds.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e9:
            raise _input(f"{name} = {value!r}: give seconds, as 60 or 0.5")


def _is_whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def made_parents(path: pathlib.Path) -> list[pathlib.Path]:
    """Makes the directories in which a path will be; returns those that were not there, the innermost first."""
    missing = [parent for parent in path.parents if not parent.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise PermissionError(13, "Permission denied")
    except OSError as error:
        raise _input(f"output: nothing can be written in {path.parent}: {(error.strerror or str(error)).lower()}") from None
    return missing


def text_of(what: str, path: Path) -> pathlib.Path:
    """A path that was given."""
    if not isinstance(path, (str, os.PathLike)):
        raise _input(f"{what} = {path!r}: give the path of a directory")
    refuse_url(what, path, "give a directory that every machine of this party sees")
    return pathlib.Path(path)


def refuse_url(what: str, path: object, advice: str) -> None:
    """Refuses what would be taken for a path beside the script."""
    if isinstance(path, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", path):
        raise _input(f"{what} = {path!r}: it is a URL, and no path: {advice}")
