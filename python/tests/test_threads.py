"""Threads that use one result, or one run, at once: none waits for ever. Each case is a process of its own, since what is hung has the interpreter, too."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

SECONDS = 60
"""Long after a process that is not hung has ended."""


def ends(code: str) -> str:
    """What a process prints that does this and ends; one that does not end is killed, and the test has failed."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_who_hears_a_warning_of_a_result_may_ask_for_it() -> None:
    """Writing formulas warns, and the handler waits for another thread that asks for the same result, and asks itself."""
    printed = ends(
        """
        import logging, threading, pandas, tacita

        job = tacita.Job(job="intersect", id="x", reveal="payload", reveal_to=["a"], gives={"b": ["o"]}, key={"columns": ["id"]}, parties=["a", "b"])
        tables = {"a": pandas.DataFrame({"id": [1]}), "b": pandas.DataFrame({"id": [1], "o": ["=x"]})}
        result = tacita.simulate(job, tables)["a"]

        def ask():
            print(result.table_names, result.table.num_rows)

        class Handler(logging.Handler):
            def emit(self, record):
                if "formula" in record.getMessage():
                    other = threading.Thread(target=ask)
                    other.start()
                    other.join()
                    ask()
                    result.save("again.parquet")

        logging.getLogger("tacita").addHandler(Handler())
        result.save("x.csv")
        """
    )
    assert printed == 2 * "['result'] 1\n"


@pytest.mark.parametrize("asks", ["work.has_run", "work.repeat()", "work.count(1)", "work.opened", "work.close()"])
def test_who_asks_for_a_run_that_is_being_agreed_on_does_not_hold_the_interpreter(asks: str) -> None:
    """While one thread waits for the other party, another asks for the same run, and a third goes on."""
    printed = ends(
        """
        import os, pathlib, socket, sys, threading, tacita
        from tacita import _tacita
        from tacita._job import _spec_of

        ids = {name: tacita.Identity.create(pathlib.Path("id") / name, name) for name in ("a", "b")}
        with socket.create_server(("127.0.0.1", 0)) as other:
            parties = {name: {"identity": ids[name].fingerprint} for name in ids}
            parties["a"]["address"] = "127.0.0.1:%d" % other.getsockname()[1]
            job = tacita.Job(job="intersect", id="x", reveal_to=["a"], key={"columns": ["id"]}, parties=parties)
            spec, identity = _spec_of(job), _tacita.Identity.load(pathlib.Path("id/b"))
            work = _tacita.Work.open(pathlib.Path("work"), spec, "b", identity, False)
            account = _tacita.RunAccount.open(spec, "b", identity)
            counts = '{"read": 1, "nulls": 0, "unreadable": 0, "duplicates": 0, "items": 1}'

            def meet():
                try:
                    _tacita.Drivers.meet(
                        spec, "b", identity, work, account, rows=counts, commitment=_tacita.Commitment(), buckets=1, finished=[],
                        listen=None, timeout=3600.0, patience=3600.0,
                    )
                finally:
                    # Nothing calls any more.
                    os._exit(1)

            threading.Thread(target=meet, daemon=True).start()
            # It calls only after it has the run.
            called = other.accept()
            asks = threading.Event()

            def go_on():
                asks.wait()
                print("goes on", flush=True)
                os._exit(0)

            threading.Thread(target=go_on, daemon=True).start()
            # From here on nobody gets the interpreter unless it is released.
            sys.setswitchinterval(3600)
            asks.set()
            ASKS
            threading.Event().wait()
        """.replace("ASKS", asks)
    )
    assert printed == "goes on\n"
