# ruff: noqa: E501 - a pattern that is broken over lines is harder to read
"""Extraction: claims from the sentences of a text. What is hedged, past, asked or conditional makes no claim."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

from lithos.core.markdown import RAW, Kind, scan
from lithos.graph.trust.claims.values import CODE_ENDINGS, Claim, ClaimKind, Mention

LONGEST_TEXT = 20_000
MOST_CLAIMS = 50
_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=[\w`\"'(\[*-])|\n\s*\n|\n\s*(?=[-*+•]\s|\d+[.)]\s)")
_KINDS = (
    "class|classes|struct|interface|enum|exception|function|method|constructor|helper|decorator|mixin|module|package|file|folder|directory|"
    "constant|variable|attribute|field|property|type|parameter|argument|keyword argument|option|setting|flag|library"
)
_ENDINGS = "|".join(sorted(CODE_ENDINGS, key=len, reverse=True))
# What may be a mention, in this order, each with a pattern that finds something wherever it can match. Most sentences
# are plain prose: without the patterns that cannot match, one costs a sixth.
_MENTIONS = (
    ("`", r"`(?P<tick>[^`\n]{1,200})`"),
    (
        r"/|\.\w",
        rf"(?P<path>(?:\.{{0,2}}/)?(?:[\w@.+-]+/)+(?:[\w@+-]+(?:\.[\w@+-]+)*)?(?::\d+(?:-\d+)?)?|\b[\w+-]+\.(?:{_ENDINGS})\b(?::\d+(?:-\d+)?)?)",
    ),
    (r"\(\)", r"(?P<call>(?:[^\W\d]\w*(?:\.|::))*[^\W\d]\w*\(\))"),
    (
        r"_|\.\w|::|(?<=\w)[A-Z]",
        r"(?P<code>\b(?:[^\W\d]\w*(?:\.|::))+[^\W\d]\w*\b|\b_*[^\W\d_]\w*_\w*\b|\b_+[^\W\d_]\w*\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z]\w*[a-z]\w*[A-Z]\w*\b|\b[A-Z]{2,}[a-z]\w*\b)",
    ),
    (
        "(?:class|function|method|module|named|called|imports) ",
        r"(?:(?<=class )|(?<=function )|(?<=method )|(?<=module )|(?<=named )|(?<=called )|(?<=imports ))(?P<named>[^\W\d]\w+)\b",
    ),
    (
        "class|function|method|struct|decorator",
        r"(?P<before>\b[^\W\d]\w+)(?=\s+(?:class|function|method|struct|decorator)\b)",
    ),
    ("[A-Z]", r"(?P<capital>\b[A-Z]\w+\b)"),
)
_SIGNS = [re.compile(sign) for sign, _ in _MENTIONS]
_DRESSED = (
    (re.compile(r":setting:(?=`)"), "setting "),
    (re.compile(r":(?:\w{1,20}:){1,2}(?=`)"), ""),  # roles of reStructuredText
    (re.compile(r"[\u200b-\u200f\u2060\ufeff\u00ad]"), ""),
    (re.compile(r"\[([^\]\n]{1,200})\]\([^)\s]{1,500}\)"), r"\1"),
    (re.compile(r"</?[a-z][a-z0-9]{0,10}>", re.IGNORECASE), ""),
    (re.compile(r"(?<![\w*`])(\*{1,3})(?=\S)([^*\n]{1,300}?)(?<=\S)\1(?![\w*])"), r"\2"),
    (re.compile(r"(?<![\w`/.])_([^_\W][^_\n`]{0,300})_(?![\w`/.])"), r"\1"),
    (re.compile(rf"[\"“]([\w./-]+/[\w./-]+|[\w-]+\.(?:{_ENDINGS}))[\"”]"), r"\1"),
    (re.compile(r"^[\"“]([^\W\d]\w+)[\"”](?= (?:is|lives|inherits|extends|calls|class)\b)", re.MULTILINE), r"`\1`"),
)
# "the Client class lives in": what follows the noun is no name
_NAMED_BEFORE = re.compile(r"(?:`[^`]+`|\b[A-Z]\w*|\b\w+_\w*|\(\))\s+(?:class|function|method|module)\s$")
_NO_MENTION = frozenset(
    re.findall(
        r"\w+",
        "a an the this that these those our its their your is are was were be been no not none true false null and or but in "
        "on at of to for from with by as it he she they we you i there here which what when where why how who all each every "
        "any some base parent child sub abstract static new old same other another such one two three inside within under if "
        "then else before after because since while only also both either neither class function method module file called named "
        "can could may might will would should must helper private public internal async instance",
    )
)
_LITERAL = r"(?P<value>M|-?\d(?:[\d_.]*\d)?(?![\w%])|None|True|False|null|nil|true|false|'[^']*'|\"[^\"]*\"|[^\W\d]\w*)"
_DO = r"(?:\s+(?P<no>do not|does not|don't|doesn't|never|no longer|cannot))?(?:\s+(?:also|only|directly|now|still|currently|itself|explicitly|internally|then|always))*\s+"
_BE = r"\s+(?:(?:is|are)(?:\s+(?P<no>not|no longer|never))?|(?P<nt>isn't|aren't))(?:\s+(?:now|currently|still|already|actually|only|all))*\s+"
_LIST = r"M(?:(?:,\s*(?:and\s+)?|\s+and\s+)M)*"
_NUMBER = r"(?P<number>\d+|no|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_COUNTED = r"(?:public |different |direct |concrete )?(?P<what>methods?|functions?|classes|class|parameters?|arguments?|args|subclasses|fields?|attributes?|lines|callers)"
_HEDGE = re.compile(
    r"\b(?:should|could|would|might|may|must|shall|can|will|if|unless|whether|when|whenever|where|was|were|used to|previously|formerly|before|earlier|older|"
    r"originally|had|did|didn't|wasn't|suppose|propos\w+|plan\w*|want|wants|let's|lets|try|tries|instead|hypothes\w+|assum\w+|probably|perhaps|maybe|"
    r"likely|seems?|appears?|thinks?|thought|believes?|guess|todo|consider\w*|expected|unlike|until|after|once|without|so that|allow\w*|ensur\w+|"
    r"prevent\w*|making|made|make|makes|remove[sd]?|renam\w+|fix\w*|bug|wrong\w*|incorrect\w*|claims?|said|says|typo|example|e\.g)\b",
    re.IGNORECASE,
)
_ALLOWED = re.compile(
    r"^ ?unlike [^,]{1,60}, |\b(?:you(?:'ll| will| can)|can be|may be) (?=find|found)|\bcan be (?=found)", re.IGNORECASE
)
_PREPOSITION = re.compile(
    r"\b(?:of|on|in|by|for|with|from|between|than|via|using|like)\s+(?:⟦\d+⟧(?:,| and| or)+\s+)*$", re.IGNORECASE
)
_QUALIFIED = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|some|over|under|up to|at least|at most|more than|fewer than|less than|~)\s*$",
    re.IGNORECASE,
)
NUMBERS = {
    word: value
    for value, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )
} | {"no": 0}


@dataclass(slots=True)
class _Sentence:
    text: str
    shape: str = ""  # the text with ⟦n⟧ for its mentions
    mentions: list[Mention] = field(default_factory=list)

    def at(self, mark: str) -> Mention:
        return self.mentions[int(mark[1:-1])]


def claims_in(text: str) -> list[Claim]:
    """The claims of a text, in order, each once."""
    return list(_claims_in(text))


@lru_cache(maxsize=512)  # an answer reads the texts of its pieces twice, and the next one many of them again
def _claims_in(text: str) -> tuple[Claim, ...]:
    found: dict[tuple[object, ...], Claim] = {}
    last: list[Mention] = []
    for part in _SENTENCE.split(_plain(_without_code(text[:LONGEST_TEXT]))):
        words = " ".join(part.split()).strip().lstrip("-*+•> ")
        if not 5 <= len(words) <= 1_000 or words.endswith("?") or words.startswith(("|", "#", ">>>")):
            continue
        sentence = _marked(_named_again(words, last))
        last = sentence.mentions
        if not last:  # every pattern asks for one
            continue
        for claim in _of_sentence(sentence):
            found.setdefault(
                (claim.kind, claim.subject.name, claim.value, claim.of and claim.of.name, claim.negated), claim
            )
    return tuple(found.values())[:MOST_CLAIMS]


def _named_again(words: str, last: list[Mention]) -> str:
    """ "It is in a.py" with its name, where the sentence before has one name; "both are" where it has two."""
    names = list(dict.fromkeys(each.text for each in last))
    if len(names) == 1:
        return re.sub(r"^it (?=\w)", lambda _: f"`{names[0]}` ", words, flags=re.IGNORECASE)
    if len(names) == 2:
        return re.sub(
            r"^(?:they )?both (?=\w)", lambda _: f"`{names[0]}` and `{names[1]}` ", words, flags=re.IGNORECASE
        )
    return words


def is_read_whole(text: str) -> bool:
    """Whether no claim of it was left out."""
    return len(text) <= LONGEST_TEXT and len(_claims_in(text)) < MOST_CLAIMS


def _without_code(text: str) -> str:
    scanned = scan(text)
    kept = zip(scanned.lines, scanned.kinds, scanned.inline, strict=True)
    return "".join(line if inline != RAW or kind is Kind.HTML else "\n" for line, kind, inline in kept)


def _plain(text: str) -> str:
    """Without emphasis, links, tags and signs of no width: they hide a claim from the patterns, not from readers."""
    for pattern, instead in _DRESSED:
        text = pattern.sub(instead, text)
    return text


def _of_sentence(sentence: _Sentence) -> Iterator[Claim]:
    readings = [sentence]
    if (folded := _folded(sentence)).shape != sentence.shape:
        readings.append(folded)
    for each in readings:
        for before, clause in _clauses(each.shape):
            yield from _of_clause(replace(each, shape=clause), before)


def _folded(sentence: _Sentence) -> _Sentence:
    """ "M in a.py calls …", "M of Cart calls …" and "Cart's M calls …" with one name in place of the two."""
    mentions = list(sentence.mentions)

    def fold(match: re.Match[str]) -> str:
        who, where = sentence.at(match.group("who")), sentence.at(match.group("where"))
        if who.is_path or (where.is_path and match.group("of") != "in"):
            return match.group()
        if where.is_path:
            one = replace(who, within=where.text)
        elif "." not in who.name and re.fullmatch(r"[^\W\d][\w.]*", where.text):
            one = replace(who, text=f"{where.name}.{who.text}")
        else:
            return match.group()
        mentions.append(one)
        return f"⟦{len(mentions) - 1}⟧"

    return _Sentence(sentence.text, _OWNED.sub(fold, sentence.shape), mentions)


def _clauses(shape: str) -> Iterator[tuple[str, str]]:
    """The sentence; "M, which calls …", "M, a function in …" and "M … and calls …" with their subject; and the words before each."""
    yield "", shape
    for match in _RELATIVE.finditer(shape):
        yield shape[: match.start()], f"{match.group('who')} {shape[match.end() :]}"
    for match in _APPOSED.finditer(shape):
        yield shape[: match.start()], f"{match.group('who')} is {shape[match.end() :]}"
    if lead := _LEAD.match(shape):
        for match in _AND.finditer(shape, lead.end()):
            if not _OTHER_SUBJECT.search(shape, lead.end(), match.start()):
                yield shape[: match.start()], f"{lead.group('who')} {shape[match.end() :]}"


def _of_clause(sentence: _Sentence, before: str) -> Iterator[Claim]:
    taken: list[tuple[int, int]] = []
    for kind, pattern, build in _PATTERNS:
        for match in pattern.finditer(sentence.shape):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            if sentence.shape.startswith("'s", match.end()) or _is_of_another(sentence.shape, match):
                continue
            if _HEDGE.search(_ALLOWED.sub("", f"{before} {sentence.shape[: match.end()]}")):
                continue
            made = list(build(kind, sentence, match))
            if made:
                taken.append(match.span())
            yield from made


def _is_of_another(shape: str, match: re.Match[str]) -> bool:
    """ "The methods on M take …" is not about M."""
    return match.group().startswith("⟦") and _PREPOSITION.search(shape, 0, match.start()) is not None


@cache
def _mention_pattern(possible: tuple[bool, ...]) -> re.Pattern[str]:
    return re.compile("|".join(text for (_, text), is_possible in zip(_MENTIONS, possible, strict=True) if is_possible))


def _marked(words: str) -> _Sentence:
    sentence = _Sentence(words)
    possible = tuple(sign.search(words) is not None for sign in _SIGNS)
    if not any(possible):
        return sentence

    def mark(match: re.Match[str]) -> str:
        group = match.lastgroup or ""
        text = match.group(group)
        if group == "capital" and (
            text.lower() in _NO_MENTION or text in ("None", "True", "False") or _HEDGE.fullmatch(text)
        ):
            return match.group()
        if group in ("named", "before") and text.lower() in _NO_MENTION:
            return match.group()
        if group == "named" and _NAMED_BEFORE.search(words, 0, match.start()):
            return match.group()
        tail = ""
        if group in ("path", "code") and text.endswith("."):
            text, tail = text[:-1], "."
        sentence.mentions.append(Mention(text.strip(), strong=group not in ("capital", "before", "named")))
        return f"⟦{len(sentence.mentions) - 1}⟧{tail}"

    shape = _mention_pattern(possible).sub(mark, words)
    if sentence.mentions:
        sentence.shape = _NOUNS.sub(lambda match: _with_noun(sentence, match), shape)
    return sentence


_QUALITY = "new|existing|shared|private|public|internal|built-in|abstract|static|async|optional|required|platform|helper|keyword-only"
_NOUNS = re.compile(
    rf"(?:\b(?:the|a|an|our|this|its|that)\s+)?(?:\b(?:new|existing|shared|private|public|internal|built-in)\s+)?(?:\b(?P<noun>{_KINDS})\s+)?(?:\b(?:named|called)\s+)?(?P<mark>⟦\d+⟧)(?P<own>'s)?(?:\s+(?:(?:{_QUALITY})\s+)?(?P<after>{_KINDS})\b(?!\s+(?:of|in|for)\b))?",
    re.IGNORECASE,
)


def _with_noun(sentence: _Sentence, match: re.Match[str]) -> str:
    """Nouns beside a mention become its kind: `the function ⟦1⟧` and `⟦1⟧ function` are both ⟦1⟧."""
    noun = (match.group("noun") or match.group("after") or "").lower()
    index = int(match.group("mark")[1:-1])
    if noun:
        sentence.mentions[index] = replace(sentence.mentions[index], kind=noun.split()[-1])
    return match.group("mark") + (match.group("own") or "")


def _negated(match: re.Match[str]) -> bool:
    groups = match.groupdict()
    return any(bool((groups.get(name) or "").strip()) for name in ("no", "nt", "none"))


def _marks(sentence: _Sentence, text: str) -> list[Mention]:
    return [sentence.at(mark) for mark in re.findall(r"⟦\d+⟧", text)]


Build = Iterator[Claim]


def _location(kind: ClaimKind, sentence: _Sentence, match: re.Match[str]) -> Build:
    where = sentence.at(match.group("where"))
    if not (
        where.is_path
        or where.kind in ("module", "package", "file", "folder", "directory", "class")
        or "." in where.name
    ):
        return
    groups = match.groupdict()
    soft = "" if groups.get("hard") else "loose" if groups.get("loose") else "soft"
    if line := match.groupdict().get("line"):
        where = replace(where, text=f"{where.text.partition(':')[0]}:{line}")
    for subject in _marks(sentence, match.group("what")):
        if not subject.is_path and not _is_literal(subject):
            yield Claim(kind, sentence.text, subject, where.text, where, _negated(match), soft)


def _existence(kind: ClaimKind, sentence: _Sentence, match: re.Match[str]) -> Build:
    for subject in _marks(sentence, match.group("what")):
        is_symbol = subject.kind in (
            "class",
            "function",
            "method",
            "struct",
            "interface",
            "enum",
            "constant",
            "decorator",
            "mixin",
        )
        if subject.is_path and not is_symbol and subject.strong:
            yield Claim(kind, sentence.text, subject, "file", None, _negated(match))
        elif is_symbol or (subject.strong and subject.text.endswith("()")):
            yield Claim(kind, sentence.text, subject, subject.kind, None, _negated(match))


def _file(kind: ClaimKind, sentence: _Sentence, match: re.Match[str]) -> Build:
    """ "The file `a.py` holds …" says that there is one."""
    subject = sentence.at(match.group("what"))
    if (
        subject.kind == "file"
        and subject.is_path
        and subject.strong
        and not sentence.shape[match.end() :].startswith(" ⟦")
    ):
        yield Claim(kind, sentence.text, subject, "file")


def _pair(kind: ClaimKind, sentence: _Sentence, match: re.Match[str]) -> Build:
    purpose = (match.groupdict().get("purpose") or "").strip().lower()
    for subject in _marks(sentence, match.group("a")):
        for of in _marks(sentence, match.group("b")):
            if subject.name != of.name and not _is_literal(subject) and not _is_literal(of):
                yield Claim(kind, sentence.text, subject, of.name, of, _negated(match), purpose)


def _calls(kind: ClaimKind, sentence: _Sentence, match: re.Match[str]) -> Build:
    inside = match.groupdict().get("inside")
    method = sentence.at(inside) if inside else None
    for each in _pair(kind, sentence, match):
        if each.subject.is_path or each.of is None or each.of.is_path:
            continue
        if method and method.kind == "method" and "." not in method.name:
            each = replace(each, subject=replace(method, text=f"{each.subject.name}.{method.text}"))
        yield each


def _member(kind: ClaimKind, sentence: _Sentence, match: re.Match[str]) -> Build:
    """ "`Cart` has a method `add`": only with the noun, else it may be a parameter or anything."""
    owner, groups = sentence.at(match.group("a")), match.groupdict()
    own = "own" if groups.get("own") else ""
    for member in _marks(sentence, match.group("b")):
        is_said = member.kind in ("method", "property", "attribute", "field") or groups.get("noun") or own
        if not owner.is_path and re.fullmatch(r"[^\W\d]\w*(?:\(\))?", member.text) and (is_said or groups.get("none")):
            detail = own or ("" if is_said else "any")
            yield Claim(kind, sentence.text, owner, member.name, member, _negated(match), detail)


def _team_uses(kind: ClaimKind, sentence: _Sentence, match: re.Match[str]) -> Build:
    purpose = (match.groupdict().get("purpose") or "").strip().lower()
    for of in _marks(sentence, match.group("b")):
        yield Claim(kind, sentence.text, Mention("", strong=False), of.name, of, _negated(match), purpose)


def _signature(kind: ClaimKind, sentence: _Sentence, match: re.Match[str]) -> Build:
    subject = sentence.at(match.group("f"))
    if subject.is_path:
        return
    for parameter in _marks(sentence, match.group("p")):
        needs_noun = (
            match.groupdict().get("verb") in ("has", "have", "require", "requires", None)
            and "noun" not in match.groupdict()
        )
        if needs_noun and parameter.kind not in ("parameter", "argument", "option", "flag"):
            continue
        if re.fullmatch(r"\*{0,2}[^\W\d]\w*=?", parameter.text):
            name = parameter.text.strip("*=")
            detail = "required" if re.search(r"\brequire", match.group()) else ""
            yield Claim(kind, sentence.text, subject, name, replace(parameter, text=name), _negated(match), detail)


def _written_signature(kind: ClaimKind, sentence: _Sentence, match: re.Match[str]) -> Build:
    """ "`f(a, b)` returns …" says that f takes two arguments of these names."""
    subject = sentence.at(match.group("f"))
    if re.fullmatch(r"[\w.:]*\w\([^()]*\w[^()]*\)", subject.text) and not subject.is_path:
        yield Claim(kind, sentence.text, subject, subject.text.partition("(")[2].rstrip(")"), None, False, "written")


def _returns(kind: ClaimKind, sentence: _Sentence, match: re.Match[str]) -> Build:
    value = match.group("value")
    shown = sentence.at(value).text if value.startswith("⟦") else value
    subject = sentence.at(match.group("f"))
    if not subject.is_path and re.fullmatch(r"[\w.\[\], |]+", shown) and (value.startswith("⟦") or shown in _RETURNED):
        yield Claim(kind, sentence.text, subject, shown, None, _negated(match))


def _count(kind: ClaimKind, sentence: _Sentence, match: re.Match[str]) -> Build:
    if _QUALIFIED.search(sentence.shape[: match.start("number")]):
        return
    number = match.group("number").lower()
    value = str(NUMBERS.get(number, number))
    what = {"class": "classes", "args": "arguments"}.get(match.group("what").lower(), match.group("what").lower())
    what = what if what.endswith("s") else f"{what}s"
    what = {"arguments": "parameters", "attributes": "fields"}.get(what, what)
    yield Claim(kind, sentence.text, sentence.at(match.group("of")), value, None, _negated(match), what)


def _default(kind: ClaimKind, sentence: _Sentence, match: re.Match[str]) -> Build:
    value = match.group("value")
    shown = sentence.at(value).text if value.startswith("⟦") else value
    groups = match.groupdict()
    place = groups.get("f")
    parameter = sentence.at(match.group("p")) if groups.get("p") else Mention(groups["word"], strong=False)
    if parameter.kind == "setting" and "set to" in match.group():
        return  # of another site, not of the code
    if re.fullmatch(r"[^\W\d]\w*", shown) and not value.startswith("⟦") and shown.lower() not in _LITERALS:
        return
    for owner in [sentence.at(place)] if place else [parameter, *_owners(sentence, match)]:
        yield Claim(kind, sentence.text, owner, shown, parameter, _negated(match))


def _owners(sentence: _Sentence, match: re.Match[str]) -> list[Mention]:
    """Whose a parameter may be if the claim does not say: the one name before it; the head of "Cart.size"."""
    parameter = sentence.at(match.group("p"))
    if "." in parameter.name:
        return [replace(parameter, text=parameter.name.rpartition(".")[0])]
    marks = re.findall(r"⟦\d+⟧", sentence.shape[: match.start("p")])
    before = {one.name: one for mark in marks if not (one := sentence.at(mark)).is_path and one.name != parameter.name}
    return list(before.values()) if len(before) == 1 else []


_RETURNED = frozenset({"None", "True", "False", "int", "str", "bool", "float", "bytes", "dict", "list", "tuple"})
_LITERALS = frozenset({"none", "true", "false", "null", "nil"})


def _is_literal(mention: Mention) -> bool:
    return mention.text.lower() in _LITERALS or bool(re.fullmatch(r"[-\d.'\"\[\]{}\s]+", mention.text))


def _pattern(text: str) -> re.Pattern[str]:
    """A pattern in which M means a mention."""
    return re.compile(re.sub(r"(?<![\w\\])M(?!\w)", "⟦\\\\d+⟧", text), re.IGNORECASE)


_VERB = r"(?=(?:is|are|isn't|has|have|does|doesn't|never|no longer|lives?|sits?|resides?|calls?|invokes?|takes?|accepts?|expects?|requires?|extends?|inherits?|subclasses|derives?|returns?|uses?|imports?|defaults?|overrides?|defines?|contains?|depends?|relies)\b)"
_RELATIVE = _pattern(rf"(?P<who>M), which (?:now |also |itself )?{_VERB}")
_APPOSED = _pattern(r"(?P<who>M), (?=(?:an?|the) )")
_LEAD = _pattern(rf"(?P<who>M) (?:now |also |still )?{_VERB}")
_OWNED = _pattern(rf"(?P<who>M)(?:,? (?P<of>in|of) (?P<where>M),?)(?= {_VERB})")
_AND = re.compile(rf",? (?:and|but) (?:now |also |still |itself )?{_VERB}", re.IGNORECASE)
_OTHER_SUBJECT = re.compile(r"\b(?:that|which|who|where|while|because|so|since)\b|[,:]", re.IGNORECASE)
_PATTERNS = [
    (kind, _pattern(text), build)
    for kind, build, texts in (
        (
            ClaimKind.DEFAULT,
            _default,
            (
                rf"default(?: value)? (?:of|for) (?P<p>M)(?: (?:in|of|for) (?P<f>M))?(?:\s+(?:is|equals)(?:\s+(?P<no>not))?)\s+{_LITERAL}",
                rf"in (?P<f>M),?\s+(?P<p>M) (?:(?P<no>does not|no longer) )?defaults? to {_LITERAL}",
                rf"(?P<p>M)(?: (?:parameter|argument|option|flag))? of (?P<f>M) (?:(?P<no>does not|no longer) )?defaults? to {_LITERAL}",
                rf"(?P<f>M)'s (?P<p>M) (?:(?P<no>does not|no longer) )?defaults? to {_LITERAL}",
                rf"(?P<p>M) (?:(?P<no>does not|no longer) )?defaults? to {_LITERAL} in (?P<f>M)",
                rf"(?P<p>M) (?:is|are)(?: (?P<no>not))? {_LITERAL} by default (?:in|for|of) (?P<f>M)",
                rf"(?P<f>M)'s (?P<p>M) has a default(?: value)? of {_LITERAL}",
                rf"(?P<p>M) (?:of|in) (?P<f>M) has a default(?: value)? of {_LITERAL}",
                rf"(?P<p>M) (?:of|in) (?P<f>M) (?:is|are)(?: (?P<no>not))? {_LITERAL} by default",
                rf"(?P<f>M) (?:takes|accepts|has|expects|declares) (?:(?:one|an?) (?:parameter|argument), )?(?P<p>M),? (?:whose default(?: value)? is|with a default(?: value)? of|which defaults to|that defaults to|defaulting to) {_LITERAL}",
                rf"(?P<f>M) (?:takes|accepts|has|expects|declares) (?P<p>M),? (?:which|that) is {_LITERAL} by default",
                rf"(?P<f>M) has a default (?P<word>[a-z_]+) of {_LITERAL}",
                rf"(?P<f>M) (?:sets|leaves) (?P<p>M) (?:to |at )?{_LITERAL} by default",
                rf"(?P<p>M) (?:(?P<no>does not|no longer) )?(?:defaults? to|equals?) {_LITERAL}",
                rf"(?P<p>M) (?:is|are)(?: (?P<no>not))? {_LITERAL} (?:by default|unless)",
                rf"(?P<p>M) (?:is|are)(?: (?P<no>not))? set to {_LITERAL}",
                rf"^(?P<p>M) = {_LITERAL}\.?$",
                r"(?:^|[:;,] )(?P<p>M) is (?:now |currently |still )?(?P<no>not )?(?P<value>-?\d[\d_.]*\d|-?\d|None|True|False|'[^']*'|\"[^\"]*\")(?=[.,;]?$|[.,;] | in ⟦| and )",
            ),
        ),
        (
            ClaimKind.COUNT,
            _count,
            (
                rf"(?P<of>M) (?:has|defines|contains|takes|accepts|declares|expects|have)(?: exactly| only)? {_NUMBER} {_COUNTED}",
                rf"there are(?: exactly| only)? {_NUMBER} {_COUNTED} (?:in|of|on) (?P<of>M)",
            ),
        ),
        (
            ClaimKind.SIGNATURE,
            _signature,
            (
                rf"(?P<f>M){_DO}(?P<verb>takes?|accepts?|expects?|receives?|requires?|has|have) (?:an? |the )?(?:(?:optional|required|keyword(?:-only)?|positional|new|extra|boolean|parameters?|arguments?|args) )*(?P<p>{_LIST})(?! (?:method|class|field|attribute))",
                r"(?P<f>M) (?:has|takes|accepts|needs|requires) (?P<no>no) (?P<p>M)",
                rf"(?P<p>M){_BE}(?:an? |the )?(?:(?:optional|required|keyword(?:-only)?|positional) )?(?P<noun>parameter|argument) (?:of|to|for) (?P<f>M)",
            ),
        ),
        (ClaimKind.SIGNATURE, _written_signature, (rf"(?=(?P<f>M) {_VERB})", r"^(?=(?P<f>M)\.?$)")),
        (
            ClaimKind.MEMBER,
            _member,
            (
                rf"(?P<a>M){_DO}(?:has|have|provides?|offers?|exposes?|declares?|defines?) (?P<none>no )?(?P<b>M)(?: (?P<noun>method|property|attribute))? of (?P<own>its) own",
                rf"(?P<a>M){_DO}(?:has|have|defines?) (?P<own>its) own (?P<b>M)(?: (?P<noun>method|property|attribute))?",
                rf"(?P<a>M){_DO}(?:has|have|provides?|offers?|exposes?|declares?) (?P<none>no )?(?P<b>M)",
                rf"(?P<b>M){_BE}an? (?:(?:static|class|abstract|async|private|public|instance) )?(?P<noun>method|property) (?:of|on) (?P<a>M)",
                rf"(?P<a>M){_DO}(?P<own>overrides?) (?P<b>{_LIST})",
            ),
        ),
        (
            ClaimKind.INHERITANCE,
            _calls,
            (
                rf"(?P<a>{_LIST})(?: both| all)?{_DO}(?:inherits? from|extends?|subclass(?:es)?|derives? from|implements?) (?P<b>{_LIST})",
                rf"(?P<a>M){_BE}(?:an? |the )?(?:direct )?(?:(?:subclass|child|child class|descendant) of|derived from) (?P<b>M)",
                rf"(?P<a>M)(?:, |{_BE})(?:an? )?(?P<b>M) subclass\b",
                rf"(?P<b>M){_BE}(?:an? |the )?(?:direct )?(?:base(?: class)?|parent(?: class)?|superclass) (?:of|for) (?P<a>M)",
            ),
        ),
        (
            ClaimKind.CALLS,
            _calls,
            (
                rf"(?P<a>{_LIST})(?: both| all)?{_DO}(?:calls?|invokes?|delegates? to) (?P<b>{_LIST})(?: (?:from|in|inside|within) (?P<inside>M))?",
                rf"(?P<b>M){_BE}(?:called|invoked) (?:by|from|in|inside|within) (?P<a>{_LIST})",
                rf"(?:inside|in|within) (?P<a>M),?\s+(?P<b>M){_BE}(?:called|invoked)",
            ),
        ),
        (
            ClaimKind.USES,
            _pair,
            (
                rf"(?P<a>{_LIST})(?: both| all)?{_DO}(?:uses?|imports?|depends? on|relies? on|requires?) (?P<b>{_LIST})(?: (?:for|to) (?P<purpose>[\w -]{{3,40}}))?",
                rf"(?P<b>M){_BE}(?:imported|used|shared) (?:in|by|from|inside|between) (?P<a>{_LIST})",
            ),
        ),
        (
            ClaimKind.USES,
            _team_uses,
            (
                rf"\b(?:we|the project|this project|the codebase|the code|the repository){_DO}(?:uses?|depends? on|relies? on) (?P<b>{_LIST})(?: (?:for|to) (?P<purpose>[\w -]{{3,40}}))?",
            ),
        ),
        (
            ClaimKind.EXISTENCE,
            _existence,
            (
                r"\bthere(?: is|'s| are| exists?)(?: already| still| now)?(?P<none> no| not)?\s+(?P<what>M)(?!\s*(?:in|under|inside|within) ⟦)",
                r"\b(?P<none>no)\s+(?P<what>M)(?: already)? exists?\b",
                rf"(?P<what>M)(?: already| still)?{_DO}exists?\b(?!\s*(?:in|under|inside) ⟦)",
                r"(?P<what>M)(?: already| still)? exists?\b(?!\s*(?:in|under|inside) ⟦)",
                r"\b[Ww]e (?:already |still )?have (?P<none>no )?(?P<what>M)(?!\s*(?:in|under|inside|within) ⟦)",
                rf"\b(?:the codebase|the repo|the repository|the project|this project|this repository){_DO}(?:has|have|contains?|defines?) (?P<none>no )?(?P<what>M)",
            ),
        ),
        (
            ClaimKind.EXISTENCE,
            _file,
            (r"(?P<what>M) (?:contains|holds|handles|implements|has)\b(?! (?:been|no)\b)",),
        ),
        (
            ClaimKind.LOCATION,
            _location,
            (
                rf"(?P<what>{_LIST}){_BE}(?P<hard>defined|declared|implemented|located) (?:in|at|inside|under|within) (?P<where>M)",
                rf"(?P<what>{_LIST}){_BE}(?:found |placed |available )?(?:in|at|inside|under|within) (?P<where>M)",
                rf"(?P<what>M){_DO}(?P<hard>lives?|sits?|resides?) (?:in|at|inside|under|within) (?P<where>M)",
                rf"(?P<what>M){_DO}(?:comes? from|belongs? to) (?P<where>M)",
                r"(?:find|found) (?P<what>M) (?:in|at|inside|under|within) (?P<where>M)",
                rf"definition of (?P<what>M){_BE}(?:(?P<hard>located|defined) )?(?:in|at|inside|under) (?P<where>M)",
                rf"there(?: is|'s| exists?)(?P<none> no)? (?P<what>M)(?: (?:{_KINDS}))? (?:in|under|inside|within) (?P<where>M)",
                rf"(?P<where>M){_DO}(?P<hard>defines?|contains?|declares?|holds?) (?P<what>{_LIST})",
                r"(?P<what>M) can be (?P<hard>found) (?:in|at|inside|under|within) (?P<where>M)",
                r"(?P<what>M)(?: exists| already exists) (?:in|under|inside) (?P<where>M)",
                rf"(?P<what>M){_BE}at line (?P<line>\d+) (?:of|in) (?P<where>M)",
                r"(?P<where>M) has (?P<what>M)",
                r"\bin (?P<what>M) in (?P<where>M)",
                rf"such as (?P<what>{_LIST}),? (?:is|are) (?P<hard>defined|declared|implemented|located) in (?P<where>M)",
                rf"(?P<what>M){_BE}part of (?P<where>M)",
                r"^(?P<what>M)(?:'s definition)?(?::| →| ->| =>| —| –) (?P<where>M)\.?$",
                r"(?P<what>M) \((?P<where>M)\)",
                rf"(?P<what>M)(?:, |{_BE})(?:an? |the )(?:[\w-]+ ){{0,3}}?(?P<hard>function|class|helper|constant|decorator|exception|mixin|struct|interface|enum|type) (?:in|of|from|inside|at) (?P<where>M)",
                r"(?:^|[:,] )(?P<what>M) (?P<loose>in) (?P<where>M)(?= (?:now|is|are|has|does|never|no longer|[a-z]{2,}s)\b)",
            ),
        ),
        (ClaimKind.RETURNS, _returns, (rf"(?P<f>M){_DO}returns? (?:an? )?{_LITERAL}",)),
    )
    for text in texts
]
