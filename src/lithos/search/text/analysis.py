"""Words as the full-text index knows them: stemmed where a stemmer knows the script, n-grams where it has no spaces.

tantivy splits, folds and stems; what it cannot do is done to the text before, for documents and queries alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tantivy import TextAnalyzer

# Han, Kana, Hangul; then Thai, Lao, Myanmar, Khmer. All write words without (reliable) spaces between them.
UNSPACED = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
    "\u1100-\u11ff\u3131-\u318e\uac00-\ud7af\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u109d\u1780-\u17d3"
)
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_CAMEL_WORD = re.compile(r"\b(?=[A-Za-z0-9]*(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z]))[A-Za-z0-9]{3,64}\b")
# Names joined by underscores or dots, each part with a letter first: parse_query, os.path.join, not 1.2.3.
_JOINED = "[A-Za-z][A-Za-z0-9]{0,40}(?:[._]{1,2}[A-Za-z][A-Za-z0-9]{0,40}){1,8}"
_JOINED_WORD = re.compile(f"(?<![A-Za-z0-9.]){_JOINED}(?![A-Za-z0-9])")
_JOINED_UNIT = re.compile(f"{_JOINED}\\.*\\Z")
# Words that are also written in one: e-mail, non-linear, x-forwarded-for.
_HYPHENATED = re.compile(r"(?<![A-Za-z0-9-])[A-Za-z]{1,20}(?:-[A-Za-z]{2,20}){1,2}(?![A-Za-z0-9-])")
_VERSION = re.compile(r"[vV]?(\d+\.\d[\w.-]*)")
_LANGUAGE = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z](?:\+\+|#)(?![\w#+])")  # C++, C#, F#
_CAMEL_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Letters and digits, an underscore inside, or a capital after a small letter.
_IDENTIFIER = re.compile(r"\b(?=\w*(?:[A-Za-z]\d|\d[A-Za-z]|[A-Za-z\d]_[A-Za-z\d]|[a-z][A-Z]))\w{4,80}\b", re.ASCII)
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_LATIN_WORD = re.compile("[A-Za-z\u00c0-\u024f]+")
_APOSTROPHE_S = re.compile(r"['’]s\b")
# A pictograph with its variation, tone and joined parts, or a flag: one sign to people, and one term here.
_PICTOGRAPHS = "\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff"
_MARKS = (
    "\u2122\u2120\u203c\u2049\u3030\u303d\u00a7\u00b6\u2020\u2021\u2022\u2026\u2030"  # that are no symbols to Unicode
)
_SIGN_STYLE = re.compile("[\u200d\ufe0f\U0001f3fb-\U0001f3ff]")
_VOWELS = frozenset((0, 103, 118, 129, 130, 132))  # of Thai, Lao and Tibetan: by Unicode marks, but letters to people
# Soft hyphen, the stroke that widens an Arabic word, the joiner of two letters; signs of Thai, Lao and Khmer; styles.
_SILENT = "\u00ad\u0640\u200d\u034f\u0e47\u0e4c\u0e4e\u0ecc"
_SILENT += "".join(map(chr, (*range(0x17C9, 0x17D4), 0x17DD, *range(0xFE00, 0xFE10))))
MOST_IDEOGRAPHS = 32
MOST_COMPOUNDS = 8
LONGEST_COMPOUND = 12  # terms
LONGEST_WORD = 255  # bytes; a hash of 512 bits in hex still fits
_SHORT_NUMBER = 3  # digits

# Words that carry the grammar of an English question and not its subject.
_STOP_WORDS = """
a about am an and are as at be been being but by can could d did do does don for from had has have he her his how i if
in into is it its ll m me my no not of on or our over re s she should so such t than that the their them then there
these they this to ve was we were what when where which who whom why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
# Words that ask, of other languages: seldom in an answer, so that BM25 takes them for what the question is about.
# Those that are also words of English (`comment`, `come`, `chi`) are left out. Then grammar in other scripts.
_ASKING = """
wer wen wem wessen wie wieviel wieviele welche welcher welches welchem welchen wann warum wieso weshalb wo woher wohin
womit wodurch wofür quel quelle quels quelles qui que quoi où quand combien pourquoi lequel laquelle qué cuál cuáles
quién quiénes cómo cuándo dónde cuánto cuánta cuántos cuántas qual quais quem quando onde quanto quantos quantas quale
quali dove quanti quante perché hangi nerede nasıl neden niçin kaç что какой какая какое какие каким какого какую каких
кто кого кому кем где когда сколько почему зачем как чем откуда куда ποιος ποια ποιο ποιοι ποιες ποιους ποιον ποιου
πότε πού πώς πόσο πόσα πόσοι πόσες πόσους τι γιατί ما ماذا من متى أين كيف كم لماذا هل أي क्या कौन कब कहाँ कहां कैसे
कितने कितना कितनी क्यों किस किसने किसका किसे किसकी किसके
и в на с не по из к у о за для от это был была было были есть ο η το οι τα του της των τον την τους τις ένα ένας μια και
είναι ήταν με σε για από στο στη στον στην στα να θα που δεν في على إلى عن هو هي أن كان كانت التي الذي هذا هذه है हैं
था थी थे का की के को में से पर ने और यह
"""
_ASKING_UNSPACED = re.compile(
    "为什么|為什麼|什么|什麼|哪个|哪個|哪些|哪里|哪裡|哪一|怎么|怎麼|怎样|怎樣|如何|多少|几个|幾個|是谁|是誰|何时|何時|吗|嗎|呢|"
    "ですか|ますか|でしたか|ましたか|でしょうか|どのよう|どこ|いつ|誰|どの|どんな|なぜ|どうして|いくつ|いくら|何という|何で|何と|何|"
    "무엇|누구|어디|언제|얼마|어느|어떤|인가|몇|무슨|왜|"
    "อะไร|ที่ไหน|เมื่อไร|เมื่อใด|ใคร|อย่างไร|เท่าไร|เท่าไหร่|ทำไม|ใด|กี่"
)
_IDEOGRAPHS = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af]{2,}")
# Each leaves the scripts of the others alone. ASCII text meets the first alone: all four take three times as long.
_STEMMERS = ("english", "russian", "greek", "arabic")


@cache
def _analyzer(stemmers: int) -> TextAnalyzer:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    chain = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST_WORD)).filter(Filter.lowercase())
    chain = chain.filter(Filter.ascii_fold())
    for language in _STEMMERS[:stemmers]:
        chain = chain.filter(Filter.stemmer(language))
    return chain.build()


def analyzed(text: str) -> list[str]:
    """Terms of a text in one form of each character."""
    return _analyzer(1 if text.isascii() else len(_STEMMERS)).analyze(text)


class IndexedText(NamedTuple):
    """The terms of a text as the index gets them, a space between: it only splits them."""

    stems: str  # as often and in the order that the text has them
    words: str  # whole words; the index only keeps who has them

    @classmethod
    def of(cls, text: str) -> IndexedText:
        units = units_of(text)
        return cls(stems_of(units), words_of(units))

    @classmethod
    def joined(cls, parts: Iterable[IndexedText]) -> IndexedText:
        all_parts = list(parts)
        return cls(" ".join(part.stems for part in all_parts), " ".join(part.words for part in all_parts))


def units_of(text: str) -> list[str]:
    """Pieces of a text that no rule of `_prepared` looks across: `os.path.join`, `user's`, `parse_query`."""
    text = _with_languages(text)
    return text.translate(_UNIT_BREAKS if text.isascii() else _UNIT_BREAKS_BESIDE_SIGNS).split()


def stems_of(units: Iterable[str]) -> str:
    return " ".join(map(_STEMS.__getitem__, units))


def words_of(units: Iterable[str]) -> str:
    return " ".join(map(_WORDS.__getitem__, dict.fromkeys(units)))


_UNIT_BREAKS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "_.'-")}
_UNIT_BREAKS_BESIDE_SIGNS = {code: " " for code in _UNIT_BREAKS if chr(code) not in "#*"}  # of keycaps


class _Remembered(dict[str, str]):
    """Results of a function. The same names recur in code: analyzing each occurrence took most of an index's time.
    Long numbers recur seldom, and a host that met ever new ones grew for hours until it was full of them."""

    def __init__(self, work: Callable[[str], str], most: int = 50_000, longest: int = 60) -> None:
        super().__init__()
        self._work, self._most, self._longest = work, most, longest
        self._before: dict[str, str] = {}  # the last full cache: what recurs is taken over from it

    def __missing__(self, text: str) -> str:
        result = self._before.get(text)
        if result is None:
            result = self._work(text)
        if len(text) <= self._longest and (len(text) <= _SHORT_NUMBER or not text.replace("-", "").isdecimal()):
            if len(self) >= self._most:
                self._before = dict(self)  # 10 MB
                self.clear()
            self[text] = result
        return result


@cache
def _stemmer(stemmers: int) -> TextAnalyzer:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    chain = TextAnalyzerBuilder(Tokenizer.whitespace())
    for language in _STEMMERS[:stemmers]:
        chain = chain.filter(Filter.stemmer(language))
    return chain.build()


def _words_of(unit: str) -> str:
    if not unit.isascii():
        return " ".join(_analyzer(0).analyze(_prepared(unit, _ones_and_twos)))
    # As the analyzer does it, without a call of it for each name of a program.
    if unit.isalnum() and len(unit) < LONGEST_WORD and not _CAMEL.search(unit):
        return unit.lower()
    if _JOINED_UNIT.match(unit):
        return " ".join([_whole_of(unit), *map(_WORDS.__getitem__, _parts_of(unit))])
    words = _ASCII_WORD.findall(_prepared(unit, _ones_and_twos).lower())
    return " ".join(word for word in words if len(word) < LONGEST_WORD)


def _stems_of(unit: str) -> str:
    if _JOINED_UNIT.match(unit):  # most names of a program differ, and their parts recur
        whole = " ".join(_stemmer(1).analyze(_whole_of(unit)))
        return " ".join([whole, *map(_STEMS.__getitem__, _parts_of(unit))])
    words = _WORDS[unit]
    return words if words.isdecimal() else " ".join(_stemmer(1 if words.isascii() else len(_STEMMERS)).analyze(words))


def _whole_of(unit: str) -> str:
    """`os.path.join` → ospathjoin; nothing where it is too long."""
    whole = unit.replace("_", "").replace(".", "").lower()
    return whole if len(whole) < LONGEST_WORD else ""


def _parts_of(unit: str) -> list[str]:
    """The words that a joined name is made of. A part with capitals inside counts as one where a dot parts it alone:
    an underscore is part of a word, so that `_prepared` does not look into what is beside it."""
    return [
        part for piece in unit.split(".") for part in (piece.lower().split("_") if "_" in piece else (piece,)) if part
    ]


_WORDS = _Remembered(_words_of)
_STEMS = _Remembered(_stems_of)


@cache
def splitter() -> TextAnalyzer:
    """For texts that are terms already."""
    from tantivy import TextAnalyzerBuilder, Tokenizer

    return TextAnalyzerBuilder(Tokenizer.whitespace()).build()


def query_terms(text: str) -> list[str]:
    """The terms of a question, as often as it says them; words of grammar only where there is nothing else."""
    # Of a run of unspaced script only the pairs: its single characters would match everywhere.
    terms = analyzed(_prepared(_without_asking(text), _pairs))
    stops = _stop_terms()
    return [term for term in terms if term not in stops] or terms


def ideographs(text: str) -> list[str]:
    """The different single Chinese characters of a question's words: a short text may have one of them alone."""
    runs = [] if text.isascii() else _IDEOGRAPHS.findall(folded(_without_asking(text)))
    return list(dict.fromkeys("".join(runs)))[:MOST_IDEOGRAPHS]


@cache
def _stop_terms() -> frozenset[str]:
    return STOP_WORDS.union(analyzed(folded(_ASKING)))


def _without_asking(text: str) -> str:
    left = text if text.isascii() else _ASKING_UNSPACED.sub(" ", text)
    return left if any(map(str.isalnum, left)) else text


def phrase_terms(text: str) -> list[str]:
    """The terms of a text at consecutive positions, exactly as the index has them."""
    return analyzed(_prepared(text, _ones_and_twos))


def whole_words(text: str) -> list[str]:
    """Words as they are written, for what compares them letter by letter: beginnings, typos, patterns."""
    return _analyzer(0).analyze(folded(text))


def is_unspaced(text: str) -> bool:
    return _UNSPACED_RUN.search(text) is not None


def function_words(text: str) -> int:
    """How much a text is like language; `AND`, `OR` and `NOT` are operators."""
    words = [word for word in re.findall(r"[A-Za-z]+", text) if word not in ("AND", "OR", "NOT")]
    return sum(word.lower() in STOP_WORDS for word in words)


def identifiers(text: str) -> list[str]:
    """Names that do not occur by chance: `ERR_4021`, `parseQuery`, `sha256`; lower case."""
    return [name.lower() for name in _IDENTIFIER.findall(text)]


def compounds(text: str) -> list[list[str]]:
    """Terms of `2024-05-01`, `1.2.3` and `ERR_4021`, which mean something only together and in this order. A version
    is the same with a v and without."""
    words = [word for word in text.split() if any(map(str.isdigit, word)) and not word.isalnum()][:MOST_COMPOUNDS]
    versions = [found[1] for word in words if (found := _VERSION.match(word))]
    spellings = dict.fromkeys([*words, *versions, *(f"v{each}" for each in versions)])
    terms = dict.fromkeys(tuple(phrase_terms(word)) for word in spellings)
    return [[*each] for each in terms if 1 < len(each) <= LONGEST_COMPOUND]


def weight_unknown(term: str) -> float:
    """How much a term of a question that no document has says of it.

    Of unspaced script most are pairs across two words, or grammar; other scripts have no list of words of grammar here.
    """
    if term.isascii():
        return 1.0
    return 0.2 if _UNSPACED_RUN.match(term) else 0.5


def readable_share(text: str) -> float:
    """How much of a text the model of the package can read; 1 where it has no letters.

    It was trained on Latin script. It reads a Latin word in one piece or two, other scripts letter by letter, so that
    each of their letters counts as much as a word.
    """
    if text.isascii():
        return 1.0
    words = len(_LATIN_WORD.findall(text))
    others = sum(character >= "\u0250" for character in text if character.isalpha())
    return words / (words + others) if words + others else 1.0


def folded(text: str) -> str:
    """One form of each character.

    tantivy folds the accents of Latin letters only, and not the dot of a Turkish İ. Marks that people leave out, or
    that would end a word to its tokenizer, are dropped: points of Hebrew and Arabic, tones of Thai, the mark that joins
    two letters of Hindi.
    """
    return unicodedata.normalize("NFKC", text).translate(foldings())


@cache
def foldings() -> dict[int, str]:
    """Characters that become others; empty: that the index does not have."""
    greek = [chr(code) for code in (*range(0x370, 0x400), *range(0x1F00, 0x2000))]
    marks = (code for code in range(0x300, 0x11000) if unicodedata.combining(chr(code)) not in _VOWELS)
    return {ord(each): unicodedata.normalize("NFD", each)[0] for each in greek if each.isalpha()} | {
        **dict.fromkeys((*marks, *map(ord, _SILENT)), ""),
        ord("ς"): "σ",
        ord("İ"): "I",
    }


def _prepared(text: str, grams: Callable[[str], str]) -> str:
    text = _with_languages(text)
    if not text.isascii():
        text = folded(_signs().sub(_sign_word, text))
        text = _UNSPACED_RUN.sub(lambda run: f" {grams(run.group())} ", text)
    text = _APOSTROPHE_S.sub("", text)
    if "_" in text or "." in text:
        text = _JOINED_WORD.sub(_with_whole, text)
    if "-" in text:
        text = _HYPHENATED.sub(_with_whole, text)
    return _CAMEL_WORD.sub(_with_parts, text) if _CAMEL.search(text) else text


@cache
def _signs() -> re.Pattern[str]:
    """Symbols, money and mathematics, unless they are letters in another form (\u338f); emoji, flags and keycaps."""
    symbols = [chr(code) for code in range(0xA0, 0x3400) if unicodedata.category(chr(code)) in ("So", "Sm", "Sc")]
    plain = "".join(each for each in symbols if not any(map(str.isalnum, unicodedata.normalize("NFKC", each))))
    sign = f"[{_PICTOGRAPHS}{_MARKS}{re.escape(plain)}]"
    style = "[\ufe0f\U0001f3fb-\U0001f3ff]*"
    keycap = "[0-9#*]\ufe0f?\u20e3"
    return re.compile(f"[\U0001f1e6-\U0001f1ff]{{2}}|{keycap}|{sign}{style}(?:\u200d{sign}{style})*")


def _sign_word(sign: re.Match[str]) -> str:
    """A word for a pictograph, which the tokenizer would drop; its tone and style do not count."""
    return f" sign{''.join(f'{ord(each):x}' for each in _SIGN_STYLE.sub('', sign.group()))} "


def _ones_and_twos(run: str) -> str:
    return " ".join(f"{run[at]} {run[at : at + 2]}" for at in range(len(run) - 1)) + f" {run[-1]}"


def seam(before: str, after: str) -> str:
    """The pair of unspaced script that a cut between two passages has parted; empty where there is none."""
    pair = folded(before[-1:] + after[:1])
    return pair if len(pair) == 2 and _UNSPACED_RUN.fullmatch(pair) else ""


def _pairs(run: str) -> str:
    return run if len(run) == 1 else " ".join(run[at : at + 2] for at in range(len(run) - 1))


def _with_parts(word: re.Match[str]) -> str:
    parts = _CAMEL_PART.findall(word.group())
    numbered = [f"{name}{number}" for name, number in pairwise(parts) if number.isdecimal()]  # parseHTML5 has html5
    return f"{word.group()} {' '.join(parts + numbered)}" if len(parts) > 1 else word.group()


def _with_whole(word: re.Match[str]) -> str:
    """One term for the whole name beside its parts: `parse_query` is found by `parseQuery` too."""
    name = word.group()
    return f"{name.replace('_', '').replace('.', '').replace('-', '').lower()} {name}"


def _with_languages(text: str) -> str:
    """`C++` and `C#` are more than the letter C, which is all that the tokenizer leaves of them."""
    return _LANGUAGE.sub(_language, text) if "++" in text or "#" in text else text


def _language(name: re.Match[str]) -> str:
    letter = name.group()[0]
    return f"{letter}{'sharp' if name.group()[1] == '#' else 'plusplus'} {letter}"
