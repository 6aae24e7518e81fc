"""SecretFlow's `spu` (pip install spu) on two CSV files with a column `id`, between two processes over loopback.

beside_spu.py [rr22 | ecdh] A.csv B.csv prints `cpu SECONDS wall SECONDS common N`: CPU of both parties, imports included, and
the time from the start of both processes to their end. RR22 unless `ecdh` is asked for, which is on curve25519. For
`files --beside "python benches/beside_spu.py"` and `files --job ecdh --beside "python benches/beside_spu.py ecdh"`.
"""

import multiprocessing
import resource
import socket
import sys
import tempfile
import time


def party(protocol, rank, ports, path, results):
    import spu.libspu.link as link
    from spu import psi

    description = link.Desc()
    for name, port in zip("ab", ports):
        description.add_party(name, f"127.0.0.1:{port}")
    context = link.create_brpc(description, rank)
    with tempfile.TemporaryDirectory() as directory:
        csv = psi.SourceType.SOURCE_TYPE_FILE_CSV
        curve = psi.EcdhParams(curve=psi.EllipticCurveType.CURVE_25519)
        report = psi.psi_execute(
            psi.PsiExecuteConfig(
                protocol_conf=psi.PsiProtocolConfig(
                    protocol=getattr(psi.PsiProtocol, f"PROTOCOL_{protocol.upper()}"),
                    receiver_rank=0,
                    broadcast_result=False,
                    ecdh_params=curve,
                ),
                input_params=psi.InputParams(type=csv, path=path, selected_keys=["id"]),
                output_params=psi.OutputParams(type=csv, path=f"{directory}/out.csv"),
            ),
            context,
        )
    used = resource.getrusage(resource.RUSAGE_SELF)
    results.put((rank, used.ru_utime + used.ru_stime, report.intersection_count))
    context.stop_link()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def main():
    protocol = sys.argv[1] if len(sys.argv) > 3 else "rr22"
    paths, ports, results = sys.argv[-2:], [free_port(), free_port()], multiprocessing.Queue()
    started = time.time()
    parties = [multiprocessing.Process(target=party, args=(protocol, rank, ports, paths[rank], results)) for rank in (0, 1)]
    for process in parties:
        process.start()
    used = sorted(results.get(timeout=600) for _ in parties)
    for process in parties:
        process.join()
    cpu = sum(seconds for _, seconds, _ in used)
    print(f"cpu {cpu:.3f} wall {time.time() - started:.3f} common {used[0][2]}")


if __name__ == "__main__":
    main()
