"""Values of design tokens compared by what they mean: colours in any notation, lengths with rem."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import NamedTuple

from lithos.core.lazy import lazy

color4 = lazy("tinycss2.color4")
ROOT_PX = 16.0
SAME_COLOUR = 0.004  # OKLab: what three digits of oklch() or whole percents of hsl() lose
_HEX = re.compile(r"#([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})\Z", re.IGNORECASE)
_FUNCTION = re.compile(r"(rgba?|hsla?|oklch|oklab|lch|lab|hwb|color)\(\s*([^()]*)\)\Z", re.IGNORECASE)
_TRIPLE = re.compile(r"(-?[\d.]+)(?:deg)?\s+([\d.]+)%\s+([\d.]+)%(?:\s*/\s*([\d.]+%?))?\Z")
_LENGTH = re.compile(r"(-?(?:\d+\.?\d*|\.\d+))(px|rem|em|pt)?\Z", re.IGNORECASE)
_WORD = re.compile(r"[a-z]{3,20}\Z")


class Colour(NamedTuple):
    """sRGB, each from 0 to 1."""

    red: float
    green: float
    blue: float
    alpha: float = 1.0

    @property
    def hex(self) -> str:
        parts = [round(max(0.0, min(1.0, each)) * 255) for each in self]
        return "#" + "".join(f"{each:02x}" for each in (parts if parts[3] < 255 else parts[:3]))


def colour_of(text: str) -> Colour | None:
    """None: the text is no colour that is known here."""
    value = text.strip().lower()
    if value == "transparent":
        return Colour(0, 0, 0, 0)
    if _WORD.match(value):
        return _named(value)
    if found := _HEX.match(value):
        return _hex(found[1])
    if found := _FUNCTION.match(value):
        return _function(found[1].removesuffix("a"), found[2])
    if found := _TRIPLE.match(value):  # the way of shadcn/ui: hsl(var(--primary))
        alpha = _number(found[4], 1.0) if found[4] else 1.0
        return _hsl(float(found[1]), float(found[2]) / 100, float(found[3]) / 100, alpha or 0.0)
    return None


@lru_cache(1_024)
def _named(word: str) -> Colour | None:
    """A colour by its name in CSS; None for any other word."""
    found = color4.parse_color(word)
    if found is None or isinstance(found, str):  # `currentcolor` is a word, not a colour
        return None
    red, green, blue = found.coordinates
    return Colour(red, green, blue, found.alpha)


def _hex(digits: str) -> Colour:
    long = "".join(each * 2 for each in digits) if len(digits) <= 4 else digits
    parts = [int(long[place : place + 2], 16) / 255 for place in range(0, len(long), 2)]
    return Colour(parts[0], parts[1], parts[2], parts[3] if len(parts) == 4 else 1.0)


def _function(name: str, inner: str) -> Colour | None:
    parts = [each for each in re.split(r"[\s,/]+", inner.strip()) if each]
    if name == "color":  # of the spaces that it can name, those of screens are read
        name, parts = (parts[0], parts[1:]) if parts[:1] in (["srgb"], ["display-p3"]) else ("", [])
    if len(parts) not in (3, 4):
        return None
    try:
        alpha = _number(parts[3], 1.0) if len(parts) == 4 else 1.0
        if name == "rgb":
            red, green, blue = (_number(each, 255.0) for each in parts[:3])
            return Colour(red, green, blue, alpha)
        if name == "srgb":
            red, green, blue = (_number(each, 1.0) for each in parts[:3])
            return Colour(red, green, blue, alpha)
        if name == "display-p3":
            return _display_p3([_number(each, 1.0) for each in parts[:3]], alpha)
        if name == "hwb":
            return _hwb(_angle(parts[0]), _number(parts[1], 100.0), _number(parts[2], 100.0), alpha)
        if name == "hsl":
            return _hsl(_angle(parts[0]), _number(parts[1], 100.0), _number(parts[2], 100.0), alpha)
        if name == "oklch":
            light, chroma, hue = _number(parts[0], 1.0), _number(parts[1], 0.4, 1.0), math.radians(_angle(parts[2]))
            return _oklab(light, chroma * math.cos(hue), chroma * math.sin(hue), alpha)
        if name == "oklab":
            return _oklab(_number(parts[0], 1.0), _number(parts[1], 0.4, 1.0), _number(parts[2], 0.4, 1.0), alpha)
        if name == "lch":
            light, chroma, hue = _number(parts[0], 100.0, 1.0), _number(parts[1], 150.0, 1.0), _angle(parts[2])
            hue = math.radians(hue)
            return _cie_lab(light, chroma * math.cos(hue), chroma * math.sin(hue), alpha)
        if name == "lab":
            light, a, b = (_number(each, whole, 1.0) for each, whole in zip(parts, (100.0, 125.0, 125.0), strict=False))
            return _cie_lab(light, a, b, alpha)
    except ValueError:
        return None
    return None


def _number(text: str, whole: float, plain: float | None = None) -> float:
    """A share of `whole`: a percentage, or a number up to it. `plain`: a bare number counts as it is."""
    if text == "none":
        return 0.0
    if text.endswith("%"):
        share = float(text[:-1]) / 100
        return share * whole if plain is not None else share
    return float(text) / (whole if plain is None else plain)


def _angle(text: str) -> float:
    if text == "none":
        return 0.0
    if text.endswith("turn"):
        return float(text[:-4]) * 360
    if text.endswith("rad"):
        return math.degrees(float(text[:-3]))
    return float(text.removesuffix("deg"))


def _hsl(hue: float, saturation: float, light: float, alpha: float) -> Colour:
    def part(shift: float) -> float:
        k = (shift + hue / 30) % 12
        return light - saturation * min(light, 1 - light) * max(-1.0, min(k - 3, 9 - k, 1.0))

    return Colour(part(0), part(8), part(4), alpha)


def _hwb(hue: float, white: float, black: float, alpha: float) -> Colour:
    total = white + black
    if total >= 1:
        return Colour(white / total, white / total, white / total, alpha)
    red, green, blue = (each * (1 - total) + white for each in _hsl(hue, 1.0, 0.5, alpha)[:3])
    return Colour(red, green, blue, alpha)


def _oklab(light: float, a: float, b: float, alpha: float) -> Colour:
    one = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3
    two = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
    three = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * one - 3.3077115913 * two + 0.2309699292 * three,
        -1.2684380046 * one + 2.6097574011 * two - 0.3413193965 * three,
        -0.0041960863 * one - 0.7034186147 * two + 1.7076147010 * three,
    )
    red, green, blue = (_gamma(max(0.0, min(1.0, each))) for each in linear)
    return Colour(red, green, blue, alpha)


def _cie_lab(light: float, a: float, b: float, alpha: float) -> Colour:
    """CIE Lab as CSS has it: white is D50, so that the axes are adapted to the D65 of screens."""
    y = (light + 16) / 116
    x, y, z = (
        each**3 if each > 6 / 29 else 3 * (6 / 29) ** 2 * (each - 4 / 29) for each in (y + a / 500, y, y - b / 200)
    )
    x, z = x * 0.9642956764, z * 0.8251046025
    return _from_xyz(
        0.9554734215 * x - 0.0230984549 * y + 0.0632592432 * z,
        -0.0283697093 * x + 1.0099953981 * y + 0.0210414412 * z,
        0.0123140149 * x - 0.0205076493 * y + 1.3303659262 * z,
        alpha,
    )


def _display_p3(channels: list[float], alpha: float) -> Colour:
    red, green, blue = (_linear(max(0.0, min(1.0, each))) for each in channels)
    return _from_xyz(
        0.4865709486 * red + 0.2656676932 * green + 0.1982172852 * blue,
        0.2289745641 * red + 0.6917385218 * green + 0.0792869141 * blue,
        0.0451133819 * green + 1.0439443689 * blue,
        alpha,
    )


def _from_xyz(x: float, y: float, z: float, alpha: float) -> Colour:
    """Of white D65. What sRGB cannot show is cut to the nearest channel values."""
    linear = (
        3.2409699419 * x - 1.5373831776 * y - 0.4986107603 * z,
        -0.9692436363 * x + 1.8759675015 * y + 0.0415550574 * z,
        0.0556300797 * x - 0.2039769589 * y + 1.0569715142 * z,
    )
    red, green, blue = (_gamma(max(0.0, min(1.0, each))) for each in linear)
    return Colour(red, green, blue, alpha)


def _gamma(linear: float) -> float:
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


@lru_cache(8_192)
def _lab(colour: Colour) -> tuple[float, float, float]:
    red, green, blue = (_linear(max(0.0, min(1.0, each))) for each in colour[:3])
    one = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    two = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    three = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    return (
        0.2104542553 * one + 0.7936177850 * two - 0.0040720468 * three,
        1.9779984951 * one - 2.4285922050 * two + 0.4505937099 * three,
        0.0259040371 * one + 0.7827717662 * two - 0.8086757660 * three,
    )


def colour_distance(one: Colour, other: Colour) -> float:
    """In OKLab: 0 is the same colour, 0.02 is hardly seen, 1 is black and white."""
    first, second = _lab(one), _lab(other)
    return math.dist(first, second) + abs(one.alpha - other.alpha)


def same_colour(one: str, other: str) -> bool:
    """Exact notations are equal to the bit; one that was rounded when it was written, within the rounding."""
    first, second = colour_of(one), colour_of(other)
    if first is None or second is None:
        return False
    if _is_exact(one) and _is_exact(other):
        return first.hex == second.hex
    return colour_distance(first, second) <= SAME_COLOUR


def _is_exact(text: str) -> bool:
    value = text.strip().lower()
    return value.startswith(("#", "rgb")) or bool(_WORD.match(value))


def length_of(text: str) -> float | None:
    """Pixels; rem and em at 16. None: no length."""
    found = _LENGTH.match(text.strip())
    if found is None or (found[2] is None and float(found[1]) != 0):
        return None
    factor = {"px": 1.0, "rem": ROOT_PX, "em": ROOT_PX, "pt": 4 / 3, None: 1.0}[found[2].lower() if found[2] else None]
    length = float(found[1]) * factor
    return length if math.isfinite(length) else None
