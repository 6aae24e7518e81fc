"""Puts the command into a wheel, as a script that is installed beside Python's. Usage: add_command.py WHEEL PROGRAM"""

import base64
import hashlib
import pathlib
import sys
import zipfile


def add(wheel: pathlib.Path, program: pathlib.Path) -> None:
    """Writes the wheel anew, with the program and its line in the record."""
    name = "-".join(wheel.name.split("-")[:2])
    record, place = f"{name}.dist-info/RECORD", f"{name}.data/scripts/{program.name}"
    data = program.read_bytes()
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    new_wheel = wheel.with_suffix(".new")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(new_wheel, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if entry.filename not in (record, place):
                new.writestr(entry, old.read(entry))
        script = zipfile.ZipInfo(place, old.getinfo(record).date_time)
        script.external_attr, script.compress_type = 0o100755 << 16, zipfile.ZIP_DEFLATED
        new.writestr(script, data)
        lines = [line for line in old.read(record).decode().splitlines() if not line.startswith(f"{place},")]
        new.writestr(old.getinfo(record), "\n".join([*lines, f"{place},sha256={digest},{len(data)}", ""]))
    new_wheel.replace(wheel)


if __name__ == "__main__":
    add(*map(pathlib.Path, sys.argv[1:]))
