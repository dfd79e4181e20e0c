"""Checking: the verdict on one claim, from facts of the graph alone.

A false alarm is worse than a miss: `contradicted` needs a complete index, a subject that the graph knows, and evidence
that no reading of the sentence is true. All candidates of an ambiguous name must contradict; one confirms.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterable, Sequence

from lithos.graph.code import Bases, CodeNode
from lithos.graph.trust.claims.signatures import Signature, read_signature
from lithos.graph.trust.claims.values import Checked, Claim, ClaimKind, CodeFacts, Mention, Verdict

MOST_CANDIDATES = 40
REACH = 3  # calls through helpers count as calls in people's sentences
_CALLABLE = ("function", "method")
_OUTSIDE = re.compile(r"/|~|\.\.|[a-z]+://|.*\*", re.IGNORECASE)  # `httpx/_client.py` is a path in here
_CONTAINERS = ("tuple", "list", "dict", "set", "frozenset")
_WITHOUT_METHODS = frozenset({"Generic", "ABC", "Protocol"})
_TYPES = ("class", "interface", "enum", "type")
_NOUNS = {
    "struct": "class",
    "mixin": "class",
    "decorator": "function",
    "helper": "function",
    "constructor": "class",
    "exception": "class",
}
_UNIT = re.compile(
    r"\d\s?(?:(?:milli|micro)?seconds?|minutes?|hours?|days?|weeks?|m?s|[kmgt]i?b|(?:kilo|mega|giga)?bytes|percent|thousand|million)\b|%",
    re.IGNORECASE,
)
_FACTORS = frozenset(
    {60, 3600, 86400, 604800, 24, 7, 100, *(base**power for base in (1000, 1024) for power in (1, 2, 3))}
)
Finding = tuple[Verdict, tuple[str, ...], str]
_UNKNOWN: Finding = (Verdict.UNKNOWN, (), "")


def check(claim: Claim, facts: CodeFacts) -> Checked:
    verdict, proof, reason = _CHECKS[claim.kind](claim, facts)
    if claim.negated:
        verdict = {Verdict.CONFIRMED: Verdict.CONTRADICTED, Verdict.CONTRADICTED: Verdict.CONFIRMED}.get(
            verdict, verdict
        )
    if not facts.complete() and _rests_on_absence(claim, verdict):
        verdict, reason = Verdict.UNKNOWN, "the code is still being indexed"
    return Checked(claim, verdict, proof, reason)


def _rests_on_absence(claim: Claim, verdict: Verdict) -> bool:
    return verdict is (Verdict.CONFIRMED if claim.negated else Verdict.CONTRADICTED)


def _confirmed(nodes: Iterable[CodeNode], reason: str = "") -> Finding:
    return Verdict.CONFIRMED, tuple(each.id for each in nodes)[:5], reason


def _contradicted(nodes: Iterable[CodeNode], reason: str) -> Finding:
    return Verdict.CONTRADICTED, tuple(each.id for each in nodes)[:5], reason


def _subjects(claim_of: Mention, facts: CodeFacts, kinds: Sequence[str] = ()) -> list[CodeNode]:
    """Candidates of a name; empty also where it is too common to mean anything."""
    found = [each for each in facts.named(claim_of.name) if not kinds or each.type in kinds]
    noun = _NOUNS.get(claim_of.kind, claim_of.kind)
    of_kind = [each for each in found if each.type == noun or (noun == "function" and each.type in _CALLABLE)]
    found = of_kind or found
    if claim_of.within:
        places = facts.places(claim_of.within)
        found = [each for each in found if any(_within(each.path, place) for place in places)] or found
    return found if len(found) <= MOST_CANDIDATES else []


def _each(candidates: Sequence[CodeNode], judge: Callable[[CodeNode], Finding]) -> Finding:
    """One confirming candidate confirms; all must contradict."""
    findings = [judge(each) for each in candidates]
    confirmed = [each for each in findings if each[0] is Verdict.CONFIRMED]
    if confirmed:
        return confirmed[0]
    if findings and all(each[0] is Verdict.CONTRADICTED for each in findings):
        return findings[0]
    return _UNKNOWN


# Location and existence


def _location(claim: Claim, facts: CodeFacts) -> Finding:
    subjects, where = _subjects(claim.subject, facts), claim.of
    if where is None:
        return _UNKNOWN
    text, line = _path_and_line(where.text)
    places = facts.places(text)
    if not subjects:
        return _absent(claim, places, facts)
    inside = [each for each in subjects if any(_within(each.path, place) for place in places)]
    if inside and line:
        at = [each for each in inside if each.line - 2 <= line <= each.end_line]
        shown = f"{inside[0].name} is at {inside[0].path}:{inside[0].line}"
        return _confirmed(at, shown) if at else _contradicted(inside, shown)
    if inside:
        return _confirmed(inside, f"{inside[0].name} is at {inside[0].path}:{inside[0].line}")
    members = [each for each in subjects if f".{where.name}." in f".{each.local}"]
    if members:
        return _confirmed(members, f"{members[0].local} is in {members[0].path}")
    if not places and (not where.is_path or facts.named(where.name)):
        return _UNKNOWN  # a place that is no file: a class, a library, a server
    if any(_could_offer(claim, place, facts) for place in places):
        return _UNKNOWN
    if _looks_outside(subjects, where, facts, places):
        return _UNKNOWN
    known = f"{subjects[0].name} is at {subjects[0].path}:{subjects[0].line}"
    return _contradicted(subjects, known if places else f"{known}; there is no {text}")


def _absent(claim: Claim, places: Sequence[str], facts: CodeFacts) -> Finding:
    """A name that the graph does not know, said to be in files that do not even mention it."""
    last = claim.subject.name.rpartition(".")[2]
    read = [each for each in places if not each.endswith("/") and facts.at(each)]
    unsure = not claim.subject.strong or not re.fullmatch(r"[^\W\d]\w{2,}", last) or facts.named(last)
    if unsure or not read or len(read) < len(places) or any(facts.mentions(last, each) for each in read):
        return _UNKNOWN
    return Verdict.CONTRADICTED, tuple(read[:3]), f"{read[0]} does not mention {last}"


def _path_and_line(text: str) -> tuple[str, int]:
    match = re.fullmatch(r"(.+?):(\d+)(?:-\d+)?", text)
    return (match.group(1), int(match.group(2))) if match else (text, 0)


def _within(path: str, place: str) -> bool:
    return path == place or (place.endswith("/") and path.startswith(place))


def _could_offer(claim: Claim, place: str, facts: CodeFacts) -> bool:
    """Whether a place that does not define a name may still be said to have it: it imports it to pass it on."""
    last = claim.subject.name.rpartition(".")[2]
    if claim.detail == "loose" and not place.endswith("/"):
        return facts.mentions(last, place)
    if place.endswith("/"):
        return facts.mentions(last, f"{place}__init__.py") or last in facts.imports(f"{place}__init__.py")
    if not facts.at(place):
        return facts.mentions(last, place)  # no symbols are known of it: a text, an unknown language
    passes_on = last in facts.imports(place)
    return passes_on and (claim.detail == "soft" or place.endswith(("__init__.py", "index.ts", "index.js", "mod.rs")))


def _looks_outside(subjects: Sequence[CodeNode], where: Mention, facts: CodeFacts, places: Sequence[str]) -> bool:
    """A path that is nothing here and cannot be meant as one: a URL, a shell word, a path above the root."""
    if places:
        return False
    return _OUTSIDE.match(where.text) is not None or not where.strong


def _existence(claim: Claim, facts: CodeFacts) -> Finding:
    if claim.value == "file":
        places = facts.places(_path_and_line(claim.subject.text)[0])
        if places:
            return Verdict.CONFIRMED, tuple(places[:3]), f"{places[0]} is there"
        if _OUTSIDE.match(claim.subject.text):
            return _UNKNOWN
        return Verdict.CONTRADICTED, (), f"there is no {claim.subject.text}"
    found = facts.named(claim.subject.name)
    if found:
        return _confirmed(found, f"{found[0].name} is at {found[0].path}:{found[0].line}")
    last = claim.subject.name.rpartition(".")[2]
    if not re.fullmatch(r"[^\W\d]\w{2,}", last) or facts.mentions(last):
        return _UNKNOWN
    if not claim.subject.strong and not re.search(r"_|[a-z][A-Z]|\d", last):
        return _UNKNOWN  # a word of English
    return Verdict.CONTRADICTED, (), f"no file mentions {last}"


# Calls, inheritance, uses


def _calls(claim: Claim, facts: CodeFacts) -> Finding:
    callers = _subjects(claim.subject, facts, (*_CALLABLE, "class"))
    callees = _subjects(claim.of, facts, (*_CALLABLE, "class")) if claim.of else []
    if not callers or not callees:
        return _UNKNOWN
    wanted = {each.id for each in callees}
    last = claim.of.name.rpartition(".")[2] if claim.of else ""

    def judge(caller: CodeNode) -> Finding:
        if wanted & facts.callees(caller, 1):
            return _confirmed([caller, *callees], f"{caller.local} calls {last}")
        words = facts.used(caller)
        if last in words or (last == "__init__" and callees[0].local.split(".")[0] in words):
            return _UNKNOWN
        if wanted & facts.callees(caller, REACH) or caller.type == "class" or _passes_all(words):
            return _UNKNOWN
        return _contradicted([caller], f"{caller.local} ({caller.path}:{caller.line}) does not mention {last}")

    return _each(callers, judge)


def _passes_all(words: frozenset[str]) -> bool:
    return bool(words & {"getattr", "__getattr__", "eval", "exec", "importlib", "import_string"})


def _inheritance(claim: Claim, facts: CodeFacts) -> Finding:
    children = _subjects(claim.subject, facts, _TYPES)
    parent = claim.of
    if not children or parent is None:
        return _UNKNOWN
    parents = {each.id: each for each in _subjects(parent, facts, _TYPES)}
    last = parent.name.rpartition(".")[2]

    def judge(child: CodeNode) -> Finding:
        above: Bases = facts.bases(child)
        found = [each for each in above.nodes if each.id in parents]
        if found or (not parents and last in above.names):
            return _confirmed([child, *found], f"{child.local} has the base {last}")
        if last in above.names or not parents:
            return _UNKNOWN
        if "implement" in claim.text and any(each.type == "interface" for each in parents.values()):
            return _UNKNOWN  # by its methods alone
        if not above.resolved and child.path.rpartition(".")[2] not in ("py", "java", "ts", "tsx"):
            return _UNKNOWN
        shown = ", ".join(sorted(above.names)) or "none"
        return _contradicted([child], f"bases of {child.local} ({child.path}:{child.line}): {shown}")

    return _each(children, judge)


def _uses(claim: Claim, facts: CodeFacts) -> Finding:
    of = claim.of
    if of is None:
        return _UNKNOWN
    word = of.name
    if not claim.subject.text:
        return _team_uses(word, claim, facts)
    files = (
        [each for each in facts.places(claim.subject.text) if not each.endswith("/")] if claim.subject.is_path else []
    )
    if files:
        return _each_file(files, word, claim, facts)
    users = _subjects(claim.subject, facts)

    def judge(user: CodeNode) -> Finding:
        last = word.rpartition(".")[2]
        if last in facts.used(user) or last in facts.bases(user).names:
            return _confirmed([user], f"{user.local} uses {last}") if not claim.detail else _UNKNOWN
        known = facts.named(word)
        if {each.id for each in known} & facts.callees(user, REACH):
            return _UNKNOWN
        if known and of.strong and user.type in _CALLABLE and not _mentioned(last, user, facts):
            return _contradicted([user], f"{user.local} ({user.path}:{user.line}) does not mention {last}")
        return _UNKNOWN

    return _each(users, judge)


def _mentioned(word: str, user: CodeNode, facts: CodeFacts) -> bool:
    text = facts.text(user)
    return not text or re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


def _each_file(files: Sequence[str], word: str, claim: Claim, facts: CodeFacts) -> Finding:
    verdicts = []
    for path in files:
        imports = facts.imports(path)
        first = word.partition(".")[0]
        if (
            word in imports
            or any(each.startswith(f"{word}.") for each in imports)
            or (word == first and word in imports)
        ):
            fits = not claim.detail or _about(claim.detail, path, facts)
            return (Verdict.CONFIRMED, (path,), f"{path} imports {word}") if fits else _UNKNOWN
        mentioned = facts.mentions(word.rpartition(".")[2], path)
        verdicts.append(mentioned)
    if any(verdicts):
        return _UNKNOWN
    return Verdict.CONTRADICTED, tuple(files[:3]), f"{files[0]} does not mention {word}"


def _about(purpose: str, path: str, facts: CodeFacts) -> bool:
    stems = [word[:5] for word in re.findall(r"[a-z]{4,}", purpose)]
    names = " ".join([path, *(each.local for each in facts.at(path))]).lower()
    return not stems or any(stem in names for stem in stems)


def _team_uses(word: str, claim: Claim, facts: CodeFacts) -> Finding:
    """ "We use X for Y": X must occur at all; Y must occur where X does, or it stays open."""
    if not re.fullmatch(r"[^\W\d][\w.-]*", word):
        return _UNKNOWN
    if not facts.mentions(word) and not facts.mentions(word.lower()):
        sure = claim.of is not None and (claim.of.strong or word[:1].isupper())
        return (Verdict.CONTRADICTED, (), f"no file mentions {word}") if sure else _UNKNOWN
    if claim.detail:
        return _UNKNOWN
    found = facts.named(word)
    return _confirmed(found) if found else _UNKNOWN


def _member(claim: Claim, facts: CodeFacts) -> Finding:
    owners = _subjects(claim.subject, facts, _TYPES)
    if claim.detail == "own":
        return _each(owners, lambda owner: _own_member(claim.value, owner, facts))

    def judge(owner: CodeNode) -> Finding:
        above = facts.bases(owner)
        found = [each for one in (owner, *above.nodes) for each in facts.members(one) if each.name == claim.value]
        if found:
            return _confirmed([owner, *found], f"{found[0].local} is at {found[0].path}:{found[0].line}")
        lineage = (owner, *above.nodes)
        names = {each.name for one in lineage for each in facts.members(one)}
        if (
            claim.detail == "any"
            or _may_inherit(claim.value, above)
            or "__getattr__" in names
            or any(_mentioned(claim.value, one, facts) for one in lineage)
        ):
            return _UNKNOWN
        return _contradicted([owner], f"{owner.local} ({owner.path}:{owner.line}) has no {claim.value}")

    return _each(owners, judge)


def _own_member(member: str, owner: CodeNode, facts: CodeFacts) -> Finding:
    """Whether the class itself defines it; what it inherits does not count."""
    own = [each for each in facts.members(owner) if each.name == member]
    if own:
        return _confirmed([owner, *own], f"{own[0].local} is at {own[0].path}:{own[0].line}")
    if _mentioned(member, owner, facts):
        return _UNKNOWN
    return _contradicted([owner], f"{owner.local} ({owner.path}:{owner.line}) does not define {member}")


def _may_inherit(member: str, above: Bases) -> bool:
    """Whether a base outside the graph may have it. Those of Python itself are known."""
    if above.resolved:
        return False
    outside = above.names - {each.name for each in above.nodes} - _WITHOUT_METHODS
    known = {name: getattr(builtins, name, None) for name in outside}
    return any(not isinstance(each, type) or hasattr(each, member) for each in known.values())


# Signatures, counts, defaults


def _signature_of(node: CodeNode, facts: CodeFacts) -> Signature | None:
    if node.type == "class":
        for owner in (node, *facts.bases(node).nodes):
            for member in facts.members(owner):
                if member.name in ("__init__", "constructor"):
                    return _signature_of(member, facts)
        return None
    return read_signature(node.signature, node.name) or read_signature(facts.text(node), node.name)


def _signature(claim: Claim, facts: CodeFacts) -> Finding:
    owners = _subjects(claim.subject, facts, (*_CALLABLE, "class"))

    def judge(owner: CodeNode) -> Finding:
        signature = _signature_of(owner, facts)
        if signature is None:
            return _UNKNOWN
        names = [each.name for each in signature.parameters]
        if claim.detail == "written":
            return _as_written(claim.value, signature, owner)
        found = [each for each in signature.parameters if each.name == claim.value]
        if found and claim.detail == "required" and found[0].default is not None:
            return _contradicted([owner], f"{owner.local}({claim.value}={found[0].default})")
        if found:
            return _confirmed([owner], f"{owner.local}({', '.join(names)})")
        if signature.is_open or claim.value in ("self", "cls", "this") or _is_type(claim, facts):
            return _UNKNOWN
        return _contradicted([owner], f"parameters of {owner.local}: {', '.join(names) or 'none'}")

    return _each(owners, judge)


def _as_written(arguments: str, signature: Signature, owner: CodeNode) -> Finding:
    """`f(a, b=1)`: right by its names; wrong if f cannot be called with so many, or with such a keyword."""
    written = read_signature(f"f({arguments})", "f")
    if written is None or signature.is_open or written.is_open or "..." in arguments:
        return _UNKNOWN
    names, said = [each.name for each in signature.parameters], [each.name for each in written.parameters]
    shown = f"{owner.local}({', '.join(names)})"
    if said == names[: len(said)]:
        return _confirmed([owner], shown)
    unheard = [each.name for each in written.parameters if each.default is not None and each.name not in names]
    receiver = 1 if owner.type in ("method", "class") else 0
    if unheard or len(said) > len(names) + receiver:
        return _contradicted([owner], shown)
    return _UNKNOWN


def _is_type(claim: Claim, facts: CodeFacts) -> bool:
    """ "f takes a `Request`" names a type, not a parameter."""
    return claim.of is not None and claim.of.kind not in ("parameter", "argument") and claim.value[:1].isupper()


def _returns(claim: Claim, facts: CodeFacts) -> Finding:
    owners = _subjects(claim.subject, facts, _CALLABLE)
    wanted = set(re.findall(r"[^\W\d]\w*", claim.value.lower()))

    def judge(owner: CodeNode) -> Finding:
        signature = _signature_of(owner, facts)
        if signature is None or not signature.returns or not wanted:
            return _UNKNOWN
        stated = set(re.findall(r"[^\W\d]\w*", signature.returns.lower()))
        if wanted <= stated:
            return _confirmed([owner], f"{owner.local} returns {signature.returns}")
        plain = {"str", "int", "bool", "float", "none", "bytes", "string", "error", "number", "boolean", *_CONTAINERS}
        other = stated <= plain or _is_container(signature.returns)
        if wanted <= plain - {"none"} and other and not wanted & _outer(signature.returns, stated):
            return _contradicted([owner], f"{owner.local} returns {signature.returns}")
        return _UNKNOWN

    return _each(owners, judge)


def _is_container(annotation: str) -> bool:
    """Written as one container and as nothing else."""
    return "|" not in annotation and re.match(rf"(?:{'|'.join(_CONTAINERS)})\[", annotation, re.IGNORECASE) is not None


def _outer(annotation: str, stated: set[str]) -> set[str]:
    return {annotation.partition("[")[0].lower()} if _is_container(annotation) else stated


def _count(claim: Claim, facts: CodeFacts) -> Finding:
    value = int(claim.value)
    if claim.subject.is_path:
        files = [each for each in facts.places(claim.subject.text) if not each.endswith("/")]
        if len(files) != 1:
            return _UNKNOWN
        readings = _in_file(claim.detail, facts.at(files[0]))
        return _counted(value, readings, files[0], (files[0],))
    owners = _subjects(claim.subject, facts, (*_CALLABLE, "class", "interface", "enum"))

    def judge(owner: CodeNode) -> Finding:
        return _counted(value, _of_node(claim.detail, owner, facts), owner.local, (owner.id,))

    return _each(owners, judge)


def _counted(value: int, readings: set[int], name: str, proof: tuple[str, ...]) -> Finding:
    if not readings:
        return _UNKNOWN
    shown = f"{name} has {'/'.join(map(str, sorted(readings)))}"
    return (Verdict.CONFIRMED if value in readings else Verdict.CONTRADICTED), proof, shown


def _in_file(what: str, nodes: Sequence[CodeNode]) -> set[int]:
    """Every sensible reading: at the top or in all, public or all."""
    kinds = {"classes": _TYPES[:3], "functions": ("function",), "methods": ("method",)}.get(what)
    if kinds is None:
        return set()
    found = [each for each in nodes if each.type in kinds]
    top = [each for each in found if "." not in each.local]
    wide = [each for each in nodes if each.type in _CALLABLE] if what == "functions" else found
    groups = [found, wide] if what == "methods" else [found, top, wide]
    return (
        {len(group) for group in groups} | {len([each for each in top if not each.name.startswith("_")])}
        if found
        else {0}
    )


def _of_node(what: str, node: CodeNode, facts: CodeFacts) -> set[int]:
    if what == "parameters":
        signature = _signature_of(node, facts)
        if signature is None:
            return set()
        all_of_them = len(signature.parameters)
        fixed = len([each for each in signature.parameters if not each.rest])
        required = len([each for each in signature.parameters if each.default is None and not each.rest])
        receiver = 1 if node.type in ("method", "class") else 0
        return {all_of_them, fixed, all_of_them + receiver} | ({required} if required != all_of_them else set())
    if what == "methods" and node.type in ("class", "interface", "enum"):
        methods = [each for each in facts.members(node) if each.type == "method"]
        names = {each.name for each in methods}
        public = {name for name in names if not name.startswith("_")}
        plain = {name for name in names if not (name.startswith("__") and name.endswith("__"))}
        return {len(methods), len(names), len(public), len(plain)}
    return set()


def _default(claim: Claim, facts: CodeFacts) -> Finding:
    parameter = claim.of
    if parameter is None:
        return _UNKNOWN
    if parameter == claim.subject:
        return _constant(claim, facts)
    owners = _subjects(claim.subject, facts, (*_CALLABLE, "class"))
    last = parameter.name.rpartition(".")[2]

    def judge(owner: CodeNode) -> Finding:
        signature = _signature_of(owner, facts)
        found = [each for each in signature.parameters if each.name == last] if signature else []
        if not found:
            attributes = [each for each in facts.members(owner) if each.name == last] if owner.type == "class" else []
            return _each(attributes, lambda each: _assigned(claim, each))
        if found[0].default is None:
            return _contradicted([owner], f"{parameter.name} of {owner.local} has no default")
        return _equal(claim, found[0].default, f"{owner.local}({last}={found[0].default})", owner)

    return _each(owners, judge)


def _constant(claim: Claim, facts: CodeFacts) -> Finding:
    """`X is set to V`: of a constant that is assigned a literal."""
    owners = [each for each in _subjects(claim.subject, facts) if each.type in ("constant", "variable")]
    return _each(owners, lambda owner: _assigned(claim, owner))


def _assigned(claim: Claim, owner: CodeNode) -> Finding:
    value = re.match(r"[^=]*?(?<![=!<>])=(?!=)\s*(.+)\Z", owner.signature, re.DOTALL)
    fixed = owner.type == "constant" or (owner.type == "variable" and "." in owner.local)  # one of a module may change
    if value is None or len(owner.signature) >= 300 or not fixed:
        return _UNKNOWN
    return _equal(claim, value.group(1), owner.signature, owner)


def _equal(claim: Claim, actual: str, shown: str, node: CodeNode) -> Finding:
    if _normal(claim.value) == _normal(actual):
        return _confirmed([node], shown)
    both_literal = _is_literal(claim.value) and _is_literal(actual)
    return _contradicted([node], shown) if both_literal and not _in_other_units(claim, actual) else _UNKNOWN


def _in_other_units(claim: Claim, actual: str) -> bool:
    """ "30 minutes" is 1800, "5 MB" is 5242880."""
    if not _UNIT.search(claim.text):
        return False
    try:
        one, other = sorted((abs(float(claim.value)), abs(float(_normal(actual)))))
    except ValueError:
        return True  # 1024 * 1024
    return one > 0 and other / one in _FACTORS


def _is_literal(text: str) -> bool:
    try:
        ast.literal_eval(_python(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _python(text: str) -> str:
    return {"true": "True", "false": "False", "null": "None", "nil": "None"}.get(text.strip(), text.strip())


def _normal(text: str) -> str:
    try:
        return repr(ast.literal_eval(_python(text)))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text.strip().strip("'\"`")


_CHECKS: dict[ClaimKind, Callable[[Claim, CodeFacts], Finding]] = {
    ClaimKind.LOCATION: _location,
    ClaimKind.EXISTENCE: _existence,
    ClaimKind.CALLS: _calls,
    ClaimKind.INHERITANCE: _inheritance,
    ClaimKind.USES: _uses,
    ClaimKind.MEMBER: _member,
    ClaimKind.SIGNATURE: _signature,
    ClaimKind.RETURNS: _returns,
    ClaimKind.COUNT: _count,
    ClaimKind.DEFAULT: _default,
}
