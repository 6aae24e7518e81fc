"""TenSEAL's BFV (pip install tenseal==0.3.18) on the scalar product of two vectors of zeros and ones, one of them encrypted.

beside_tenseal.py [LENGTH] (default 2^20) prints the seconds of wall and CPU time for encrypting and for multiplying and adding
up, and the bytes of the encrypted vector. One party does all; nothing is flooded, so that whoever decrypts could learn the
other vector: that is what `lattice` does more. For reading beside the program `dot_lattice` of this directory.
"""

import random
import sys
import time

import tenseal as ts

SLOTS = 8192

# A prime that is 1 modulo 2 * SLOTS, and above the products of random vectors of 2^20.
PLAIN_MODULUS = 1032193


def measure(work):
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def main():
    length = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 20
    generator = random.Random(1)
    first = [generator.getrandbits(1) for _ in range(length)]
    second = [generator.getrandbits(1) for _ in range(length)]
    context = ts.context(ts.SCHEME_TYPE.BFV, poly_modulus_degree=SLOTS, plain_modulus=PLAIN_MODULUS, n_threads=1)
    starts = range(0, length, SLOTS)

    def encrypt():
        return [ts.bfv_vector(context, first[start : start + SLOTS]) for start in starts]

    def multiply():
        # A last part that is shorter is added up on its own.
        sums = {}
        for vector, start in zip(encrypted, starts):
            part = second[start : start + SLOTS]
            # SEAL refuses to multiply with zero.
            if any(part):
                product = vector * part
                sums[len(part)] = sums[len(part)] + product if len(part) in sums else product
        return sums.values()

    encrypted, *encrypting = measure(encrypt)
    products, *multiplying = measure(multiply)
    value = sum(sum(slot % PLAIN_MODULUS for slot in product.decrypt()) for product in products)
    assert value == sum(a & b for a, b in zip(first, second)), "the product is wrong"
    size = sum(len(vector.serialize()) for vector in encrypted)
    for name, (wall, cpu) in [("encrypt", encrypting), ("multiply and add", multiplying)]:
        print(f"{name}: wall {wall:.3f} cpu {cpu:.3f}")
    print(f"bytes {size}, {size / length:.1f} a row")


if __name__ == "__main__":
    main()
