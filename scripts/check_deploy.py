#!/usr/bin/env python3
"""Checks deploy/ against the program: its commands and options exist, and units, containers, job file and Prometheus agree on ports.

The program is $TACITA, or target/release/tacita. What a machine has not is left out, and said: the program, systemd-analyze, promtool, PyYAML."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
ROLES = ("proxy", "oracle", "database")


def program():
    """The program to ask, if there is one."""
    given = os.environ.get("TACITA")
    found = pathlib.Path(given) if given else ROOT / "target" / "release" / "tacita"
    return found if found.exists() else None


def left_out(what):
    print(f"left out: {what}", file=sys.stderr)


def unit_commands():
    """What the units start: name, and arguments."""
    for unit in sorted((DEPLOY / "systemd").glob("*.service")):
        for line in re.findall(r"^ExecStart=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE):
            yield unit.name, shlex.split(line)[1:]


def container_commands():
    """What the containers start that run the program."""
    text = (DEPLOY / "compose" / "compose.yaml").read_text(encoding="utf-8")
    for command in re.findall(r"^    command: \[(.*)\]$", text, re.MULTILINE):
        arguments = re.findall(r'"([^"]*)"', command)
        if arguments[0] != "postgres":
            yield f"compose.yaml, {arguments[0]}", arguments


def readme_commands():
    """What the README tells to type."""
    text = (DEPLOY / "README.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            for place, word in enumerate(words):
                if word in ("tacita", "/usr/bin/tacita") and words[place + 1 : place + 2]:
                    if words[place + 1] in ("proxy", "oracle", "database", "round", "key", "identity", "doctor"):
                        yield f"README.md, {' '.join(words[place + 1 : place + 3])}", words[place + 1 :]
                        break


def check_options():
    """One result for each command."""
    asked = program()
    if asked is None:
        left_out("options of commands: there is no program; `cargo build --release`, or set TACITA")
        return
    for where, arguments in [*unit_commands(), *container_commands(), *readme_commands()]:
        words = arguments[: 2 if arguments[0] in ("round", "key", "identity") else 1]
        told = subprocess.run([asked, *words, "--help"], capture_output=True, text=True)
        if told.returncode != 0:
            yield f"deploy: {where}: there is no command {' '.join(words)}"
            continue
        known = set(re.findall(r"--[a-z][a-z-]*", told.stdout))
        for option in (word for word in arguments if re.fullmatch(r"--[a-z].*", word)):
            known_one = option.split("=")[0] in known
            yield None if known_one else f"deploy: {where}: `{' '.join(words)}` has no option {option}"


def port(text):
    return int(text.rsplit(":", 1)[1])


def value(arguments, option):
    return arguments[arguments.index(option) + 1]


def check_ports():
    """One result for each place where a port stands."""
    job = (DEPLOY / "compose" / "job.toml").read_text(encoding="utf-8")
    listens = {role: port(re.search(rf'\[\[{role}\]\]\naddress *= *"(.*)"', job).group(1)) for role in ROLES}
    scraped = (DEPLOY / "prometheus" / "prometheus.yml").read_text(encoding="utf-8")
    targets = dict((role, int(at)) for at, role in re.findall(r'127\.0\.0\.1:(\d+)"\]\n\s+labels: {role: (\w+)}', scraped))
    exposed = {int(each) for each in re.search(r"^EXPOSE (.*)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE).group(1).split()}
    compose = (DEPLOY / "compose" / "compose.yaml").read_text(encoding="utf-8")
    published = {int(inside) for inside in re.findall(r'"\d+:(\d+)"', compose)}
    checked = re.findall(r"/dev/tcp/127\.0\.0\.1/(\d+)", compose)
    yield None if exposed == set(listens.values()) else f"deploy/Dockerfile: exposes {exposed}, and roles listen at {listens}"
    yield None if published == exposed else f"deploy/compose: publishes {published}, and roles listen at {listens}"
    yield None if sorted(map(int, checked)) == sorted(targets.values()) else f"deploy/compose: health is asked for at {checked}, not {targets}"
    for where, arguments in [*unit_commands(), *container_commands()]:
        role = arguments[0]
        if role not in ROLES:
            continue
        for option, expected in (("--listen", listens[role]), ("--status", targets.get(role))):
            found = port(value(arguments, option))
            yield None if found == expected else f"deploy: {where}: {option} is {found}, and elsewhere {expected}"


def check_units():
    """What systemd says of the units."""
    if not shutil.which("systemd-analyze"):
        left_out("systemd-analyze is not there")
        return
    with tempfile.TemporaryDirectory() as directory:
        copies = []
        for unit in sorted((DEPLOY / "systemd").glob("*.service")):
            copy = pathlib.Path(directory) / unit.name
            # It looks whether the program is there.
            copy.write_text(unit.read_text(encoding="utf-8").replace("/usr/bin/tacita ", "/bin/true "), encoding="utf-8")
            copies.append(copy)
        said = subprocess.run(["systemd-analyze", "verify", "--man=no", *copies], capture_output=True, text=True)
        said_of_ours = [line for line in said.stderr.splitlines() if "tacita" in line]
        yield None if said.returncode == 0 and not said_of_ours else f"deploy/systemd: {said.stderr.strip()}"


def check_yaml():
    if yaml is None:
        left_out("YAML is not read: there is no PyYAML")
    for path in sorted([*DEPLOY.rglob("*.yml"), *DEPLOY.rglob("*.yaml")]) if yaml else []:
        try:
            yaml.safe_load(path.read_text(encoding="utf-8"))
            yield None
        except yaml.YAMLError as error:
            yield f"{path.relative_to(ROOT)}: {error}"
    if not shutil.which("promtool"):
        left_out("promtool is not there")
        return
    for kind, name in (("rules", "alerts.yml"), ("config", "prometheus.yml")):
        said = subprocess.run(["promtool", "check", kind, DEPLOY / "prometheus" / name], capture_output=True, text=True)
        yield None if said.returncode == 0 else f"deploy/prometheus/{name}: {said.stdout}{said.stderr}"


def check():
    """One result for each thing that is checked: what is wrong, or nothing."""
    return [*check_options(), *check_ports(), *check_units(), *check_yaml()]


if __name__ == "__main__":
    found = check()
    failures = [result for result in found if result]
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(found) - len(failures)} passed, {len(failures)} failed")
    sys.exit(1 if failures else 0)
