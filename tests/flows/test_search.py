"""Notes found through the tools, with the model that comes with the package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lithos.app import Lithos, open_lithos
from lithos.core.text import estimate_tokens
from lithos.errors import InvalidInput
from lithos.search import Where
from lithos.settings import LithosConfig, SearchSettings, StorageSettings
from lithos.tools.caller import Caller
from lithos.tools.catalogue import catalogue
from tests.conftest import PATIENT, CallTool

NOTES = {
    "Retry policy": "Calls to the gateway fail.\n\n## Limits\n\nBack off exponentially; give up after 5 tries.",
    "Pasta": "Boil water with salt. Cook the spaghetti for nine minutes, then drain.",
    "Database pool": "The connection pool of PostgreSQL holds ten connections (error ERR_4021 when it is empty).",
    "部署手册": "我们使用 PostgreSQL 数据库。连接池大小为十。发布之前必须运行全部测试。",
    "Инструкция": "Перед выпуском запускаются все тесты. Книги лежат на полке.",
    "Tokyo trip": "東京のデータベース会議は三日間でした。서울에서 회의가 열렸습니다.",
}


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CallTool]:
    """The tools of a memory that holds the notes above; for tests that change nothing."""
    storage = StorageSettings(data_dir=tmp_path_factory.mktemp("library"))
    lithos = open_lithos(LithosConfig(storage=storage, search=PATIENT))

    def call_tool(name: str, **arguments: Any) -> dict[str, Any]:
        return catalogue().call(lithos, name, arguments, Caller())

    write_all(call_tool)
    yield call_tool
    lithos.close()


@pytest.fixture
def written(call: CallTool) -> dict[str, str]:
    return write_all(call)


def write_all(call: CallTool) -> dict[str, str]:
    """Title and id of each note."""
    return {
        title: call("lithos_write", agent="ann", title=title, content=content, tags=[f"t{number}", "all"])["id"]
        for number, (title, content) in enumerate(NOTES.items())
    }


def titles(answer: dict[str, object]) -> list[str]:
    return [hit["title"] for hit in answer["results"]]  # type: ignore[attr-defined]


NATURAL = {
    "what's the retry policy?": "Retry policy",
    "error: ERR_4021": "Database pool",
    'pool is "empty': "Database pool",
    "spaghetti (how long": "Pasta",
    "spaghetti - minutes": "Pasta",
    "- spaghetti": "Pasta",
    "😀 spaghetti 😀": "Pasta",
    "spaghetti AND": "Pasta",
    "OR spaghetti OR": "Pasta",
    "[spaghetti": "Pasta",
    "{spaghetti}": "Pasta",
    "spaghetti^": "Pasta",
    "http://spaghetti:8080/x?y=z": "Pasta",
    "C:\\spaghetti\\minutes": "Pasta",
    "why is spaghetti NOT drained": "Pasta",
    "connections:(ten": "Database pool",
    "status: empty": "Database pool",
    "author: spaghetti": "Pasta",
    "/the connection/": "Database pool",
    "+spaghetti~9 AND minutes": "Pasta",
    "spaghetti\0\ud83d": "Pasta",
    "backing off": "Retry policy",
    "连接池": "部署手册",
    "如何设置连接池的大小？": "部署手册",
    "книга на полках": "Инструкция",
    "データベースの会議": "Tokyo trip",
    "회의는 서울": "Tokyo trip",
}


@pytest.mark.parametrize("query", NATURAL)
def test_words_are_found_with_any_signs_between_them(ask: CallTool, query: str) -> None:
    for tool in ("lithos_search", "lithos_recall"):
        assert titles(ask(tool, query=query))[0] == NATURAL[query]


@pytest.mark.parametrize("query", ["what's a retry", "error: pool", '"spaghetti', "spaghetti - minutes", "(pool"])
def test_the_answer_says_when_a_query_was_no_syntax(ask: CallTool, query: str) -> None:
    assert "plain words" in ask("lithos_search", query=query)["literal"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("spaghetti OR pool", {"Pasta", "Database pool"}),
        ("salt AND spaghetti AND NOT drain", set()),
        ("pool AND ten OR salt AND boil", {"Pasta", "Database pool"}),
        ("+postgresql -ERR_4021", {"部署手册"}),
        ('"nine minutes"', {"Pasta"}),
        ('"minutes nine"', set()),
        ("title:pasta", {"Pasta"}),
        ("tags:t2", {"Database pool"}),
        ("tags: IN [t0 t1]", {"Retry policy", "Pasta"}),
        ("author:ann AND salt", {"Pasta"}),
        ("author:bob", set()),
        ("spagheti~1", {"Pasta"}),
        ("spagh*", {"Pasta"}),
        ("/spag.*/", {"Pasta"}),
        ("connection*", {"Database pool"}),
        ("minutse~1 AND drain", {"Pasta"}),
        ("/Connect.+s/", {"Database pool"}),
        ("ERR_40*", {"Database pool"}),
        ("数据库*", {"部署手册"}),
        ('"池"*', {"部署手册"}),
        ("(salt OR pool) AND tags:t1", {"Pasta"}),
        ("updated:[2000-01-01 TO *] AND salt", {"Pasta"}),
        ("updated:[* TO 2000-01-01]", set()),
    ],
)
def test_query_syntax_means_what_it_says(ask: CallTool, query: str, found: set[str]) -> None:
    answer = ask("lithos_search", query=query)
    assert (set(titles(answer)), answer.get("literal")) == (found, None)


def test_matches_are_highlighted(ask: CallTool) -> None:
    hit = ask("lithos_search", query="cooking spaghetti")["results"][0]
    assert "<b>Cook</b> the <b>spaghetti</b>" in hit["snippet"]
    assert hit["path"] == "pasta.md" and hit["score"] > 0


@pytest.mark.parametrize("query", ["spagh*", "spagehtti~1", "/SPAG.*i/", "drain OR spagh*"])
def test_the_passage_that_matches_is_shown_however_loosely_it_was_asked_for(call: CallTool, query: str) -> None:
    paragraphs = [f"Paragraph {number}. " + "Nothing of interest. " * 20 for number in range(5)]
    call("lithos_write", agent="a", title="Long", content="\n\n".join([*paragraphs, "Cook spaghetti here."]))
    assert "<b>spaghetti</b>" in call("lithos_search", query=query)["results"][0]["snippet"]


def test_meaning_is_found_without_a_common_word(ask: CallTool) -> None:
    answer = ask("lithos_semantic", query="preparing noodles in the kitchen", threshold=0.2)
    assert titles(answer)[0] == "Pasta"
    assert answer["results"][0]["snippet"] == NOTES["Pasta"]
    assert 0.2 <= answer["results"][0]["similarity"] <= 1
    assert len(set(titles(answer))) == len(titles(answer))


def test_the_threshold_is_kept(ask: CallTool) -> None:
    similarity = ask("lithos_semantic", query="noodles", threshold=0)["results"][0]["similarity"]
    assert titles(ask("lithos_semantic", query="noodles", threshold=min(1.0, similarity + 0.01))) == []
    everything = ask("lithos_semantic", query="noodles", threshold=0)["results"]
    assert len(everything) == len(NOTES)
    for hit in everything:
        again = ask("lithos_semantic", query="noodles", threshold=hit["similarity"])
        assert hit["title"] in titles(again), "a result is as similar as it says"


def test_recall_names_what_to_cite(ask: CallTool) -> None:
    answer = ask("lithos_recall", query="after how many tries do we give up?")
    best = answer["results"][0]
    assert (best["title"], best["heading"], best["path"]) == ("Retry policy", "Limits", "retry-policy.md")
    assert best["version"] == ask("lithos_read", id=best["id"])["version"]
    assert (answer["relevant"], answer["degraded"]) == (True, False), answer.get("degraded_reason")


@pytest.mark.parametrize("query", ["who won the chess championship of 1972?", "migratory birds in autumn", "量子力学"])
def test_recall_admits_that_nothing_is_relevant(ask: CallTool, query: str) -> None:
    assert ask("lithos_recall", query=query)["relevant"] is False


SMALL = {
    "Retry policy": "after how many tries do we give up when the gateway is flaky?",
    "Pasta": "how long should one cook spaghetti for dinner?",
    "Database pool": "what does ERR_4021 mean?",
    "Deploy day": "why do we never release on Fridays?",
    "Ownership": "whom shall I ask before changing the crawler?",
}
MORE = {
    "Deploy day": "We release on Tuesdays. Fridays are forbidden because nobody watches the dashboards at the weekend.",
    "Ownership": "Anna owns billing. Bruno owns search and the crawler. Ask them before you change the schema.",
}
STRANGE = ["who won the chess championship of 1972?", "how do I knit a scarf?", "what does ERR_9999 mean?", "量子力学"]


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_vault_of_few_notes_knows_what_it_answers_and_what_not(call: CallTool, size: int) -> None:
    for title in list(SMALL)[:size]:
        call("lithos_write", agent="ann", title=title, content=(NOTES | MORE)[title])
    for title, question in list(SMALL.items())[:size]:
        answer = call("lithos_recall", query=question)
        assert (answer["results"][0]["title"], answer["relevant"]) == (title, True), question
    for question in [*STRANGE, *list(SMALL.values())[size:]]:
        assert call("lithos_recall", query=question)["relevant"] is False, question


def test_words_that_a_vault_of_one_note_does_not_have_weigh_no_more_than_elsewhere(call: CallTool) -> None:
    call("lithos_write", agent="ann", title="Ownership", content=MORE["Ownership"])
    question = "is Bruno still responsible for the crawler, or has somebody else taken it over?"
    assert call("lithos_recall", query=question)["relevant"] is True


ODDS = "See ann.lee@example.com, src/lithos/app.py, 192.168.0.1; the 微服务架构 is older. " + "Unrelated remarks. " * 20


@pytest.mark.parametrize("query", ["ann.lee@example.com", "src/lithos/app.py", "192.168.0.1", "架构"])
def test_a_note_that_says_the_question_word_by_word_is_an_answer(call: CallTool, query: str) -> None:
    call("lithos_write", agent="a", title="Odds", content=ODDS)
    call("lithos_write", agent="a", title="Short", content="ends")
    assert call("lithos_recall", query=query)["relevant"] is True
    assert call("lithos_recall", query="the")["relevant"] is False


@pytest.mark.parametrize("query", ["2024-05-01", "what changed in 1.2.3?", "ERR_40_21"])
def test_parts_of_one_name_count_more_in_their_order(call: CallTool, query: str) -> None:
    call("lithos_write", agent="a", title="Other", content="2024-01-05, 3.2.1, ERR_21_40")
    call("lithos_write", agent="a", title="This", content="On 2024-05-01 came 1.2.3 with many things and ERR_40_21")
    assert titles(call("lithos_search", query=query))[0] == "This", "before they are indexed"
    assert titles(call("lithos_recall", query=query))[0] == "This"
    assert titles(call("lithos_search", query=query))[0] == "This", "afterwards"


@pytest.mark.parametrize("query", ["ΣΦΑΛΜΑ", "σφάλμα", "συνδεσησ", "istanbul", "İSTANBUL"])
def test_letters_are_found_without_their_accents_in_other_scripts_too(call: CallTool, query: str) -> None:
    call("lithos_write", agent="a", title="A", content="Σφάλμα: σύνδεσης τέλος. İstanbul'da")
    assert "<b>" in call("lithos_search", query=query)["results"][0]["snippet"]


@pytest.mark.parametrize("budget", [10, 120, 300])
def test_recall_keeps_its_token_budget(call: CallTool, written: dict[str, str], budget: int) -> None:
    call("lithos_write", agent="a", title="Long", content="\n\n".join(f"Spaghetti fact {n}. " * 20 for n in range(9)))
    answer = call("lithos_recall", query="spaghetti facts", token_budget=budget)
    cost = sum(estimate_tokens(f"{hit['title']}\n{hit['heading']}\n{hit['passage']}") for hit in answer["results"])
    assert cost == answer["tokens_used"] <= budget
    assert answer["results"], "even a small budget gets the beginning of the best passage"
    if budget == 300:
        assert len(answer["results"]) > 1


def test_filters_hold_in_every_tool(call: CallTool, written: dict[str, str]) -> None:
    call("lithos_write", agent="bob", title="Other", content="spaghetti pool", path="cooking")
    for tool in ("lithos_search", "lithos_recall"):
        assert titles(call(tool, query="spaghetti pool", author="bob")) == ["Other"]
        assert titles(call(tool, query="spaghetti pool", path_prefix="cooking/")) == ["Other"]
        assert titles(call(tool, query="spaghetti pool", tags=["all", "t1"])) == ["Pasta"]
    assert titles(call("lithos_semantic", query="spaghetti", path_prefix="cooking", threshold=0)) == ["Other"]
    assert titles(call("lithos_recall", query="spaghetti", status="superseded")) == []
    assert "Pasta" in titles(call("lithos_recall", query="spaghetti", status="active"))


def test_a_limit_beyond_the_setting_is_clamped_and_said(config: LithosConfig, data_dir: Path) -> None:
    small = LithosConfig(storage=StorageSettings(data_dir=data_dir), search=SearchSettings(max_results=2))
    lithos = open_lithos(small)
    try:
        for number in range(4):
            given = {"agent": "a", "title": f"n{number}", "content": "spaghetti"}
            catalogue().call(lithos, "lithos_write", given, Caller())
        for tool in ("lithos_search", "lithos_semantic", "lithos_recall"):
            answer = catalogue().call(lithos, tool, {"query": "spaghetti", "limit": 10**9}, Caller())
            assert (len(answer["results"]), answer["limit"]) == (2, 2)
    finally:
        lithos.close()


@pytest.mark.parametrize("tool", ["lithos_search", "lithos_semantic", "lithos_recall"])
def test_deleted_and_rewritten_notes_are_found_as_they_are_now(
    call: CallTool, written: dict[str, str], tool: str
) -> None:
    call("lithos_delete", id=written["Pasta"], agent="a")
    assert "Pasta" not in titles(call(tool, query="spaghetti for nine minutes"))
    call("lithos_write", agent="a", id=written["Retry policy"], content="Now about spaghetti for nine minutes.")
    assert titles(call(tool, query="spaghetti for nine minutes"))[0] == "Retry policy"


def test_an_empty_query_is_refused_with_a_hint(call: CallTool) -> None:
    for tool in ("lithos_search", "lithos_semantic", "lithos_recall"):
        with pytest.raises(InvalidInput) as refused:
            call(tool, query="  ")
        assert refused.value.hint


def test_a_trace_explains_the_ranking(ask: CallTool) -> None:
    trace = ask("lithos_recall", query="spaghetti", explain=True)["trace"]
    assert trace["best"][0]["similarity"] > 0 and trace["best"][0]["words"] > 0
    assert set(trace["milliseconds"]) == {"words", "embed", "vectors", "fetch"}
    for tool in ("lithos_search", "lithos_semantic", "lithos_recall"):
        answer = ask(tool, query="spaghetti and postgresql", explain=True)
        assert [each["id"] for each in answer["trace"]["best"]] == [hit["id"] for hit in answer["results"]]
        assert "trace" not in ask(tool, query="spaghetti")


def test_passages_never_exceed_what_the_model_reads(call: CallTool) -> None:
    texts = {
        "Base64": "QUJD" * 800,
        "Chinese": "数据库连接池的大小应当根据负载调整。" * 80,
        "Korean": "서울에서 회의가 열렸습니다 " * 100,
        "Gibberish": "xqzvk jkwpt " * 300,
        "Emoji": "😀🎉" * 600,
    }
    for title, text in texts.items():
        note = call("lithos_write", agent="a", title=title, content=f"# {title} " + "heading " * 60 + f"\n\n{text}")
        passages = call("lithos_note_passages", id=note["id"])["passages"]
        assert max(each["tokens"] for each in passages) <= 256
        assert max(each["characters"] for each in passages) <= 1000
        kept = "".join("".join(each["text"].split()) for each in passages)
        assert kept == "".join(text.split()), title


def test_search_goes_on_after_a_restart(config: LithosConfig, lithos: Lithos, call: CallTool) -> None:
    call("lithos_write", agent="a", title="Kept", content="spaghetti")
    lithos.close()
    again = open_lithos(config)
    try:
        again.notes.index.reconcile()
        found = again.note_search.words("spaghetti", 10, Where())["results"]
        assert [hit["title"] for hit in found] == ["Kept"]
    finally:
        again.close()


@pytest.mark.parametrize("tool", ["lithos_recall", "lithos_search", "lithos_semantic"])
def test_a_path_prefix_as_long_as_no_path_is_refused(ask: CallTool, tool: str) -> None:
    assert ask(tool, query="pool", path_prefix="ä" * 400)["results"] == []
    with pytest.raises(InvalidInput, match="path_prefix has more than"):
        ask(tool, query="pool", path_prefix="ä" * 401)


def test_a_memory_that_holds_thoughts_is_not_called_degraded(call: CallTool) -> None:
    for times in range(2):  # the first question opens the index of thoughts, the second looks for its files
        assert call("lithos_recall", query=f"backups {times}")["degraded"] is False
    call("mentisdb_append", agent_id="ann", thought_type="Insight", content="Backups run at night.")
    for times in range(2):
        answer = call("lithos_recall", query=f"when do backups run? {times}")
        assert (answer["degraded"], answer["results"][0]["kind"]) == (False, "thought"), answer.get("degraded_reason")
