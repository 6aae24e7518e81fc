"""Figures 2 to 7 and 10 of Yang, Wright & Subramaniam, from yws.jsonl, which `paper_yws full --json docs/plots/yws.jsonl` writes
(benches/src/measures/published/paper_yws.rs)."""

import style

# Numbers that the paper's text states: seconds of 200,000 rows by bits, and with preprocessing; the encryptor's share of the time.
ROWS = 200_000
OVERALL = {512: 60 * 17.4, 1024: 60 * 80.7}
PREPROCESSED = {1024: 19.72}
SHARE = 98


def draw():
    points = [line for line in style.rows("yws") if "way" in line and line["bits"] <= 1024]
    figure, axes = style.panels(7, 3)

    def curve(axis, label, bits, way, value, place):
        chosen = [(point["rows"], value(point)) for point in points if (point["bits"], point["way"]) == (bits, way)]
        style.measured(axis, label, chosen, place)

    def by_bits(axis, way, value, paper=(), section=""):
        for place, bits in enumerate((512, 1024)):
            curve(axis, f"{bits} bits, here", bits, way, value, place)
            if bits in paper:
                style.stated(axis, f"{bits} bits, paper ({section})", [(ROWS, paper[bits])], place)

    def of(key):
        return lambda point: point[key]

    def busiest(point):
        return max(point["encryptor_cpu"])

    overall, share, answerer, transfer, chunks, online, clients = axes
    by_bits(overall, "plain", of("in_turns"), OVERALL, "section 3.1")
    style.caption(overall, "Figure 2: overall", "rows", "running time (seconds)")

    by_bits(share, "plain", lambda point: 100 * busiest(point) / point["in_turns"])
    style.stated_level(share, "paper (section 3.1): 98 %", SHARE, 5)
    share.set_ylim(0, 100)
    style.caption(share, "Figure 3: the encryptor's share", "rows", "part of the running time (%)")

    by_bits(answerer, "plain", of("answerer_cpu"))
    style.caption(answerer, "Figure 4: the answerer", "rows", "CPU time (seconds)")

    by_bits(transfer, "plain", of("transfer"))
    style.caption(transfer, "Figure 5: transfer at 100 Mbit/s", "rows", "transfer (seconds)")

    curve(chunks, "in turns, here", 512, "plain", of("in_turns"), 0)
    curve(chunks, "chunks of 100, overlapped, here", 512, "chunks of 100", of("overlapped"), 2)
    style.note(chunks, "paper (section 3.2): chunks take\nabout 10 % less")
    style.caption(chunks, "Figure 6: chunks, 512 bits", "rows", "running time (seconds)")

    by_bits(online, "preprocessed", of("in_turns"), PREPROCESSED, "section 3.3")
    style.caption(online, "Figure 7: with preprocessing", "rows", "time online (seconds)")

    curve(clients, "1 client, here", 1024, "plain", busiest, 1)
    curve(clients, "3 clients, the busiest, here", 1024, "3 clients", busiest, 3)
    style.note(clients, "paper (section 3.4): overall\n2.99 times less")
    style.caption(clients, "Figure 10: encryption, 1024 bits", "rows", "CPU time (seconds)")

    for axis in axes:
        style.numbers(axis, [10_000, 100_000, 500_000])
        if axis is not share:
            style.powers_of_ten(axis)
        style.legend(axis)
    return figure
