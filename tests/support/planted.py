"""Small projects with planted faults: lint, format, type and test. Each fault is at a line that the tests know."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PYTHON: Mapping[str, str] = {
    "pyproject.toml": "[tool.ruff]\nline-length = 100\n\n"
    '[tool.mypy]\nstrict = true\n\n[tool.pytest.ini_options]\naddopts = ""\n',
    "app.py": (
        "import os\nimport sys\n\n\ndef add(a: int, b: int) -> int:\n    return a + b\n\n\n"
        "def label(n: int) -> str:\n    return add(n, 1)\n\n\nprint(sys.argv)\nx = {  'a':1 }\n"
    ),
    "test_app.py": (
        "import pytest\n\nfrom app import add\n\n\ndef test_add_is_right() -> None:\n    assert add(1, 2) == 3\n\n\n"
        "def test_add_is_wrong() -> None:\n    assert add(1, 2) == 4\n\n\n"
        'class TestGroup:\n    @pytest.mark.parametrize("n", [1, 2])\n    def test_n(self, n: int) -> None:\n'
        "        assert n == 1\n\n\n@pytest.fixture\ndef bad() -> None:\n    raise RuntimeError('no fixture')\n\n\n"
        "def test_setup(bad: None) -> None:\n    pass\n\n\n"
        "@pytest.mark.skip(reason='later')\ndef test_skipped() -> None:\n    pass\n"
    ),
}
PYTHON_FIXED: Mapping[str, str] = {
    "app.py": (
        "import sys\n\n\ndef add(a: int, b: int) -> int:\n    return a + b\n\n\n"
        'def label(n: int) -> str:\n    return str(add(n, 1))\n\n\nprint(sys.argv)\nx = {"a": 1}\n'
    ),
    "test_app.py": "from app import add\n\n\ndef test_add_is_right() -> None:\n    assert add(1, 2) == 3\n",
}
SCRIPT: Mapping[str, str] = {
    "package.json": '{"name": "planted", "private": true, "type": "module"}\n',
    "eslint.config.js": (
        'export default [{ rules: { "no-unused-vars": "error", "prefer-const": "warn", eqeqeq: "error" } }];\n'
    ),
    "biome.json": "{}\n",
    "tsconfig.json": (
        '{ "compilerOptions": { "strict": true, "noEmit": true, "skipLibCheck": true, "types": [] },'
        ' "include": ["*.ts"] }\n'
    ),
    "bad.js": "let used = 1;\nvar unused = 2;\nif (used == 2) {\n  console.log( 'x' )\n}\n",
    "syntax.js": "const = 3;\n",
    "types.ts": (
        "export function add(a: number, b: number): number {\n  return a + b;\n}\n"
        'export const s: string = add(1, 2);\nadd("1");\n'
    ),
}
VITEST: Mapping[str, str] = {
    "package.json": '{"name": "planted", "private": true, "type": "module"}\n',
    "sum.test.js": (
        'import { describe, expect, test } from "vitest";\n\ndescribe("sum", () => {\n'
        '  test("right", () => {\n    expect(1 + 2).toBe(3);\n  });\n'
        '  test("wrong (a|b)", () => {\n    expect(1 + 2).toBe(4);\n  });\n  test.skip("later", () => {});\n});\n'
    ),
    "load.test.js": 'import "./missing.js";\n',
}
JEST: Mapping[str, str] = {
    "package.json": '{"name": "planted", "private": true}\n',
    "sum.test.js": VITEST["sum.test.js"].partition("\n\n")[2],
    "load.test.js": 'require("./missing.js");\n',
}
GO: Mapping[str, str] = {
    "go.mod": "module example.com/planted\n\ngo 1.22\n",
    "sum.go": (
        'package planted\n\nimport "fmt"\n\nfunc Add(a, b int) int {\n\tfmt.Printf("%d\\n", "x")\n\treturn a + b\n}\n'
    ),
    "sum_test.go": (
        'package planted\n\nimport "testing"\n\nfunc TestRight(t *testing.T) {\n\t'
        'if Add(1, 2) != 3 {\n\t\tt.Fatal("no")\n'
        '\t}\n}\n\nfunc TestWrong(t *testing.T) {\n\tt.Run("inner case", func(t *testing.T) {\n'
        '\t\tif got := Add(1, 2); got != 4 {\n\t\t\tt.Errorf("got %d, want %d", got, 4)\n\t\t}\n\t})\n}\n\n'
        'func TestLater(t *testing.T) {\n\tt.Skip("later")\n}\n'
    ),
    "sub/sub.go": "package sub\n\nfunc X( ) int { return 1 }\n",
    "broken/b.go": 'package broken\n\nfunc Y() int { return "a" }\n',
    "broken/b_test.go": 'package broken\n\nimport "testing"\n\nfunc TestY(t *testing.T) { Y() }\n',
}
RUST: Mapping[str, str] = {
    "Cargo.toml": '[package]\nname = "planted"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": (
        "pub fn add(a: i32, b: i32) -> i32 {\n    return a + b;\n}\n\npub fn flag(x: bool) -> bool {\n"
        "    let unused = 3;\n    if x == true { false } else { true }\n}\n\n#[cfg(test)]\nmod tests {\n"
        "    use super::*;\n\n    #[test]\n    fn right() {\n        assert_eq!(add(1, 2), 3);\n    }\n\n"
        "    #[test]\n    fn wrong() {\n        assert_eq!(add(1, 2), 4);\n    }\n\n    #[test]\n    #[ignore]\n"
        "    fn later() {}\n}\n"
    ),
    "tests/outer.rs": '#[test]\nfn outside() {\n    panic!("boom");\n}\n',
}
SHELL: Mapping[str, str] = {
    "a.sh": '#!/bin/bash\nx=1\necho $1\nif [ "$x" = 1 ]; then\n  rm -rf "$y"/*\nfi\n',
}


def plant(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
