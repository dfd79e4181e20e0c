"""Statements about a Python repository with known truth: facts of `ast`, checked by jedi, and their perturbations.

Nothing here asks Lithos. Half of the phrasings (HELD) were written before the extractor and are not tuned against.
Labels: true, false, open (must not be contradicted: hedged, past, or a commit's message at its own state of the code).
"""

from __future__ import annotations

import ast
import random
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SEEN: dict[str, tuple[str, ...]] = {
    "location": ("`{name}` is defined in `{path}`.", "The {name} {kind} is in {path}.", "{name} lives in {path}."),
    "existence": ("There is a {kind} called `{name}`.", "The codebase has a {kind} named {name}."),
    "calls": ("`{a}` calls `{b}`.", "{a}() calls {b}().", "`{b}` is called by `{a}`."),
    "inheritance": ("`{a}` inherits from `{b}`.", "{a} extends {b}.", "{a} is a subclass of {b}."),
    "uses": ("`{path}` uses `{module}`.", "{path} imports {module}."),
    "signature": ("`{f}` takes a `{p}` parameter.", "{f}() has a parameter named {p}.", "`{f}` accepts `{p}`."),
    "count": ("`{cls}` has {n} methods.", "`{path}` defines {m} classes.", "`{f}` takes {k} arguments."),
    "default": ("The default of `{p}` in `{f}` is `{v}`.", "In `{f}`, `{p}` defaults to {v}."),
    "not location": ("`{name}` is not defined in `{path}`.",),
    "not existence": ("There is no {kind} called `{name}`.",),
    "not calls": ("`{a}` does not call `{b}`.",),
    "not inheritance": ("{a} does not inherit from {b}.",),
    "not signature": ("`{f}` does not take a `{p}` parameter.",),
    "not uses": ("`{path}` does not use `{module}`.",),
}
HELD: dict[str, tuple[str, ...]] = {
    "location": (
        "You will find `{name}` in `{path}`.",
        "`{path}` defines {name}.",
        "The definition of `{name}` is located at `{path}`.",
        "`{path}` contains the {kind} `{name}`.",
    ),
    "existence": ("The {kind} `{name}` already exists.", "A {kind} named `{name}` exists in this repository."),
    "calls": ("`{a}` invokes `{b}`.", "{b} is invoked from {a}.", "Inside `{a}`, `{b}()` is called."),
    "inheritance": (
        "`{a}` subclasses `{b}`.",
        "`{b}` is the base class of `{a}`.",
        "class {a} derives from {b}.",
    ),
    "uses": ("`{module}` is imported in `{path}`.", "{path} depends on `{module}`.", "`{path}` relies on `{module}`."),
    "signature": ("`{p}` is a parameter of `{f}`.", "`{f}` expects `{p}`.", "`{f}` has an argument `{p}`."),
    "count": (
        "There are {n} methods in `{cls}`.",
        "There are {m} classes in `{path}`.",
        "`{f}` has {k} parameters.",
    ),
    "default": ("`{p}` is {v} by default in `{f}`.", "{f}'s `{p}` parameter has a default value of {v}."),
    "not location": ("`{path}` does not define `{name}`.",),
    "not existence": ("No {kind} named `{name}` exists.",),
    "not calls": ("`{a}` never calls `{b}`.",),
    "not inheritance": ("`{a}` isn't a subclass of `{b}`.",),
    "not signature": ("`{f}` has no `{p}` parameter.",),
    "not uses": ("{path} no longer uses `{module}`.",),
}
HEDGED = (
    "`{name}` used to be defined in `{path}`.",
    "We should move `{name}` to `{path}`.",
    "`{name}` could be defined in `{path}`.",
    "Is `{name}` defined in `{path}`?",
    "Before the change, `{name}` was defined in `{path}`.",
    "If `{name}` is defined in `{path}`, imports become circular.",
)
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Statement:
    text: str
    kind: str
    label: str  # true, false, open
    held: bool


@dataclass
class _Function:
    name: str  # qualified within its file
    path: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    is_method: bool
    static: bool


@dataclass
class _Class:
    name: str
    path: str
    node: ast.ClassDef


@dataclass
class _Facts:
    files: dict[str, ast.Module] = field(default_factory=dict)
    functions: list[_Function] = field(default_factory=list)
    classes: list[_Class] = field(default_factory=list)
    every_class: list[ast.ClassDef] = field(default_factory=list)  # of tests too
    names: Counter[str] = field(default_factory=Counter)  # definitions of each bare name
    words: set[str] = field(default_factory=set)  # every identifier of the repository
    file_words: dict[str, set[str]] = field(default_factory=dict)


def statements(repository: Path, package: str, count: int, seed: int = 22) -> list[Statement]:
    """About `count` statements of facts and as many perturbed ones, and 50 sentences of commit messages."""
    facts, chance = _read(repository, package), random.Random(seed)
    found: list[Statement] = []
    kinds = ("location", "existence", "calls", "inheritance", "uses", "signature", "count", "default")
    for kind in kinds:
        makers = _MAKERS[kind](facts, chance)
        for _ in range(count // len(kinds)):
            made = next(makers, None)
            if made is None:
                break
            values, is_true = made
            found += _phrased(kind, values, is_true, chance)
    found += _hedged(facts, chance, count // 12)
    found += [Statement(text, "commit", "open", index % 2 == 1) for index, text in enumerate(_messages(repository, 50))]
    return found


def _phrased(kind: str, values: dict[str, str], is_true: bool, chance: random.Random) -> Iterator[Statement]:
    negative = f"not {kind}"
    for phrases, held in ((SEEN, False), (HELD, True)):
        usable = [each for each in phrases[kind] if _fits(each, values)]
        if usable:
            yield Statement(chance.choice(usable).format(**values), kind, str(is_true).lower(), held)
        if negative in phrases and chance.random() < 0.25:
            yield Statement(chance.choice(phrases[negative]).format(**values), negative, str(not is_true).lower(), held)


def _fits(phrase: str, values: dict[str, str]) -> bool:
    return all(name in values for name in re.findall(r"{(\w+)}", phrase))


def _hedged(facts: _Facts, chance: random.Random, count: int) -> Iterator[Statement]:
    paths = sorted(facts.files)
    for index in range(count):
        each = chance.choice(facts.classes)
        text = HEDGED[index % len(HEDGED)].format(name=each.name, path=chance.choice(paths))
        yield Statement(text, "hedged", "open", index % 2 == 1)


def _read(repository: Path, package: str) -> _Facts:
    facts = _Facts()
    for file in sorted(repository.rglob("*.py")):
        path = file.relative_to(repository).as_posix()
        source = file.read_text(encoding="utf-8", errors="replace")
        words = set(re.findall(r"[^\W\d]\w*", source))
        facts.words |= words
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                facts.names[node.name] += 1
            if isinstance(node, ast.ClassDef):
                facts.every_class.append(node)
        if path.startswith(f"{package}/") and "/tests/" not in path:
            facts.files[path], facts.file_words[path] = tree, words
            _definitions(facts, path, tree.body, "")
    return facts


def _definitions(facts: _Facts, path: str, body: list[ast.stmt], prefix: str) -> None:
    for node in body:
        if isinstance(node, ast.ClassDef):
            facts.classes.append(_Class(f"{prefix}{node.name}", path, node))
            _definitions(facts, path, node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = {ast.unparse(each) for each in node.decorator_list}
            facts.functions.append(
                _Function(f"{prefix}{node.name}", path, node, bool(prefix), "staticmethod" in decorators)
            )


Made = Iterator[tuple[dict[str, str], bool]]


def _unique(facts: _Facts, chance: random.Random) -> tuple[list[_Function], list[_Class]]:
    functions = [each for each in facts.functions if facts.names[each.node.name] == 1 and not each.is_method]
    classes = [each for each in facts.classes if facts.names[each.node.name] == 1 and "." not in each.name]
    chance.shuffle(functions)
    chance.shuffle(classes)
    return functions, classes


def _locations(facts: _Facts, chance: random.Random) -> Made:
    functions, classes = _unique(facts, chance)
    paths = sorted(facts.files)
    for index, pair in enumerate(zip(functions, classes, strict=False)):
        each = pair[index % 2]
        kind = "class" if isinstance(each, _Class) else "function"
        yield {"name": each.name, "kind": kind, "path": each.path}, True
        # half of the false places use the name, the others never mention it
        using = [
            p for p in paths if p != each.path and each.name in facts.file_words[p] and not p.endswith("__init__.py")
        ]
        other = chance.choice(using) if using and index % 4 < 2 else chance.choice(paths)
        if other != each.path and not other.endswith("__init__.py"):
            yield {"name": each.name, "kind": kind, "path": other}, False


def _existing(facts: _Facts, chance: random.Random) -> Made:
    functions, classes = _unique(facts, chance)
    for index, pair in enumerate(zip(functions, classes, strict=False)):
        each = pair[index % 2]
        kind = "class" if isinstance(each, _Class) else "function"
        yield {"name": each.name, "kind": kind}, True
        mutated = _mutated(each.name, chance)
        if mutated not in facts.words:
            yield {"name": mutated, "kind": kind}, False


def _mutated(name: str, chance: random.Random) -> str:
    if "_" in name.strip("_"):
        head, _, tail = name.rpartition("_")
        return f"{head}_{chance.choice(('cached', 'lazy', 'remote', 'strict'))}_{tail}"
    return (
        f"{name}{chance.choice(('Registry', 'Provider', 'Adapter', 'Pool'))}"
        if name[:1].isupper()
        else f"{name}_lazily"
    )


def _calls(facts: _Facts, chance: random.Random) -> Made:
    at_top = {(each.path, each.name): each for each in facts.functions if not each.is_method}
    callers = [each for each in facts.functions if facts.names[each.node.name] == 1]
    callees = [each for each in facts.functions if not each.is_method and facts.names[each.node.name] == 1]
    chance.shuffle(callers)
    for each in callers:
        called = sorted(_plain_calls(each.node))
        mine = [name for name in called if (each.path, name) in at_top and facts.names[name] == 1 and name != each.name]
        mine = [name for name in mine if _jedi_agrees(facts, each, name)]
        if not mine:
            continue
        yield {"a": each.name, "b": chance.choice(mine)}, True
        words = {node.id for node in ast.walk(each.node) if isinstance(node, ast.Name)}
        words |= {node.attr for node in ast.walk(each.node) if isinstance(node, ast.Attribute)}
        other = chance.choice(callees)
        far = other.name not in facts.file_words[each.path] and other.name not in words
        if far:
            yield {"a": each.name, "b": other.name}, False
        back = at_top[(each.path, mine[0])]
        if (
            each.node.name not in {node.id for node in ast.walk(back.node) if isinstance(node, ast.Name)}
            and not each.is_method
        ):
            yield {"a": back.name, "b": each.name}, False


def _plain_calls(node: ast.AST) -> set[str]:
    return {each.func.id for each in ast.walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}


def _jedi_agrees(facts: _Facts, caller: _Function, name: str) -> bool:
    """Whether jedi, where it is installed, takes the call to the function of that name in the same file."""
    try:
        import jedi
    except ImportError:
        return True
    for node in ast.walk(caller.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            source = ast.unparse(facts.files[caller.path])
            for line, text in enumerate(source.splitlines(), 1):
                at = text.find(f"{name}(")
                if at >= 0 and f"def {name}(" not in text:
                    return any(each.name == name for each in jedi.Script(source).goto(line, at))
    return False


def _bases(facts: _Facts, chance: random.Random) -> Made:
    _, classes = _unique(facts, chance)
    names = {each.node.name for each in classes}
    for each in classes:
        bases = [base.id for base in each.node.bases if isinstance(base, ast.Name) and base.id in names]
        if not bases:
            continue
        yield {"a": each.name, "b": bases[0]}, True
        yield {"a": bases[0], "b": each.name}, False
        other = chance.choice(classes)
        if other.name not in facts.file_words[each.path]:
            yield {"a": each.name, "b": other.name}, False


def _uses(facts: _Facts, chance: random.Random) -> Made:
    paths = sorted(facts.files)
    chance.shuffle(paths)
    imported = {path: _modules(facts.files[path]) for path in paths}
    everywhere = sorted({module for modules in imported.values() for module in modules if "." not in module})
    for path in paths:
        mine = sorted(module for module in imported[path] if "." not in module)
        if not mine:
            continue
        yield {"path": path, "module": chance.choice(mine)}, True
        other = chance.choice([*everywhere, "celery", "sqlalchemy", "redis", "numpy", "flask"])
        if other not in facts.file_words[path]:
            yield {"path": path, "module": other}, False


def _modules(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
    return found


def _parameters(each: _Function) -> list[ast.arg]:
    args = each.node.args
    whole = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return whole[1:] if each.is_method and not each.static else whole


def _signatures(facts: _Facts, chance: random.Random) -> Made:
    functions = [each for each in facts.functions if facts.names[each.node.name] == 1]
    chance.shuffle(functions)
    every = sorted({each.arg for function in functions for each in _parameters(function)})
    for each in functions:
        mine = [one.arg for one in _parameters(each)]
        if not mine or mine[0].startswith("_"):
            continue
        yield {"f": each.name, "p": chance.choice(mine)}, True
        other = chance.choice(every)
        if other not in mine and each.node.args.kwarg is None and each.node.args.vararg is None:
            yield {"f": each.name, "p": other}, False


def _counts(facts: _Facts, chance: random.Random) -> Made:
    functions, classes = _unique(facts, chance)
    by_file: dict[str, int] = defaultdict(int)
    for one in facts.classes:
        by_file[one.path] += "." not in one.name
    paths = sorted(
        path
        for path, count in by_file.items()
        if count > 1 and not any("." in one.name for one in facts.classes if one.path == path)
    )
    for index, (function, one, path) in enumerate(zip(functions, classes, paths * 99, strict=False)):
        methods = [each for each in one.node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
        plain = len({each.name for each in methods}) == len(methods) and not any(
            each.decorator_list for each in methods
        )
        args = function.node.args
        wrong = chance.choice((1, 2, 3, 5))
        for off, truth in ((0, True), (wrong, False)):
            if index % 3 == 0 and plain and methods:
                yield {"cls": one.name, "n": _number(len(methods) + off, chance)}, truth
            elif index % 3 == 1:
                yield {"path": path, "m": _number(by_file[path] + off, chance)}, truth
            elif args.kwarg is None and args.vararg is None and _parameters(function):
                yield {"f": function.name, "k": _number(len(_parameters(function)) + off, chance)}, truth


def _number(value: int, chance: random.Random) -> str:
    return WORDS[value] if value < len(WORDS) and value > 1 and chance.random() < 0.3 else str(value)


def _defaults(facts: _Facts, chance: random.Random) -> Made:
    functions = [each for each in facts.functions if facts.names[each.node.name] == 1]
    chance.shuffle(functions)
    for each in functions:
        args = each.node.args
        at_end = args.args[len(args.args) - len(args.defaults) :]
        pairs = [(one.arg, value) for one, value in zip(at_end, args.defaults, strict=True)]
        pairs += [(one.arg, value) for one, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value]
        plain = [(name, value.value) for name, value in pairs if isinstance(value, ast.Constant)]
        plain = [
            (name, value) for name, value in plain if not isinstance(value, str) or re.fullmatch(r"[\w-]{1,20}", value)
        ]
        if not plain:
            continue
        name, value = chance.choice(plain)
        yield {"f": each.name, "p": name, "v": repr(value)}, True
        yield {"f": each.name, "p": name, "v": repr(_other(value, chance))}, False


def _other(value: object, chance: random.Random) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + chance.choice((1, 10, 30))
    return chance.choice((30, False)) if value is None else f"{value}2"


def _messages(repository: Path, count: int) -> Iterator[str]:
    """Sentences with names of code from the newest commits: true when they were written, and hardly changed since."""
    log = subprocess.run(
        ["git", "log", "-600", "--no-merges", "--format=%B%x00"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = 0
    for message in log.split("\0"):
        for sentence in re.split(r"(?<=[.!?])\s+|\n\n", message.strip()):
            text = " ".join(sentence.split())
            if 20 < len(text) < 300 and re.search(r"\w\(\)|`[^`]+`|\b[A-Z][a-z]+[A-Z]\w+|\w_\w", text):
                yield text
                found += 1
                if found == count:
                    return


_MAKERS = {
    "location": _locations,
    "existence": _existing,
    "calls": _calls,
    "inheritance": _bases,
    "uses": _uses,
    "signature": _signatures,
    "count": _counts,
    "default": _defaults,
}
