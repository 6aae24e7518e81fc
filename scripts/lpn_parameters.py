#!/usr/bin/env python3
"""Parameters of the silent protocols and the costs of attacks on them, computed a second time.

From the formulas on docs/protocols/engine-vole.md and in the papers named there, in integers and fractions; logarithms are
taken at the end. Nothing here is shared with the estimator in crates/core/src/primitive/vole/estimator, whose tests compare
both. Prints a line for each size:

    KIND OUTPUTS  trees leaves depth length  linear pooled permutation enumeration algebraic  least-row most-row

with KIND `field` or `binary`, costs as log2, `-` where there is none. The last two are log2 of how many rows of a code over
GF(2) are lighter than its distance, as expected: `most-row` is the bound by a generating function, which is what the union
bound of the page says of supports of one; `least-row` is a lower bound, counted in another way.

Usage: scripts/lpn_parameters.py [KIND OUTPUTS]...
"""

import sys
from fractions import Fraction
from math import ceil, comb, exp, log, log2

SECURITY = 128
# Thousandths of the relative distance for up to 2^i outputs, and the regions of the code: docs/protocols/engine-vole.md.
DISTANCES = {
    "field": [(16, 210), (17, 200), (18, 180), (19, 165), (20, 150), (21, 135), (22, 120), (23, 110), (24, 100), (25, 90)],
    "binary": [(20, 95), (22, 85), (24, 80), (25, 75)],
}
REGIONS = {"field": 8, "binary": 10}
MEMORY = 15  # of the convolution over GF(2)
SIZES = [(kind, 1 << bits) for kind, sizes in (("field", (12, 16, 20, 24, 25)), ("binary", (12, 20, 24))) for bits in sizes]


def lb(number):
    """log2 of a positive integer or fraction of any size."""

    def of_integer(integer):
        spare = max(integer.bit_length() - 60, 0)
        return log2(integer >> spare) + spare

    number = Fraction(number)
    return of_integer(number.numerator) - of_integer(number.denominator)


def shape(kind, outputs):
    """Trees, leaves of each, levels, and positions of a region.

    The least t for which a linear test, which sees each of t noisy places with probability d (over GF(2): whose bias each shrinks
    by 1 - 2d), is left with 2^-128.
    """
    distance = next(thousandths for bits, thousandths in DISTANCES[kind] if outputs <= 1 << bits)
    kept = Fraction(1000 - distance * (1 if kind == "field" else 2), 1000)
    low, high = 1, 1 << 20
    while low < high:  # the least t with kept^t <= 2^-128
        middle = (low + high) // 2
        if kept.numerator**middle << SECURITY <= kept.denominator**middle:
            high = middle
        else:
            low = middle + 1
    trees = low
    leaves = -(-2 * outputs // trees)
    length = -(-trees * leaves // REGIONS[kind])
    return trees, leaves, (leaves - 1).bit_length(), length, trees * -lb(kept), Fraction(distance, 1000)


def pooled(samples, unknowns, noise):
    """Gauss on as many places as there are unknowns, all of them free of noise: C(N - k, t) of C(N, t) noises leave them so."""
    chance = Fraction(comb(samples - unknowns, noise), comb(samples, noise))
    return 2.8 * lb(min(unknowns, samples - unknowns)) - lb(chance)


def permutation(samples, unknowns, noise, binary):
    """The same share of each block is free of its one noisy place. Over GF(2) each block's parity is an equation more."""
    unknown = unknowns - (noise if binary else 0)
    free = 1 - Fraction(unknown, samples)
    return 2 * lb(samples - unknown) + lb(samples) - noise * lb(free)


def enumeration(samples, unknowns, noise):
    """p noisy places, in p different blocks, are among the unknowns and w places more; halves of them meet in w bits."""
    block, unknown = samples // noise, unknowns - noise
    half, least = round(Fraction(noise, 2)), None
    for p in range(0, 30, 2):
        base = lb(comb(half, p // 2))
        first = max(base + p // 2 * lb(Fraction(unknown, noise)), 0.0)
        for window in range(-int(-first // 2), min(round(1.5 * first), samples - unknown)):
            share = Fraction(unknown + window, noise)
            if share >= block:
                break
            pairs = comb(noise // 2, p // 2) * comb(noise - noise // 2, p // 2)
            chance = lb(pairs) + p * lb(share / block) + (noise - p) * lb(1 - share / block)
            size = base + p // 2 * lb(share)
            cost = lb(samples) + max(2 * lb(samples - unknown), 1 + size, 2 * size - window) - chance
            least = cost if least is None else min(least, cost)
    return least


def series(factors, degrees=4):
    """The first coefficients of the product of (1 + c z)^e, for whole e of either sign."""
    product = [1] + [0] * degrees
    for c, e in factors:
        one, term = [], Fraction(1)
        for degree in range(degrees + 1):
            one.append(term * c**degree)
            term = term * (e - degree) / (degree + 1)
        product = [sum(product[i] * one[n - i] for i in range(n + 1)) for n in range(degrees + 1)]
    return [int(coefficient) for coefficient in product]


def algebraic(samples, unknowns, noise, binary):
    """In f blocks m places each are guessed to be free of noise; regularity's equations are linearised at the first degree at
    which the Hilbert series is not positive. Degrees above four are not looked at."""
    block = samples // noise

    def cost(f, m):
        if f * m > unknowns:
            return None
        monomials = [(block - m - 1, f), (block - 1, noise - f)]
        if binary:
            hilbert, columns = series([*monomials, (1, -(samples - unknowns - 1))]), series(monomials)
        else:
            hilbert = series([*monomials, (-1, samples - unknowns - noise)])
            columns = series([*monomials, (-1, -(noise - 1))])
        degree = next((degree for degree in range(2, 5) if hilbert[degree] <= 0), None)
        if degree is None:
            return None
        free = 1 - Fraction(m, block)
        return 2 * lb(sum(columns[1 : degree + 1])) + lb(3 * (unknowns + 1 - f * m)) - f * lb(free)

    def best(fs, ms):
        costs = [(found, f, m) for f in fs for m in ms if (found := cost(f, m)) is not None]
        return min(costs, default=None)

    # The least lies where another degree comes in, along a curve in f and m: of the columns of two grids the least are refined.
    starts = []
    for parts in (24, 64):
        step_f, step_m = max(noise // parts, 1), max(block // parts, 1)
        columns = [best([f], range(0, block, step_m)) for f in range(0, noise, step_f)]
        starts += [(found, step_f, step_m) for found in sorted(found for found in columns if found)[:4]]
    ends = []
    for found, size_f, size_m in starts:
        while size_f > 1 or size_m > 1:
            _, f, m = found
            around = [range(max(at - step, 0), min(at + step + 1, end), max(step // 4, 1)) for at, step, end in ((f, size_f, noise), (m, size_m, block))]
            size_f, size_m = size_f // 4, size_m // 4
            found = min(found, best(*around) or found)
        ends.append(found[0])
    return min(ends, default=None)


def least_row(outputs, distance):
    """log2 of a lower bound for the expected number of rows of the code over GF(2) that are lighter than its distance.

    A row is one edge in each of ten regions, sent through the convolution: a one brings it to life, and then half of its bits
    are ones; it dies at an edge at which only the oldest of 15 bits is set, which has probability 2^-14 / (2 - 2^-14), and an edge
    later lives again. It is light if it lives for less than twice the distance. Places are counted in 16ths of a region, and each life as up to
    two of them longer than it is.
    """
    dies = Fraction(1, (2 << (MEMORY - 1)) - 1)
    cells, regions = 16, REGIONS["binary"]
    most = int(2 * distance * regions * cells)
    # Ways by (cells alive so far, whether it lives, the cell of the last edge): the first edge brings it to life.
    now = {(0, True, cell): Fraction(1) for cell in range(cells)}
    for _ in range(regions - 1):
        after = {}
        for (lived, alive, cell), ways in now.items():
            for place in range(cells):
                # An upper end of what it lived, so that nothing counts as light that is not.
                total = lived + (cells + place - cell + 1 if alive else 0)
                if total > most:
                    break
                for lives, share in ((False, dies), (True, 1 - dies)) if alive else ((True, Fraction(1)),):
                    key = (total, lives, place)
                    after[key] = after.get(key, 0) + ways * share
        now = {key: ways for key, ways in after.items()}
    light = sum(ways for (lived, alive, cell), ways in now.items() if lived + (cells - cell if alive else 0) <= most)
    return lb(outputs * Fraction(light) / cells**regions)


def most_row(outputs, length, distance, leaves):
    """log2 of the least bound z^-weight E[z^(weight of a row)] for the number of rows that are lighter than the distance.

    The state of the convolution is the number of zeros since the last one, up to 14, or `dead`. Alive, the next bit is a fair
    coin, but after 14 zeros: then only the oldest bit is left, which is always added, so that the next bit is the opposite of
    the edge, and with an edge all is zero. Dead, the next bit is the edge. A region has one edge, anywhere.
    """
    dead, states = MEMORY, MEMORY + 1
    regions = REGIONS["binary"]

    def step(edge, z):
        matrix = [[0.0] * states for _ in range(states)]
        for zeros in range(MEMORY - 1):
            matrix[zeros][0] += z / 2
            matrix[zeros][zeros + 1] += 1 / 2
        matrix[MEMORY - 1][dead if edge else 0] = 1.0 if edge else z
        matrix[dead][0 if edge else dead] = z if edge else 1.0
        return matrix

    def times(one, other):
        columns = list(zip(*other))
        return [[sum(a * b for a, b in zip(row, column) if a) for column in columns] for row in one]

    def after(one, other):
        """Of two stretches, each without its edge and with it: the same for both together."""
        with_edge = zip(times(one[0], other[1]), times(one[1], other[0]))
        return times(one[0], other[0]), [[a + b for a, b in zip(*rows)] for rows in with_edge]

    # Places that hold no leaf count as weight that nobody sees.
    weight = ceil(distance * leaves) + regions * length - leaves

    def bound(power):
        marker = 1.1**power / (regions * length)
        z, stretch, result, rest = exp(-marker), None, None, length
        stretch = (step(False, z), step(True, z))
        while rest:
            if rest & 1:
                result = stretch if result is None else after(result, stretch)
            rest >>= 1
            stretch = after(stretch, stretch) if rest else stretch
        vector = [0.0] * states
        vector[dead] = 1.0
        for _ in range(regions):
            vector = [sum(vector[i] * result[1][i][j] for i in range(states)) / length for j in range(states)]
        return log2(sum(vector)) + marker * weight / log(2) + log2(outputs)

    low, high = 20, 80  # the bound has one minimum
    while low < high:
        middle = (low + high) // 2
        if bound(middle) <= bound(middle + 1):
            high = middle
        else:
            low = middle + 1
    return bound(low)


def line(kind, outputs):
    trees, leaves, depth, length, linear, distance = shape(kind, outputs)
    samples, binary = trees * leaves, kind == "binary"
    instance = (samples, samples - outputs, trees)
    costs = [
        linear,
        pooled(*instance),
        permutation(*instance, binary),
        enumeration(*instance) if binary else None,
        algebraic(*instance, binary),
        least_row(outputs, distance) if binary else None,
        most_row(outputs, length, distance, samples) if binary else None,
    ]
    written = ["-" if cost is None else f"{cost:.3f}" for cost in costs]
    return " ".join(map(str, [kind, outputs, trees, leaves, depth, length, *written]))


if __name__ == "__main__":
    wanted = sys.argv[1:]
    pairs = [(kind, int(outputs)) for kind, outputs in zip(wanted[::2], wanted[1::2])] or SIZES
    for kind, outputs in pairs:
        print(line(kind, outputs), flush=True)
