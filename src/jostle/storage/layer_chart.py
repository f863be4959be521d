"""A chart of a figure by layer on a logarithmic axis, with places of their own for zero and infinity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from PIL import Image, ImageDraw, ImageFont

SCALE = 2  # pixels of the picture by one of the measures below
ROW, WIDTH, GAP = 18, 460, 10  # height of a row, width of the axis, space around things
HEAD, FOOT, EDGE = 64, 40, 56  # heights of title and axis, widths of the places of zero and infinity
LARGEST_NAME, LARGEST_NOTE = 44, 20  # characters
FEWEST_DECADES, MOST_DECADES, MOST_TICKS = 3, 30, 10
BREAK = 4  # length of the strokes that part zero and infinity from the powers of ten
DOT = 4  # radius
COLOURS = 64
WHITE, BLACK, PALE, GRID = "#ffffff", "#1f2937", "#6b7280", "#e5e7eb"
USUAL, VALUE, SPREAD, MARKED, MARKED_ROW = "#9ca3af", "#1d4ed8", "#bfd3fb", "#c81e1e", "#fdecec"


@dataclass(frozen=True)
class ChartRow:
    """One layer: what is usual, and what was seen, of several inputs as a median with a spread."""

    name: str
    usual: float
    low: float
    middle: float
    high: float
    note: str = ""  # at the right end
    marked: bool = False

    @property
    def values(self) -> tuple[float, ...]:
        return self.usual, self.low, self.middle, self.high


@dataclass(frozen=True)
class LayerChart:
    """Layers from top to bottom in the order they run."""

    title: str
    subtitle: str
    usual: str  # what the grey dots are
    seen: str  # what the blue dots are
    axis: str  # what the axis measures
    rows: Sequence[ChartRow]


def drawn_charts(charts: Sequence[LayerChart]) -> Image.Image:
    """Charts below each other, in the few colours that they have, which halves a file and the time to write it."""
    images = [drawn_chart(chart) for chart in charts]
    picture = Image.new("RGB", (max(one.width for one in images), sum(one.height for one in images)), WHITE)
    top = 0
    for image in images:
        picture.paste(image, (0, top))
        top += image.height
    return picture.quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)


def drawn_chart(chart: LayerChart) -> Image.Image:
    axis = Axis.over([value for row in chart.rows for value in row.values], _names_width(chart) + 2 * GAP)
    notes = max((len(row.note) for row in chart.rows), default=0)
    width = axis.right + (GAP + int(_wide("0") * min(notes, LARGEST_NOTE)) if notes else 0) + 2 * GAP
    bottom = HEAD + ROW * len(chart.rows)
    picture = Image.new("RGB", (int(max(width, _head_width(chart))) * SCALE, (bottom + FOOT) * SCALE), WHITE)
    pen = Pen(ImageDraw.Draw(picture))
    pen.text((GAP, GAP), chart.title, BLACK, size=14)
    pen.text((GAP, GAP + 20), chart.subtitle, PALE)
    _draw_legend(pen, chart, axis)
    for number, row in enumerate(chart.rows):
        _draw_background(pen, axis, row, HEAD + ROW * number)
    _draw_axis(pen, axis, bottom, chart.axis)
    _draw_line(pen, USUAL, [(axis.at(row.usual), _middle(number)) for number, row in enumerate(chart.rows)])
    _draw_line(pen, VALUE, [(axis.at(row.middle), _middle(number)) for number, row in enumerate(chart.rows)])
    for number, row in enumerate(chart.rows):
        pen.dot((axis.at(row.usual), _middle(number)), USUAL)
        pen.dot((axis.at(row.middle), _middle(number)), MARKED if row.marked else VALUE)
    return picture


@dataclass(frozen=True)
class Axis:
    """Where values stand: zero at the left end, then powers of ten, infinity at the right end."""

    left: float
    right: float
    first: int  # power of ten
    last: int
    infinite: bool  # whether infinity has a place

    @staticmethod
    def over(values: Sequence[float], left: float) -> Axis:
        finite = [value for value in values if math.isfinite(value) and value > 0]
        first = math.floor(math.log10(min(finite, default=1e-3)))
        last = max(math.floor(math.log10(max(finite, default=1.0))) + 1, first + FEWEST_DECADES)
        return Axis(left, left + WIDTH, max(first, last - MOST_DECADES), last, any(map(math.isinf, values)))

    def at(self, value: float) -> float:
        if value <= 0 or math.isnan(value):
            return self.left + EDGE / 4
        return self.right - EDGE / 4 if math.isinf(value) else self.power(math.log10(value))

    def power(self, exponent: float) -> float:
        start, end = self.left + EDGE, self.right - (EDGE if self.infinite else 0)
        share = (exponent - self.first) / (self.last - self.first)
        return start + min(max(share, 0.0), 1.0) * (end - start)

    @property
    def ticks(self) -> list[int]:
        step = math.ceil((self.last - self.first + 1) / MOST_TICKS)
        return list(range(self.first, self.last + 1, step))


@dataclass(frozen=True)
class Pen:
    """Draws in our measures."""

    draw: ImageDraw.ImageDraw

    def text(self, at: tuple[float, float], words: str, colour: str, size: int = 11, anchor: str = "la") -> None:
        self.draw.text(_scaled(at), words, fill=colour, font=_font(size * SCALE), anchor=anchor)

    def line(self, points: Sequence[tuple[float, float]], colour: str, width: float = 1) -> None:
        self.draw.line([_scaled(point) for point in points], fill=colour, width=int(width * SCALE), joint="curve")

    def box(self, start: tuple[float, float], end: tuple[float, float], colour: str, round: float = 0) -> None:
        self.draw.rounded_rectangle((*_scaled(start), *_scaled(end)), round * SCALE, fill=colour)

    def dot(self, at: tuple[float, float], colour: str) -> None:
        x, y = at
        self.draw.ellipse((*_scaled((x - DOT, y - DOT)), *_scaled((x + DOT, y + DOT))), colour, WHITE, SCALE)


def _draw_background(pen: Pen, axis: Axis, row: ChartRow, top: float) -> None:
    """Name, note and spread of a layer."""
    if row.marked:
        pen.box((GAP / 2, top), (axis.right, top + ROW), MARKED_ROW)
    middle, colour = top + ROW / 2, MARKED if row.marked else BLACK
    pen.text((axis.left - GAP, middle), elided(row.name), colour, anchor="rm")
    pen.line([(axis.left, middle), (axis.right, middle)], GRID, 0.5)
    if row.low < row.high:
        low, high = axis.at(row.low), axis.at(row.high)
        pen.box((low - DOT, middle - DOT), (high + DOT, middle + DOT), SPREAD, DOT)
    if row.note:
        pen.text((axis.right + GAP, middle), row.note[:LARGEST_NOTE], colour, anchor="lm")


def _draw_axis(pen: Pen, axis: Axis, bottom: float, words: str) -> None:
    places = [(axis.at(0.0), "0"), *((axis.power(power), _tick(power)) for power in axis.ticks)]
    if axis.infinite:
        places.append((axis.at(math.inf), "inf"))
    for x, name in places:
        pen.line([(x, HEAD - 2), (x, bottom + 4)], GRID)
        pen.text((x, bottom + 6), name, PALE, size=10, anchor="ma")
    for x in (axis.left + EDGE * 5 / 8, *([axis.right - EDGE * 5 / 8] if axis.infinite else [])):
        for start in range(HEAD, int(bottom), 2 * BREAK):
            pen.line([(x, start), (x, start + BREAK)], USUAL, 0.5)
    pen.text(((axis.left + axis.right) / 2, bottom + 22), words, PALE, size=10, anchor="ma")


def _draw_line(pen: Pen, colour: str, points: Sequence[tuple[float, float]]) -> None:
    if len(points) > 1:
        pen.line(points, colour, 1.5)


def _draw_legend(pen: Pen, chart: LayerChart, axis: Axis) -> None:
    x, y = axis.left, HEAD - 12
    for words, colour in ((chart.usual, USUAL), (chart.seen, VALUE)):
        pen.dot((x + DOT, y), colour)
        pen.text((x + 3 * DOT, y), words, PALE, anchor="lm")
        x += 3 * DOT + _wide(words) + 2 * GAP


def elided(name: str, most: int = LARGEST_NAME) -> str:
    """A name that is too long, without its middle."""
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}…{name[-half:]}"


def _middle(number: int) -> float:
    return HEAD + ROW * (number + 0.5)


def _tick(power: int) -> str:
    return "1" if power == 0 else f"1e{power}"


def _names_width(chart: LayerChart) -> float:
    return max((_wide(elided(row.name)) for row in chart.rows), default=0.0)


def _head_width(chart: LayerChart) -> float:
    return max(_wide(chart.title, 14), _wide(chart.subtitle)) + 2 * GAP


def _wide(words: str, size: int = 11) -> float:
    return _font(size * SCALE).getlength(words) / SCALE


def _scaled(point: tuple[float, float]) -> tuple[float, float]:
    return point[0] * SCALE, point[1] * SCALE


@cache
def _font(size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    return ImageFont.load_default(size)
