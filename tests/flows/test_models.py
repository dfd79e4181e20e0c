"""`search.embedding_model`: a model in a folder, one that is not there, and vectors of two that never meet."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from lithos.app import open_lithos
from lithos.errors import ConfigInvalid
from lithos.search import Embedding, HashedEmbedder, Query, open_embedder
from lithos.search.embedding.embedder import FOLDER, PACKAGED
from lithos.settings import LithosConfig, SearchSettings, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.support.collections_at_hand import note, opened
from tests.support.onnx_model import write_reranker

NOODLES = "preparing noodles in the kitchen"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The model of the package as if somebody had brought it."""
    made = tmp_path / "my-model"
    made.mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (made / name).symlink_to(FOLDER / name)
    return made


def memory(data_dir: Path, model: str) -> Iterator[Any]:
    config = LithosConfig(storage=StorageSettings(data_dir=data_dir), search=SearchSettings(embedding_model=model))
    lithos = open_lithos(config)
    try:
        lithos.notes.index.reconcile()
        yield lambda name, **arguments: catalogue().call(lithos, name, arguments, Caller())
    finally:
        lithos.close()


def test_a_model_in_a_folder_embeds_notes_and_a_change_of_model_rebuilds(tmp_path: Path, folder: Path) -> None:
    for model in (PACKAGED, str(folder), PACKAGED):
        for call in memory(tmp_path / "data", model):
            if model == PACKAGED and not call("lithos_list")["items"]:
                call("lithos_write", agent="a", title="Pasta", content="Cook the spaghetti for nine minutes.")
            answer = call("lithos_semantic", query=NOODLES, threshold=0.2)
            assert [hit["title"] for hit in answer["results"]] == ["Pasta"]
            assert not answer["degraded"]


def test_vectors_of_two_models_never_meet(tmp_path: Path, folder: Path) -> None:
    """Equal weights under another name are another model: nothing of the one is served by the other."""
    names = set()
    for model in (PACKAGED, str(folder)):
        embedding = Embedding(open_embedder(model))
        made = opened(tmp_path / "data", embedding)
        assert made.known() == {}
        assert made.query(Query(NOODLES, "meaning")).hits == ()
        made.apply([note("pasta", "Cook the spaghetti for nine minutes.")])
        assert [hit.id for hit in made.query(Query(NOODLES, "meaning")).hits] == ["pasta"]
        names.add(made.status().model)
        made.close()
        embedding.close()
    assert len(names) == 2


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_without_a_model_is_refused_by_name(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(ConfigInvalid, match=missing):
        open_embedder(str(folder))


@pytest.mark.parametrize("spoilt", ["model.onnx", "tokenizer.json"])
def test_a_model_that_cannot_be_loaded_names_the_setting(folder: Path, spoilt: str) -> None:
    (folder / spoilt).unlink()
    (folder / spoilt).write_text("not a model")
    with pytest.raises(ConfigInvalid, match=r"search\.embedding_model"):
        open_embedder(str(folder)).embed("anything")


@pytest.mark.parametrize("spoilt", ["model.onnx", "tokenizer.json"])
def test_search_by_words_goes_on_while_the_model_cannot_be_loaded(tmp_path: Path, folder: Path, spoilt: str) -> None:
    for call in memory(tmp_path / "data", PACKAGED):
        call("lithos_write", agent="a", title="Pasta", content="Cook the spaghetti for nine minutes.")
    (folder / spoilt).unlink()
    (folder / spoilt).write_text("not a model")
    for _ in range(2):  # made anew for the other model, then as it was left
        for call in memory(tmp_path / "data", str(folder)):
            found = call("lithos_recall", query="spaghetti")
            assert [hit["title"] for hit in found["results"]] == ["Pasta"]
            assert found["degraded_reason"].count("search.embedding_model") == 1
            assert call("lithos_semantic", query="spaghetti")["results"] == []
            assert "<b>spaghetti</b>" in call("lithos_search", query="+spaghetti")["results"][0]["snippet"]


WITH_EXTRA = find_spec("sentence_transformers") is not None


def test_a_name_that_is_not_here_is_refused_at_start_without_asking_the_network(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        for _ in memory(tmp_path, "nobody/no-such-model"):
            pass
    assert "nobody/no-such-model" in refused.value.message
    assert ("hf download" if WITH_EXTRA else "lithos-memory[models]") in (refused.value.hint or "")


def test_a_folder_of_sentence_transformers_needs_the_extra(folder: Path) -> None:
    (folder / "model.onnx").unlink()
    (folder / "modules.json").write_text("[]")
    if WITH_EXTRA:
        assert open_embedder(str(folder)).id.startswith("sentence-transformers/my-model/")
        return
    with pytest.raises(ConfigInvalid) as refused:
        open_embedder(str(folder))
    assert "lithos-memory[models]" in (refused.value.hint or "")


def test_the_way_back_to_a_model_embeds_nothing_again(tmp_path: Path) -> None:
    """And the vectors of the other model are kept apart, until something must be forgotten."""
    embedded: list[str] = []

    class Counted(HashedEmbedder):
        def embed(self, text: str) -> Any:
            embedded.append(self.id)
            return super().embed(text)

    def found(id: str, dimension: int) -> list[str]:
        embedding = Embedding(Counted(dimension, id))
        made = opened(tmp_path, embedding)
        made.apply([note(f"n{number}", f"Cook the spaghetti for {number} minutes.") for number in range(9)])
        assert made.settle()
        hits = made.query(Query("cook the spaghetti for 7 minutes", "meaning", 1)).hits
        if id == "forgets":
            made.purge(["n1"])
        made.close()
        embedding.close()
        return [hit.id for hit in hits]

    for id, dimension in (("first", 64), ("second", 48), ("first", 64), ("second", 48)):
        assert found(id, dimension) == ["n7"]
    assert (embedded.count("first"), embedded.count("second")) == (9 + 2, 9 + 2)  # each asked once in each run
    assert len([*(tmp_path / ".vectors" / "notes").glob("rows*.bin")]) == 2
    found("forgets", 32)
    assert [each.name for each in (tmp_path / ".vectors" / "notes").glob("rows*.bin")] == ["rows.bin"]


@pytest.fixture
def reranker(tmp_path: Path) -> Path:
    made = tmp_path / "reranker"
    made.mkdir()
    (made / "tokenizer.json").symlink_to(FOLDER / "tokenizer.json")
    write_reranker(made / "model.onnx")
    return made


def recalled(data_dir: Path, reranker: str, **arguments: Any) -> dict[str, Any]:
    """Of notes that say the same but for their number of zebras, whose token has a high number."""
    search = SearchSettings(reranker=reranker)
    lithos = open_lithos(LithosConfig(storage=StorageSettings(data_dir=data_dir), search=search))
    try:
        if not (data_dir / "knowledge" / "n0.md").exists():
            for number in range(9):
                (data_dir / "knowledge" / f"n{number}.md").write_text(f"Rivers flow.{' Zebra.' * number}\n")
        lithos.notes.index.reconcile()
        return catalogue().call(lithos, "lithos_recall", {"query": "rivers flow", **arguments}, Caller())
    finally:
        lithos.close()


def test_a_reranker_orders_the_best_hits_and_is_off_by_default(tmp_path: Path, reranker: Path) -> None:
    data = tmp_path / "data"
    (data / "knowledge").mkdir(parents=True)
    plain = [hit["title"] for hit in recalled(data, "", limit=5)["results"]]
    assert plain[0] == "n0" and plain != [f"n{number}" for number in range(8, 3, -1)]
    first = recalled(data, str(reranker), limit=5)
    assert [hit["title"] for hit in first["results"]] == [f"n{number}" for number in range(8, 3, -1)]
    rest = recalled(data, str(reranker), limit=5, cursor=first["next_cursor"])
    assert [hit["title"] for hit in rest["results"]] == ["n3", "n2", "n1", "n0"]
    assert "reranker" not in first.get("degraded_reason", "")


def test_a_reranker_that_cannot_be_used_costs_no_answer(tmp_path: Path, reranker: Path) -> None:
    data = tmp_path / "data"
    (data / "knowledge").mkdir(parents=True)
    plain = recalled(data, "", limit=5)["results"]
    (reranker / "model.onnx").write_text("not a model")
    answer = recalled(data, str(reranker), limit=5)
    assert answer["results"] == plain
    assert answer["degraded"] and "reranker" in answer["degraded_reason"]
    for missing in ("model.onnx", "tokenizer.json"):
        (reranker / missing).unlink()
        with pytest.raises(ConfigInvalid, match="reranker"):
            recalled(data, str(reranker))
        (reranker / missing).write_text("x")
    with pytest.raises(ConfigInvalid, match="not a folder"):
        recalled(data, str(tmp_path / "nowhere"))
