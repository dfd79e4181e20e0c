# ruff: noqa: E501 - sources of other languages, as one line each
"""Names across files: which symbol a call means, and how that was found out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.code_repos import SHOP, calls, code_graph, write


def resolved(tmp_path: Path, files: dict[str, str]) -> set[tuple[str, str, str]]:
    with code_graph(tmp_path / "data", ("r", write(tmp_path / "r", files))) as code:
        return calls(code.roots()[0])


def test_python_self_super_import_and_types(tmp_path: Path) -> None:
    found = resolved(tmp_path, SHOP)
    assert ("Cart.add", "Cart.check", "self") in found
    assert ("Cart.add", "Base.total", "super") in found
    assert ("Cart.add", "Store.save", "attribute type") in found
    assert ("test_add", "Cart", "import") in found
    assert ("test_add", "Cart.add", "local type") in found


@pytest.mark.parametrize(
    ("text", "target", "how"),
    [
        ("from b import *\nstarred()\n", "starred", "import"),
        ("import b\nb.starred()\n", "starred", "import"),
        ("from b import make\nmake().go()\n", "Made.go", "local type"),
        ("def f(x: 'b.Made'):\n    x.go()\nimport b\n", "Made.go", "local type"),
        ("from b import Made\ndef f():\n    with Made() as m:\n        m.go()\n", "Made.go", "local type"),
        ("def f(xs: 'list[b.Made]'):\n    for x in xs:\n        x.go()\nimport b\n", "Made.go", "local type"),
    ],
)
def test_python_ways_to_reach_a_symbol(tmp_path: Path, text: str, target: str, how: str) -> None:
    other = (
        "def starred(): pass\ndef make():\n    made = Made()\n    return made\n"
        "class Made:\n    def go(self): pass\n    def __enter__(self):\n        return self\n"
    )
    found = resolved(tmp_path, {"a.py": text, "b.py": other})
    assert (target, how) in {(callee, by) for caller, callee, by in found}


def test_the_same_call_after_another_assignment_is_another_edge(tmp_path: Path) -> None:
    text = (
        "class A:\n    def go(self): pass\nclass B:\n    def go(self): pass\n"
        "def f():\n    x = A()\n    x.go()\n    x.go()\n    x = B()\n    x.go()\n"
    )
    found = {(caller, callee) for caller, callee, _ in resolved(tmp_path, {"a.py": text})}
    assert {("f", "A.go"), ("f", "B.go")} <= found


def test_an_import_of_the_library_is_not_taken_for_a_file_of_the_same_name_in_a_package(tmp_path: Path) -> None:
    files = {
        "p/__init__.py": "",
        "p/inspect.py": "import inspect\ndef f():\n    inspect.getdoc(f)\n",
        "p/x.py": "def getdoc(): pass\n",
    }
    assert resolved(tmp_path, files) <= {("f", "getdoc", "unique name")}


def test_typescript_paths_reexports_this_and_workspaces(tmp_path: Path) -> None:
    files = {
        "tsconfig.json": '{ // comment\n "compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"],}} }',
        "package.json": '{"name": "root"}',
        "packages/ui/package.json": '{"name": "@acme/ui", "exports": {"./*": "./src/*.ts"}}',
        "packages/ui/src/button.ts": "export function press() {}\n",
        "src/lib/index.ts": "export * from './store'\nexport { helper as aid } from './helper'\n",
        "src/lib/store.ts": "export class Store { get(): Item { return new Item() } }\nexport class Item { use() {} }\n",
        "src/lib/helper.ts": "export const helper = () => 1\nexport default function main() {}\n",
        "src/app.ts": (
            "import { Store, aid } from '@/lib'\nimport run from './lib/helper'\nimport { press } from '@acme/ui/button'\n"
            "class App { store = new Store()\n go() { this.store.get().use(); aid(); run(); press(); this.stop() }\n stop() {} }\n"
        ),
    }
    found = {(caller, callee) for caller, callee, _ in resolved(tmp_path, files)}
    assert {
        ("App.go", "Store.get"),
        ("App.go", "Item.use"),
        ("App.go", "helper"),
        ("App.go", "main"),
        ("App.go", "press"),
        ("App.go", "App.stop"),
    } <= found


def test_sveltekits_lib_is_known_without_the_file_that_it_generates(tmp_path: Path) -> None:
    files = {
        "packages/ui/tsconfig.json": '{"extends": "./.svelte-kit/tsconfig.json", "compilerOptions": {"strict": true}}',
        "packages/ui/src/lib/id.ts": "export function createId() {}\n",
        "packages/ui/src/lib/index.ts": "export function all() {}\n",
        "packages/ui/src/app.ts": (
            "import { createId } from '$lib/id.js'\nimport { all } from '$lib'\nfunction go() { createId(); all() }\n"
        ),
        "other/tsconfig.json": '{"extends": "./.svelte-kit/tsconfig.json", "compilerOptions": {"paths": {"@": ["x"]}}}',
        "other/src/lib/id.ts": "export function ownId() {}\n",
        "other/src/app.ts": "import { ownId } from '$lib/id.js'\nfunction stop() { ownId() }\n",
    }
    found = {(caller, callee) for caller, callee, how in resolved(tmp_path, files) if how == "import"}
    assert found == {("go", "createId"), ("go", "all")}  # own paths replace those of the file that is extended


def test_go_packages_methods_embedding_and_interfaces(tmp_path: Path) -> None:
    files = {
        "go.mod": "module example.org/shop\n",
        "store/store.go": "package store\n\ntype Store struct{}\n\nfunc New() (*Store, error) { return &Store{}, nil }\n\ntype Saver interface { Save(x string) error }\n",
        "store/save.go": "package store\n\nfunc (s *Store) Save(x string) error { return s.check(x) }\nfunc (s *Store) check(x string) error { return nil }\n",
        "main.go": (
            'package main\n\nimport "example.org/shop/store"\n\ntype App struct { store.Store; other *store.Store }\n\n'
            'func main() {\n\tst, err := store.New()\n\tst.Save("x")\n\ta := App{}\n\ta.Save("y")\n\ta.other.Save("z")\n\t_ = err\n}\n'
        ),
    }
    with code_graph(tmp_path / "data", ("r", write(tmp_path / "r", files))) as code:
        root = code.roots()[0]
        found = {(caller, callee) for caller, callee, _ in calls(root)}
        sql = "SELECT s.local AS source, t.local AS target FROM edges e JOIN nodes s ON s.number = e.source JOIN nodes t ON t.number = e.target WHERE e.type = ?"
        implements = {(row["source"], row["target"]) for row in root.store.read(lambda tx: tx.all(sql, 4))}
        methods = {(row["source"], row["target"]) for row in root.store.read(lambda tx: tx.all(sql, 8))}
    assert {("main", "New"), ("main", "Store.Save"), ("Store.Save", "Store.check")} <= found
    assert ("Store", "Saver") in implements
    assert ("App", "Saver") in implements
    assert ("Store", "Store.check") in methods


def test_rust_modules_impls_and_traits(tmp_path: Path) -> None:
    files = {
        "Cargo.toml": '[package]\nname = "shop"\n',
        "src/lib.rs": "pub mod store;\npub mod cart;\npub use store::Store;\n",
        "src/store.rs": "pub struct Store;\nimpl Store { pub fn new() -> Self { Store } pub fn save(&self) { self.check() } fn check(&self) {} }\npub trait Named { fn name(&self) { helper() } }\nfn helper() {}\nimpl Named for Store {}\n",
        "src/cart.rs": "use crate::Store;\nuse super::store::Named;\npub struct Cart { store: Store }\nimpl Cart { pub fn add(&self) { self.store.save(); let s = Store::new(); s.name(); } }\n",
    }
    found = {(caller, callee) for caller, callee, _ in resolved(tmp_path, files)}
    assert {
        ("Cart.add", "Store.save"),
        ("Cart.add", "Store.new"),
        ("Cart.add", "Named.name"),
        ("Store.save", "Store.check"),
        ("Named.name", "helper"),
    } <= found


def test_a_guess_by_name_is_marked_as_one(tmp_path: Path) -> None:
    found = resolved(
        tmp_path, {"a.py": "def f(x):\n    x.rare_method()\n", "b.py": "class B:\n    def rare_method(self): pass\n"}
    )
    assert found == {("f", "B.rare_method", "unique name")}


def test_cycles_of_imports_and_bases_end(tmp_path: Path) -> None:
    files = {
        "a.py": "from b import *\nclass A(B): pass\ndef f():\n    return g()\nA().x()\n",
        "b.py": "from a import *\nclass B(A): pass\ndef g():\n    return f()\nB().x()\n",
    }
    found = resolved(tmp_path, files)
    assert ("f", "g", "import") in found
