"""The digest that each picture holds of the sources that it is drawn from."""

import hashlib
import pathlib

HERE = pathlib.Path(__file__).parent


def digest(name):
    """Returns the SHA-256 of the data, of the program that draws them, and of the common look, as a picture's metadata have it."""
    sources = [*sorted(HERE.glob(f"{name}.json*")), HERE / f"{name}.py", HERE / "style.py"]
    return "sha256:" + hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
