"""SecretFlow's `heu` (pip install sf-heu) at encryption by Paillier: operations a second of CPU time, on one thread.

beside_heu.py [BITS] [COMMAND ...] prints a line for ZPaillier's encryption and decryption, one number after the other, and
runs COMMAND in turn with it, RUNS times, as in `beside_heu.py 2048 target/release/paillier 2048`: each line's median, beside
this program's of the same runs.
"""

import re
import resource
import statistics
import subprocess
import sys

RUNS = 5
NUMBERS = 400


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def rate(work):
    started = cpu()
    work()
    return NUMBERS / (cpu() - started)


def other(bits):
    from heu import phe

    kit = phe.setup(phe.SchemaType.ZPaillier, bits)
    encryptor, decryptor = kit.encryptor(), kit.decryptor()
    numbers = [phe.Plaintext(phe.SchemaType.ZPaillier, number) for number in range(NUMBERS)]

    def rates():
        ciphertexts = []
        encrypting = rate(lambda: ciphertexts.extend(encryptor.encrypt(number) for number in numbers))
        decrypting = rate(lambda: [decryptor.decrypt(ciphertext) for ciphertext in ciphertexts])
        assert int(decryptor.decrypt(ciphertexts[-1])) == NUMBERS - 1
        return {"heu encrypt": encrypting, "heu decrypt": decrypting}

    rates()
    return rates


def own(command):
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^(.*) at \d+ bits: (\d+) a second of CPU time$", said, re.MULTILINE)
    return {name: float(number) for name, number in found}


def main():
    bits = int(sys.argv[1]) if len(sys.argv) > 1 else 2048
    rates, command = other(bits), sys.argv[2:]
    runs = [rates() | (own(command) if command else {}) for _ in range(RUNS)]
    for name in runs[0]:
        values = [run[name] for run in runs]
        print(f"{name:<20} {statistics.median(values):12,.0f} a second ({min(values):,.0f} to {max(values):,.0f})")


if __name__ == "__main__":
    main()
