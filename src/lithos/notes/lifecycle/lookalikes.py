"""Names that a reader takes for one another: the loosest comparison, for rules that fail closed when names are alike.

Never for granting a right: two people may have names that are alike here.
"""

from __future__ import annotations

import unicodedata

from lithos.core.names import folded, is_blank

# Letters by the Latin letter or digit that they are read as: the part of Unicode's confusables that names are made of.
_SHAPES = {
    "a": "АаΑαɑ\u1d00ᎪꓮⲀⲁ",
    "b": "ВвЬьΒβƄƅʙᏴᏏꓐⲂⲃ\u13cfƀɓƁ",
    "c": "СсϹϲᏟꓚⲤⲥ\u1d04ↄ",
    "d": "ԀԁᎠꓓ\u1d05ɗƊɖ",
    "e": "ЕеΕεЄєᎬꓰ\u1d07ɛƐ",
    "f": "ϜϝƑƒꓝ",
    "g": "ԌԍɡɢᏀꓖԍ",
    "h": "НнҺһΗհᎻꓧⲎʜ",
    "i": "ІіΙιɩıᏆӀӏլ1|!ⅼꓲⲒ\u1d09ɪl",
    "j": "ЈјϳյᎫꓙ\u1d0a",
    "k": "КкΚκᏦꓗⲔⲕ\u1d0bƙ",
    "m": "МмΜϺᎷꓟⲘ\u1d0d",
    "n": "ΝηпոռꓠⲚɴƞ",
    "o": "ОоΟοσՕօ0Ⲟⲟꓳ\u1d0fѳ๐໐০०၀ഠဝ٥۵ᴑΘθ",
    "p": "РрΡρᏢꓑⲢⲣ\u1d18þƿ",
    "q": "Ԛԛգզ",
    "r": "гГⲅɼʀᏒꓣᎡ\u1d26",
    "s": "ЅѕՏѕꜱᏚꓢ5",
    "t": "ТтΤτᎢꓔⲦⲧ\u1d1b",
    "u": "υսՍ\u1d1cꓴʋ",
    "v": "ѴѵνᏙꓦ\u1d20",
    "w": "ԜԝωшѡᎳꓪ\u1d21ա",
    "x": "ХхΧχꓫⲬⲭ",
    "y": "УуΥүҮγʏᎽꓬⲨყ",
    "z": "ΖᏃꓜⲌ\u1d22",
}
_READ_AS = {ord(sign): letter for letter, signs in _SHAPES.items() for sign in signs}
# Beside Latin letters these are usual, and none looks like one (Unicode TS 39, "highly restrictive").
_BESIDE_LATIN = frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"})


def alike(one: str, other: str) -> bool:
    """Whether a reader may take one name for the other: case, blanks, invisible signs, marks, points and look-alikes
    do not count."""
    return folded(one) == folded(other) or _shape(one) == _shape(other)


def is_mixed(name: str) -> bool:
    """Latin letters beside those of an alphabet that has look-alikes of them."""
    scripts = {unicodedata.name(sign, "?").split()[0] for sign in unicodedata.normalize("NFKC", name) if sign.isalpha()}
    return "LATIN" in scripts and not scripts <= _BESIDE_LATIN


def _shape(name: str) -> str:
    """Once before the case is folded and once after: Н is read as H, and its small letter as something else."""
    plain = unicodedata.normalize("NFKD", name).translate(_READ_AS)
    plain = unicodedata.normalize("NFKD", plain.casefold()).translate(_READ_AS)
    seen = "".join(sign for sign in plain if unicodedata.category(sign)[0] in "LNS" and not is_blank(sign))
    return seen.replace("rn", "m").replace("vv", "w") or folded(name)
