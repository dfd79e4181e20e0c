# ruff: noqa: E501 - sources of other languages, as one line each
"""What each language's reader takes from a file."""

from __future__ import annotations

import pytest

from lithos.graph.code.languages.grammars import read

SAMPLES = {
    "python": (
        "import os\nfrom a.b import C as D\nX = 1\nclass A(C):\n    y = 2\n    def m(self): return self.n()\n    def n(self): pass\n",
        {"X": 7, "A": 4, "A.y": 6, "A.m": 3, "A.n": 3},
        {"os", "a.b"},
    ),
    "javascript": (
        "import x from './x'\nconst f = () => g()\nfunction g() {}\nclass A { m() { this.n() } n() {} }\n",
        {"f": 2, "g": 2, "A": 4, "A.m": 3, "A.n": 3},
        {"./x"},
    ),
    "typescript": (
        "import {a} from './a'\nexport interface I { go(): void }\nexport type T = string\nenum E { P }\nexport class A implements I { go() {} }\n",
        {"I": 5, "I.go": 3, "T": 9, "E": 10, "E.P": 7, "A": 4, "A.go": 3},
        {"./a"},
    ),
    "tsx": ("export function Page() { return <Button/> }\n", {"Page": 2}, set()),
    "go": (
        'package p\nimport "fmt"\ntype S struct { a int }\ntype I interface { M() }\nconst X = 1\nvar V = 2\nfunc F() { fmt.Println() }\nfunc (s *S) M() { F() }\n',
        {"S": 4, "S.a": 6, "I": 5, "I.M": 3, "X": 7, "V": 6, "F": 2, "S.M": 3},
        {"fmt"},
    ),
    "rust": (
        "use crate::a::B;\nstruct S { x: u8 }\nenum E { P }\ntrait T { fn t(&self); }\nimpl S { fn new() -> S { f() } }\nfn f() {}\nconst X: u8 = 1;\nmod m { fn g() {} }\n",
        {"S": 4, "S.x": 6, "E": 10, "E.P": 7, "T": 5, "T.t": 3, "S.new": 3, "f": 2, "X": 7, "m": 1, "m.g": 2},
        {"crate::a"},
    ),
    "java": (
        "import a.b.C;\nclass A extends B { int x; void m() { n(); } void n() {} }\nenum E { P }\ninterface I {}\n",
        {"A": 4, "A.x": 6, "A.m": 3, "A.n": 3, "E": 10, "E.P": 7, "I": 5},
        {"a.b.C"},
    ),
    "c": (
        "#include <a.h>\n#define MAX 1\nstruct s { int a; };\nint f(void) { return g(); }\n",
        {"MAX": 7, "s": 4, "s.a": 6, "f": 2},
        {"a.h"},
    ),
    "cpp": (
        "namespace n { class A : public B { int m() { return x(); } int x(); }; }\nint f() { return 1; }\n",
        {"n": 1, "n.A": 4, "n.A.m": 3, "n.A.x": 3, "f": 2},
        set(),
    ),
    "c_sharp": (
        "using System;\nclass A : B { int f; void M() { Q(); } void Q() {} }\n",
        {"A": 4, "A.f": 6, "A.M": 3, "A.Q": 3},
        {"System"},
    ),
    "ruby": (
        "require 'set'\nclass A < B\n  MAX = 1\n  def m; n(); end\n  def n; end\nend\n",
        {"A": 4, "A.MAX": 7, "A.m": 3, "A.n": 3},
        {"set"},
    ),
    "php": (
        "<?php\nuse A\\B;\nclass C { const X = 1; function m() { $this->n(); } function n() {} }\n",
        {"C": 4, "C.X": 7, "C.m": 3, "C.n": 3},
        {"A\\B"},
    ),
    "kotlin": (
        "import a.b.C\nclass A { val x = 1\n fun m() { n() }\n fun n() {} }\ninterface I\n",
        {"A": 4, "A.x": 6, "A.m": 3, "A.n": 3, "I": 5},
        {"a.b.C"},
    ),
    "swift": (
        "import Foundation\nclass A { var x = 1\n func m() { n() }\n func n() {} }\nprotocol P {}\n",
        {"A": 4, "A.x": 6, "A.m": 3, "A.n": 3, "P": 5},
        {"Foundation"},
    ),
    "bash": ("X=1\nf() { g; }\ng() { echo; }\n", {"X": 7, "f": 2, "g": 2}, set()),
}


@pytest.mark.parametrize("language", SAMPLES)
def test_definitions_and_imports_of_each_language_are_found(language: str) -> None:
    source, symbols, modules = SAMPLES[language]
    facts = read(language, source.encode())
    assert {symbol.local: int(symbol.type) for symbol in facts.symbols} == symbols
    assert {module for _, _, module, _, _ in facts.imports} == modules
    assert facts.parse_errors == 0


def test_a_second_definition_of_the_same_name_gets_a_number() -> None:
    facts = read("python", b"def f(): pass\ndef f(): pass\n")
    assert [symbol.local for symbol in facts.symbols] == ["f", "f~2"]


def test_what_parses_is_kept_when_the_rest_does_not() -> None:
    facts = read("python", b"def good(): pass\n\nclass (:\n\ndef also_good(): pass\n")
    assert "good" in {symbol.name for symbol in facts.symbols}
    assert facts.parse_errors > 0


def test_methods_of_a_generic_impl_belong_to_its_type_not_to_its_parameter() -> None:
    facts = read(
        "rust",
        b"impl<T: ?Sized> Mutex<T> { fn lock(&self) {} }\nimpl<'a, const N: usize, T> Tr for &'a Vec<[T; N]> { fn all(&self) {} }\n"
        b"impl<T: Read> Ext for T { fn more(&self) {} }\nimpl Tr for Arc<Bar> { fn held(&self) {} }\n",
    )
    assert {symbol.local for symbol in facts.symbols} == {"Mutex.lock", "Vec.all", "T.more", "Bar.held"}
    assert [name for name, _ in facts.extra["impls"]] == ["Mutex", "Vec", "T", "Bar"]


def test_names_of_any_script_and_broken_bytes_are_read() -> None:
    facts = read("python", "def größe(): pass\nclass 数据库: pass\n".encode() + b"x = '\xff\xfe'\n")
    assert {"größe", "数据库"} <= {symbol.name for symbol in facts.symbols}


def test_the_comment_above_and_the_docstring_are_the_documentation() -> None:
    python = read("python", b"def f():\n    '''Does it.'''\n")
    go = read("go", b"package p\n\n// F does it\n// twice.\nfunc F() {}\n")
    assert python.symbols[0].doc == "Does it."
    assert go.symbols[0].doc == "F does it twice."


def test_calls_carry_the_place_of_their_last_name() -> None:
    facts = read("python", b"def f(a):\n    return a.b(1).c(2)\n")
    assert {(chain, line, column) for _, chain, line, column in facts.calls} == {("a.b", 2, 13), ("a.b().c", 2, 18)}
