"""What a document shows of an output, brought up to date with the output as it is now: lines, and figures in prose.

A line `...` stands for one or more lines that are not shown. Every other shown line is laid over the line of
the output that it resembles most, in order, by the usual dynamic programme for the least sum of costs: 0 for an
equal line, little for one with other figures, more for other words, and a price for a line on one side alone.
So an output that still reads as shown comes back unchanged, and one that does not comes back with the same
parts left out.
"""
import difflib
import functools
import re

ELIDED = "..."
MORE = object()  # after ELIDED, which takes one line: takes any number of further ones
NEW = 0.7  # the price of a line that only the output has
GONE = 1.0  # the price of a line that only the document has
NOTHING_LEFT_OUT = 0.5  # the price of `...` where no line is left out


@functools.lru_cache(maxsize=None)
def skeleton(line):
    """A line without its figures, bars and columns."""
    return re.sub(r"\s+", " ", re.sub(r"[0-9][0-9.,]*", "0", re.sub(r"#+", "#", line))).strip()


def difference(shown, actual):
    """0 (equal) to 1 (nothing in common)."""
    if shown == actual:
        return 0
    a, b = skeleton(shown), skeleton(actual)
    if a == b:
        return 0.05
    return 0.4 + 0.6 * (1 - difflib.SequenceMatcher(None, a, b, autojunk=False).ratio())


def cheapest_way(shown, actual, plain):
    """The least sum of costs for laying `shown` over `actual`, as a dictionary that leads from each pair of
    counts (of either side's lines that are done) to the next."""
    cost, way = {(len(shown), len(actual)): 0}, {}
    for i in range(len(shown), -1, -1):
        for j in range(len(actual), -1, -1):
            if (i, j) in cost:
                continue
            ways = []
            line = shown[i] if i < len(shown) else None
            if j < len(actual):
                ways.append((0 if line is MORE else NEW, (i, j + 1)))
            if i < len(shown):
                ways.append((0 if line is MORE else NOTHING_LEFT_OUT if line == ELIDED else GONE, (i + 1, j)))
            if i < len(shown) and j < len(actual) and line is not MORE:
                ways.append((0 if line == ELIDED else difference(plain(line), plain(actual[j])), (i + 1, j + 1)))
            cost[i, j], way[i, j] = min((price + cost[to], to) for price, to in ways)
    return way


def updated(shown, actual, varies=None):
    """The lines to show for `actual` where a document shows `shown`. What matches the expression `varies` in
    a line may differ: the line then stays as it is shown."""

    def plain(line):
        return re.sub(varies, "~", line) if varies else line

    if shown == actual:
        return shown
    shown = [part for line in shown for part in ([line, MORE] if line == ELIDED else [line])]
    way = cheapest_way(shown, actual, plain)
    lines, here, end = [], (0, 0), (len(shown), len(actual))
    while here != end:
        i, j = here
        here = way[here]
        if here == (i + 1, j + 1):
            stays = shown[i] == ELIDED or plain(shown[i]) == plain(actual[j])
            lines.append(shown[i] if stays else actual[j])
        elif here == (i, j + 1) and (i == len(shown) or shown[i] is not MORE):
            lines.append(actual[j])
    return lines


FIGURE = r"[-+]?[0-9][0-9,]*(?:\.[0-9]+)?"


def with_figures(text, phrase):
    """`text` with the figures of `phrase`, in the one place where it has the same words; None where it has not just
    one such place. Line breaks are as good as blanks."""
    words = [r"\s+".join(re.escape(word) for word in part.split(" ")) for part in re.split(FIGURE, phrase)]
    places = list(re.finditer(f"({FIGURE})".join(words), text))
    if len(places) != 1:
        return None
    place, figures = places[0], re.findall(FIGURE, phrase)
    for group in range(len(figures), 0, -1):
        begin, end = place.span(group)
        text = text[:begin] + figures[group - 1] + text[end:]
    return text
