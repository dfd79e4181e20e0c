"""`lithos_tool_find`: everyday wishes lead to the right tool, for few tokens."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import orjson
import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.text import estimate_tokens
from lithos.errors import UnknownTool
from lithos.search.embedding.embedder import HashedEmbedder
from lithos.settings import LithosConfig, StorageSettings
from lithos.tools.catalogue import catalogue
from lithos.tools.find.phrases import phrases
from tests.conftest import PATIENT

FIXTURES = Path(__file__).parents[1] / "fixtures"
# Wishes of another author than the phrases'; nothing is tuned to them.
HELD_OUT = ("tool_wishes_held_out.tsv", "tool_wishes_held_out_2.tsv")


@pytest.fixture(scope="module")
def lithos(tmp_path_factory: pytest.TempPathFactory, tool_vectors: Path) -> Iterator[Lithos]:
    data_dir = tmp_path_factory.mktemp("find")
    shutil.copytree(tool_vectors, data_dir / ".vectors")
    opened = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir), search=PATIENT))
    yield opened
    opened.close()


def wishes(file: str) -> Iterator[tuple[str, frozenset[str]]]:
    for row in (FIXTURES / file).read_text().splitlines():
        if row and not row.startswith("#"):
            wish, _, tools = row.partition("\t")
            yield wish, frozenset(tools.split(","))


def find(lithos: Lithos, **arguments: Any) -> dict[str, Any]:
    return catalogue().call(lithos, "lithos_tool_find", arguments)


@pytest.mark.parametrize("files", [("tool_wishes.tsv",), HELD_OUT], ids=["looked_at", "held_out"])
def test_everyday_wishes_find_the_right_tool_for_few_tokens(lithos: Lithos, files: tuple[str, ...]) -> None:
    places, costs = [], []
    for wish, right in (each for file in files for each in wishes(file)):
        answer = find(lithos, query=wish)
        names = [each["name"] for each in answer["tools"]]
        places.append(next((place for place, name in enumerate(names) if name in right), 99))
        costs.append(estimate_tokens(orjson.dumps(answer).decode()))
        assert len(names) == 5
        assert [each["name"] for each in answer["tools"] if "input_schema" in each] == names[:1]
        assert answer["degraded"] is False
    for chosen in (places, places[1::2]):  # all, and those that were not looked at while tuning
        assert len(chosen) >= 80
        assert sum(place < 1 for place in chosen) / len(chosen) >= 0.8
        assert sum(place < 3 for place in chosen) / len(chosen) >= 0.95
    assert median(costs) <= 600 and max(costs) <= 1000


def test_phrases_name_tools_that_exist() -> None:
    assert set(phrases()) <= {each.name for each in catalogue()}
    assert all(phrases().values())


def test_a_name_shows_one_schema_with_all_its_arguments(lithos: Lithos) -> None:
    (shown,) = find(lithos, name="lithos_write")["tools"]
    assert "merge_key" in shown["input_schema"]["properties"]
    assert "merge_key" not in find(lithos, query="save a note")["tools"][0]["input_schema"]["properties"]
    with pytest.raises(UnknownTool, match="lithos_writ"):
        find(lithos, name="lithos_writ")


def test_without_a_query_names_are_listed_by_toolset_and_one_toolset_whole(lithos: Lithos) -> None:
    answer = find(lithos)
    left_out = sum(answer["more"].values())
    assert sum(map(len, answer["toolsets"].values())) + left_out == answer["total"] == len(catalogue())
    assert estimate_tokens(orjson.dumps(answer).decode()) <= 1000
    whole = find(lithos, toolset="garden")
    assert "lithos_fs_patch" in whole["toolsets"]["garden"] and "more" not in whole


def test_a_tool_that_is_named_in_the_query_comes_first(lithos: Lithos) -> None:
    assert find(lithos, query="arguments of mentisdb_head please")["tools"][0]["name"] == "mentisdb_head"


def test_an_operators_tool_says_that_an_agent_cannot_call_it(lithos: Lithos) -> None:
    assert find(lithos, query="rebuild the search index")["tools"][0]["does"].startswith("Only for the operator")


def test_vectors_are_made_once_and_a_damaged_file_of_them_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counting(HashedEmbedder):
        texts = 0

        def embed(self, text: str) -> Any:
            self.texts += 1
            return super().embed(text)

    embedder = Counting()
    monkeypatch.setattr("lithos.app.open_embedder", lambda _: embedder)

    def found() -> dict[str, Any]:
        embedder.texts = 0
        with closing(open_lithos(LithosConfig(storage=StorageSettings(data_dir=tmp_path)))) as again:
            return find(again, query="undo a mistake")

    first = found()
    assert embedder.texts > 1000
    assert found() == first and embedder.texts == 1
    (path,) = (tmp_path / ".vectors").glob("tools-*.npy")
    path.write_bytes(b"damaged")
    assert found() == first and embedder.texts > 1000
    assert found() == first and embedder.texts == 1
