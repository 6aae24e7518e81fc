"""Other programs on the question of `dot`: the product of two binary vectors, one of each party, all parties on this machine.

beside_dot.py [ROWS] prints a line for each: MPyC (pip install mpyc numpy; three parties, of which two have a vector, over
loopback), and SecretFlow's SPU (pip install spu; SEMI2K and CHEETAH, two parties on threads of one process). SEMI2K takes
its triples from a trusted party, which in this form is one of the two. Wall time is from the vectors to the product at a
party, CPU time of all parties together in that time; the median of RUNS runs after one that compiles and sets up. Beside it: `cargo run --release -p tacita-bench --bin dot_ot`.
"""

import importlib.util
import json
import os
import socket
import statistics
import subprocess
import sys
import time

RUNS = 5


def vectors(rows):
    import numpy

    rng = numpy.random.default_rng(1)
    return [rng.integers(0, 2, rows) for _ in range(2)]


def show(name, runs):
    wall, cpu = (statistics.median(values) for values in zip(*runs))
    print(f"{name:<24} wall {wall * 1e3:9.1f} ms   cpu {cpu * 1e3:9.1f} ms", flush=True)


def timed(work, expected):
    wall, cpu = time.perf_counter(), time.process_time()
    value = work()
    assert int(value) == expected, f"{value} instead of {expected}"
    return time.perf_counter() - wall, time.process_time() - cpu


def spu(rows):
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax.numpy as jnp
    import spu
    import spu.utils.simulation as simulation

    x, y = vectors(rows)
    expected = int((x * y).sum())
    x, y = x.astype("int32"), y.astype("int32")
    for name in ("SEMI2K", "CHEETAH"):
        parties = simulation.Simulator.simple(2, getattr(spu.ProtocolKind, name), spu.FieldType.FM64)
        product = simulation.sim_jax(parties, lambda a, b: jnp.dot(a, b))
        runs = [timed(lambda: product(x, y), expected) for _ in range(RUNS + 1)]
        show(f"spu {spu.__version__} {name}", runs[1:])


def mpyc_party(rows):
    """One of MPyC's parties, whose arguments follow this program's own. Prints its times as JSON."""
    from mpyc.runtime import mpc

    async def run():
        x, y = vectors(rows)
        expected = int((x * y).sum())
        number = mpc.SecFld(min_order=rows + 1)
        runs = []
        await mpc.start()
        for _ in range(RUNS + 1):
            await mpc.barrier()
            wall, cpu = time.perf_counter(), time.process_time()
            first = mpc.input(number.array(x), senders=0)
            second = mpc.input(number.array(y), senders=1)
            value = int(await mpc.output(first @ second))
            runs.append((time.perf_counter() - wall, time.process_time() - cpu))
            assert value == expected, f"{value} instead of {expected}"
        await mpc.shutdown()
        print(json.dumps(runs))

    mpc.run(run())


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def mpyc(rows):
    ports = {free_port() for _ in range(9)}
    addresses = [argument for port in sorted(ports)[:3] for argument in ("-P", f"127.0.0.1:{port}")]
    command = [sys.executable, __file__, "--mpyc-party", str(rows), "--no-log", *addresses]
    # Started from the last on: the others connect to it.
    parties = [
        subprocess.Popen([*command, "-I", str(index)], stdout=subprocess.PIPE, text=True) for index in (2, 1, 0)
    ]
    results = [json.loads(party.communicate(timeout=1200)[0].splitlines()[-1]) for party in parties]
    import mpyc

    runs = [(max(wall for wall, _ in run), sum(cpu for _, cpu in run)) for run in zip(*results)]
    show(f"MPyC {mpyc.__version__}, 3 parties", runs[1:])


def main():
    if sys.argv[1:2] == ["--mpyc-party"]:
        rows = int(sys.argv.pop(2))
        sys.argv.pop(1)
        return mpyc_party(rows)
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10**6
    for name, needed, run in [("MPyC", ("mpyc", "numpy"), mpyc), ("spu", ("spu", "jax"), spu)]:
        if all(importlib.util.find_spec(module) for module in needed):
            run(rows)
        else:
            print(f"{name:<24} not installed")


if __name__ == "__main__":
    main()
