"""Small multiples as SVG, for the plots beside: curves over one number, from 0 up. Needs nothing but Python."""

import html

COLOURS = ["#4477aa", "#ee6677", "#228833", "#aa3377"]
WIDTH, HEIGHT, LEFT, TOP = 300, 210, 55, 60
RIGHT, BOTTOM = WIDTH - 20, HEIGHT - 30


def draw(path, panels, columns, marks):
    """Writes panels (title, note, curves), so many a row; a curve is a label and points. `marks` are the places to the right
    that get a label: (number, label). A panel can have marks of its own as a fourth."""
    rows = -(-len(panels) // columns)
    size = columns * WIDTH, rows * HEIGHT
    drawn = [f'<g transform="translate({i % columns * WIDTH} {i // columns * HEIGHT})">{panel(*(each if len(each) > 3 else (*each, marks)))}</g>'
             for i, each in enumerate(panels)]
    body = "\n".join(drawn)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" font-family="sans-serif" '
        f'font-size="10">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n')


def panel(title, note, curves, marks):
    """One figure: values up from 0."""
    last = max(x for _, line in curves for x, _ in line)
    step = tick(max(y for _, line in curves for _, y in line))
    top = step * max(-int(-y // step) for _, line in curves for _, y in line)

    def place(x, y):
        return LEFT + (RIGHT - LEFT) * x / last, BOTTOM - (BOTTOM - TOP) * y / top

    parts = [text(LEFT, 16, title, weight="bold"), text(LEFT, 44, note, fill="#666666")]
    for i in range(round(top / step) + 1):
        y = place(0, i * step)[1]
        parts += [f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>',
                  text(LEFT - 5, y + 3, f"{i * step:g}", anchor="end")]
    parts += [text(place(x, 0)[0], BOTTOM + 13, label, anchor="middle") for x, label in marks if x <= last]
    for i, ((label, line), colour) in enumerate(zip(curves, COLOURS)):
        at = [place(*point) for point in line]
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        parts += [f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="1.5"/>']
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="{colour}"/>' for x, y in at]
        parts.append(text(LEFT + min(85, 255 // len(curves)) * i, 32, label, fill=colour))
    return "\n".join(parts)


def tick(most):
    """The round number of which four to ten reach `most`."""
    unit = 10.0 ** (len(str(int(most))) - 1) if most >= 1 else 0.1
    return next(unit * factor for factor in (0.1, 0.2, 0.25, 0.5, 1, 2) if most / (unit * factor) <= 6)


def text(x, y, words, anchor="start", fill="black", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" font-weight="{weight}">'
            f"{html.escape(words)}</text>")
