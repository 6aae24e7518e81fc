"""SecretFlow's `spu` (pip install spu) on two CSV files with a column `id`: RR22 between two processes over loopback.

beside_spu.py A.csv B.csv prints `cpu SECONDS wall SECONDS common N`: CPU of both parties, imports included, and the time from
the start of both processes to their end. For `files --beside "python benches/beside_spu.py"`.
"""

import multiprocessing
import resource
import socket
import sys
import tempfile
import time


def party(rank, ports, path, results):
    import spu.libspu.link as link
    from spu import psi

    description = link.Desc()
    for name, port in zip("ab", ports):
        description.add_party(name, f"127.0.0.1:{port}")
    context = link.create_brpc(description, rank)
    with tempfile.TemporaryDirectory() as directory:
        csv = psi.SourceType.SOURCE_TYPE_FILE_CSV
        report = psi.psi_execute(
            psi.PsiExecuteConfig(
                protocol_conf=psi.PsiProtocolConfig(
                    protocol=psi.PsiProtocol.PROTOCOL_RR22, receiver_rank=0, broadcast_result=False
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
    paths, ports, results = sys.argv[1:3], [free_port(), free_port()], multiprocessing.Queue()
    started = time.time()
    parties = [multiprocessing.Process(target=party, args=(rank, ports, paths[rank], results)) for rank in (0, 1)]
    for process in parties:
        process.start()
    used = sorted(results.get(timeout=600) for _ in parties)
    for process in parties:
        process.join()
    cpu = sum(seconds for _, seconds, _ in used)
    print(f"cpu {cpu:.3f} wall {time.time() - started:.3f} common {used[0][2]}")


if __name__ == "__main__":
    main()
