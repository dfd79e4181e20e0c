"""Habits of writing: files read again, previews of edits."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos
from lithos.errors import Conflict, InvalidInput, NotFound
from tests.conftest import CallTool
from tests.faults.damage import Damage, fifo, flip
from tests.flows.test_sessions import OPERATOR, started
from tests.support.code_repos import SHOP, repository, write

LONG = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(60))


@pytest.fixture
def shop(call: CallTool, tmp_path: Path) -> Path:
    folder = repository(tmp_path / "shop", {**SHOP, "long.py": LONG})
    call("lithos_code_add", path=str(folder), name="shop", _caller=OPERATOR)
    return folder


# Files


def test_a_reader_that_names_its_version_gets_nothing_twice(call: CallTool, shop: Path, lithos: Lithos) -> None:
    session = started(call)
    first = call("lithos_get_file", path="long.py", agent="ann")
    assert first["token_count"] == -(-len(LONG) // 4)
    version = first["version"]
    for known in (version, version.removeprefix("sha256:")[:12]):
        again = call("lithos_read_file", path="long.py", known_version=known, agent="ann")
        assert again["unchanged"] and again["token_count"] == first["token_count"] and "content" not in again
    write(shop, {"long.py": LONG.replace("return 30\n", "return 31\n")})
    hunks = call("lithos_get_file", path="long.py", known_version=version, agent="ann")
    assert "-    return 30\n+    return 31\n" in hunks["hunks"] and "content" not in hunks
    assert "content" in call("lithos_get_file", path="long.py", known_version="0" * 12, agent="ann")
    assert "content" in call("lithos_get_file", path="long.py", known_version=version, start_line=1, agent="ann")
    write(shop, {"long.py": "x = 1\n"})
    assert call("lithos_get_file", path="long.py", known_version=version, agent="ann")["content"] == "x = 1\n"
    saved = lithos.habits.files.savings(session)
    assert (saved["reads"], saved["unchanged"], saved["hunks"]) == (7, 2, 1)
    assert saved["tokens_saved"] > 2 * first["token_count"]
    assert call("lithos_stats")["file_reads"] == saved
    lithos.habits.files.flush()
    assert lithos.habits.files.savings(session) == saved
    context = call("lithos_session_context", session_id=session, agent="ann")
    assert [*context["context"]["read_files"]] == ["shop:long.py"]
    assert context["version"] == 0  # an agent's if_match must not fail by what the server notes


@pytest.mark.parametrize("damage", [flip, fifo])
def test_a_damaged_text_that_was_served_means_the_whole_file(
    call: CallTool, shop: Path, lithos: Lithos, data_dir: Path, damage: Damage
) -> None:
    version = call("lithos_get_file", path="long.py", agent="ann")["version"]
    damage(data_dir / ".graph" / "served" / version.removeprefix("sha256:"))
    changed = LONG.replace("return 30\n", "return 31\n")
    write(shop, {"long.py": changed})
    assert call("lithos_get_file", path="long.py", known_version=version, agent="ann")["content"] == changed


def test_texts_that_were_served_are_bounded_and_derived(call: CallTool, shop: Path, lithos: Lithos) -> None:
    texts = lithos.habits.files.texts
    texts._most = 10_000
    for number in range(5):
        write(shop, {"long.py": LONG + f"x = {number}\n"})
        version = call("lithos_get_file", path="long.py")["version"]
    assert texts.size() <= 10_000 and texts.get(version) is not None


# Previews


def preview(call: CallTool, path: str, old: str, new: str, **more: Any) -> dict[str, Any]:
    return call("lithos_preview_edit", file_path=path, old_string=old, new_string=new, **more)


def test_a_preview_shows_the_diff_and_writes_nothing(call: CallTool, shop: Path) -> None:
    before = (shop / "shop/cart.py").read_bytes()
    shown = preview(call, "shop/cart.py", "return item", "return [item]")
    assert "-        return item\n+        return [item]\n" in shown["diff"]
    assert (shown["matches"], shown["lines_added"], shown["lines_removed"]) == (1, 1, 1)
    assert shown["warnings"] == [] and shown["reversible"]
    assert (shop / "shop/cart.py").read_bytes() == before


def test_warnings_of_a_preview(call: CallTool, shop: Path) -> None:
    several = preview(call, "shop/cart.py", "def ", "async def ")
    assert several["matches"] == 4 and several["match_lines"] == [5, 12, 15, 20]
    assert "matches 4 times" in several["warnings"][0]
    broken = preview(call, "shop/store.py", "def save(self, thing):", "def save(self, thing:")
    assert any("breaks the syntax" in each for each in broken["warnings"])
    renamed = preview(call, "shop/store.py", "class Store", "class Shop")
    assert any("removes or renames Store" in each for each in renamed["warnings"])
    secret = preview(call, "shop/store.py", "return thing", 'return "AKIAABCDEFGHIJKLMNOP"')
    assert any("AWS access key" in each for each in secret["warnings"])
    gone = preview(call, "shop/store.py", "        return  thing", "x")
    assert gone["matches"] == 0 and gone["nearest"]["line"] == 3 and "white space" in gone["nearest"]["difference"]
    assert not preview(call, "shop/store.py", "return thing", "")["reversible"]
    with pytest.raises(InvalidInput):
        preview(call, "shop/store.py", "", "x")
    with pytest.raises(NotFound):
        preview(call, "nowhere.py", "a", "b")


def test_warnings_of_a_preview_name_a_class_without_its_members_and_few_symbols(
    call: CallTool, shop: Path, lithos: Lithos
) -> None:
    several = "".join(f"def g{n}(a):\n    return a\n\n\n" for n in range(6))
    members = "".join(f"    def m{n}(self):\n        return {n}\n\n" for n in range(6))
    uses = "".join(f"def use{n}(big: Big):\n    g{n}(1)\n    return Big().m{n}()\n\n\n" for n in range(6))
    write(
        shop,
        {
            "shop/parts.py": f"{several}class Big:\n{members}",
            "shop/uses.py": f"from shop.parts import Big, {', '.join(f'g{n}' for n in range(6))}\n\n\n{uses}",
        },
    )
    lithos.code.roots()[0].index.reconcile()
    renamed = preview(call, "shop/parts.py", "class Big", "class Large")["warnings"]
    assert len(renamed) == 1 and "removes or renames Big, used by" in renamed[0]
    edit = {"file_path": "shop/parts.py", "old_string": "(a):", "new_string": "(a, b):", "replace_all": True}
    changed = [
        each for each in call("lithos_preview_edit", **edit)["warnings"] if "signature" in each or "more" in each
    ]
    assert len(changed) == 4 and changed[-1].startswith("3 more")


def test_a_preview_names_lines_that_still_use_a_name_and_no_signature_that_stays(
    call: CallTool, shop: Path, lithos: Lithos
) -> None:
    write(
        shop,
        {
            "web/api.ts": (
                "export const load = (id: string) => ask('a', id)\n// load is fast\n"
                "export const all = () => load('x')\n"
            ),
            "web/page.ts": "import { load } from './api'\nexport function page() { return load('1') }\n",
        },
    )
    lithos.code.roots()[0].index.reconcile()
    renamed = preview(call, "web/api.ts", "const load =", "const read =")["warnings"]
    assert "the edit removes or renames load, still used in line 3" in renamed
    assert preview(call, "web/api.ts", "ask('a', id)", "ask('b', id)").get("warnings", []) == []
    (changed,) = preview(call, "web/api.ts", "(id: string)", "(id: number)")["warnings"]
    assert "changes the signature of load" in changed


def test_applying_gives_the_previewed_bytes(call: CallTool, lithos: Lithos) -> None:
    who = {"agent": "ann", "user_id": "pat", "rationale": "because"}
    call("lithos_fs_write", path="users/pat/notes.md", content="# A\n\none\ntwo\none\n", **who)
    path = "users/pat/notes.md"
    edit = {"old_string": "two", "new_string": "three"}
    shown = call("lithos_preview_edit", file_path=f"garden:{path}", user_id="pat", **edit)
    done = call("lithos_fs_patch", path=path, **edit, **who)
    assert done["version"] == shown["after_version"]
    with pytest.raises(Conflict, match="occurs 2 times, in lines 3, 5"):
        call("lithos_fs_patch", path=path, old_string="one", new_string="1", **who)
    call("lithos_fs_patch", path=path, old_string="one", new_string="1", replace_all=True, **who)
    assert call("lithos_fs_read", path=path, user_id="pat")["content"] == "# A\n\n1\nthree\n1\n"


@pytest.mark.parametrize(
    ("old", "new"), [("return 30", "return 1"), ("def f0():\n", ""), ("return 59\n\n\n", "return 60"), ("\n\n\n", "\n")]
)
def test_the_diff_is_the_one_that_git_shows(call: CallTool, shop: Path, tmp_path: Path, old: str, new: str) -> None:
    shown = preview(call, "long.py", old, new, replace_all=True)
    (tmp_path / "after.py").write_text(LONG.replace(old, new))
    command = ["git", "diff", "--no-index", "--", str(shop / "long.py"), str(tmp_path / "after.py")]
    told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    expected = told[told.index("\n@@ ") :]
    assert expected.startswith(shown["diff"][shown["diff"].index("\n@@ ") :])
