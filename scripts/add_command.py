"""Puts files into a wheel: the command, as a script that is installed beside Python's, and what is installed below the prefix of an environment.

Usage: add_command.py WHEEL PROGRAM PREFIX      (PREFIX: a folder, with share/man and so on in it)
"""

import base64
import hashlib
import pathlib
import sys
import zipfile


def add(wheel: pathlib.Path, program: pathlib.Path, prefix: pathlib.Path) -> None:
    """Writes the wheel anew, with the files and their lines in the record."""
    name = "-".join(wheel.name.split("-")[:2])
    record = f"{name}.dist-info/RECORD"
    added = {f"{name}.data/scripts/{program.name}": (program, 0o100755)}
    for path in sorted(path for path in prefix.rglob("*") if path.is_file()):
        added[f"{name}.data/data/{path.relative_to(prefix)}"] = (path, 0o100644)
    new_wheel = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(new_wheel, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if entry.filename != record and entry.filename not in added:
                new.writestr(entry, old.read(entry))
        lines = [line for line in old.read(record).decode().splitlines() if line.split(",")[0] not in added]
        for place, (path, mode) in added.items():
            data = path.read_bytes()
            file = zipfile.ZipInfo(place, old.getinfo(record).date_time)
            file.external_attr, file.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            new.writestr(file, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{place},sha256={digest},{len(data)}")
        new.writestr(old.getinfo(record), "\n".join([*lines, ""]))
    new_wheel.replace(wheel)


if __name__ == "__main__":
    add(*map(pathlib.Path, sys.argv[1:]))
