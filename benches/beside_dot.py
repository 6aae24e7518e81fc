"""Other programs on the question of `dot`: the product of binary vectors, one of each party, all parties on this machine.

beside_dot.py [ROWS [VECTORS]] prints a line for each: MPyC (pip install mpyc numpy gmpy2; a party for each vector, three for
two, over loopback; a majority of them is honest), and for two vectors SecretFlow's SPU (pip install spu; SEMI2K and CHEETAH,
two parties on threads of one process). SEMI2K takes its triples from a trusted party, which in this form is one of the two. Wall time is from the vectors to the product at a
party, CPU time of all parties together in that time; the median of RUNS runs after one that compiles and sets up. Beside it: `cargo run --release -p tacita-bench --bin dot_ot`.
"""

import functools
import importlib.util
import json
import operator
import os
import socket
import statistics
import subprocess
import sys
import time

RUNS = 5


def vectors(rows, count=2):
    import numpy

    rng = numpy.random.default_rng(1)
    return [rng.integers(0, 2, rows) for _ in range(count)]


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


def mpyc_party(rows, count):
    """One of MPyC's parties, whose arguments follow this program's own. Prints its times as JSON."""
    import numpy
    from mpyc.runtime import mpc

    async def run():
        own = vectors(rows, count)
        expected = int(numpy.prod(own, axis=0).sum())
        number = mpc.SecFld(min_order=rows + 1)
        runs = []
        await mpc.start()
        for _ in range(RUNS + 1):
            await mpc.barrier()
            wall, cpu = time.perf_counter(), time.process_time()
            shared = [mpc.input(number.array(vector), senders=party) for party, vector in enumerate(own)]
            product = functools.reduce(operator.mul, shared[:-1])
            value = int(await mpc.output(product @ shared[-1]))
            runs.append((time.perf_counter() - wall, time.process_time() - cpu))
            assert value == expected, f"{value} instead of {expected}"
        await mpc.shutdown()
        print(json.dumps(runs))

    mpc.run(run())


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def mpyc(rows, count):
    number = max(count, 3)
    ports = {free_port() for _ in range(3 * number)}
    addresses = [argument for port in sorted(ports)[:number] for argument in ("-P", f"127.0.0.1:{port}")]
    command = [sys.executable, __file__, "--mpyc-party", str(rows), str(count), "--no-log", *addresses]
    # Started from the last on: the others connect to it.
    parties = [
        subprocess.Popen([*command, "-I", str(index)], stdout=subprocess.PIPE, text=True)
        for index in reversed(range(number))
    ]
    results = [json.loads(party.communicate(timeout=1200)[0].splitlines()[-1]) for party in parties]
    import mpyc

    runs = [(max(wall for wall, _ in run), sum(cpu for _, cpu in run)) for run in zip(*results)]
    show(f"MPyC {mpyc.__version__}, {number} parties", runs[1:])


def main():
    if sys.argv[1:2] == ["--mpyc-party"]:
        rows, count = int(sys.argv[2]), int(sys.argv[3])
        del sys.argv[1:4]
        return mpyc_party(rows, count)
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10**6
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    programs = [("MPyC", ("mpyc", "numpy"), lambda rows: mpyc(rows, count))]
    if count == 2:
        programs.append(("spu", ("spu", "jax"), spu))
    for name, needed, run in programs:
        if all(importlib.util.find_spec(module) for module in needed):
            run(rows)
        else:
            print(f"{name:<24} not installed")


if __name__ == "__main__":
    main()
