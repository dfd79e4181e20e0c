"""Words of other scripts: in one form however they are written, and whole."""

from __future__ import annotations

import pytest

from lithos.search.text.analysis import IndexedText, ideographs, query_terms
from lithos.search.text.snippets import Snippets


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("الْعَرَبِيَّة", "العربية"),  # with and without points
        ("المدرسة", "مدرسة"),  # the article
        ("مدرســة", "مدرسة"),  # widened
        ("שָׁלוֹם", "שלום"),
        ("Ελλάδα", "ελλάδας"),
        ("ἄνθρωπος", "ανθρώπων"),
        ("домами", "дома"),
        ("Donau\u00addampf", "donaudampf"),
        ("นํ้า", "น้ำ"),  # two ways to type one word
        ("क\u200dष", "कष"),
    ],
)
def test_two_spellings_of_a_word_are_the_same_terms(one: str, other: str) -> None:
    assert query_terms(one) == query_terms(other)
    assert IndexedText.of(one).stems == IndexedText.of(other).stems


@pytest.mark.parametrize("word", ["प्रधानमंत्री", "பள்ளிக்கூடம்", "বাংলাদেশের", "శ్రీకాకుళం", "ശ്രീലങ്ക"])
def test_no_mark_inside_a_word_ends_it(word: str) -> None:
    assert len(query_terms(word)) == len(IndexedText.of(word).stems.split()) == 1


def test_a_thai_word_is_pairs_of_letters_without_its_tones() -> None:
    assert query_terms("เป็น") == ["เป", "ปน"]
    assert set(query_terms("ก่อน")) <= set(IndexedText.of("ก่อนนี้").stems.split())


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("黑豹队的防守丢了多少分？", "黑豹队的防守丢了 分"),
        ("東大寺はどこですか", "東大寺は"),
        ("한글을 만든 사람은 누구", "한글을 만든 사람은"),
        ("ปลากัดมีชื่อว่าอะไร", "ปลากัดมีชื่อว่า"),
        ("где находится Казань", "находится Казань"),
        ("wie viele Versuche", "viele Versuche"),
        ("أين تقع القاهرة", "تقع القاهرة"),
    ],
)
def test_words_that_ask_are_no_words_to_search_for(question: str, subject: str) -> None:
    assert query_terms(question) == query_terms(subject)


@pytest.mark.parametrize("question", ["什么", "wer", "どこ", "что"])
def test_where_there_is_nothing_else_they_are(question: str) -> None:
    assert query_terms(question)


def test_characters_of_chinese_words_count_beside_their_pairs() -> None:
    assert ideographs("重试策略，试 what ガラス") == ["重", "试", "策", "略"]
    assert ideographs("猫") == ideographs("cat") == []


@pytest.mark.parametrize(
    ("text", "question", "shown"),
    [
        ("भारत के प्रधानमंत्री बोले", "प्रधानमंत्री", "भारत के <b>प्रधानमंत्री</b> बोले"),
        ("كتب أحمد إلى المدرسة", "مدرسة", "كتب أحمد إلى <b>المدرسة</b>"),
        ("ปลาน้ำหมึก เป็นชื่อ", "เป็น", "ปลาน้ำหมึก <b>เป็น</b>ชื่อ"),
        ("日本語の文書", "日本", "<b>日本</b>語の文書"),
        ("GitHubの使い方", "GitHub", "<b>GitHub</b>の使い方"),
        ("a_b and abc", "b", "a_<b>b</b> and abc"),
    ],
)
def test_a_snippet_marks_words_of_every_script_whole(text: str, question: str, shown: str) -> None:
    assert Snippets(query_terms(question)).of(text) == shown
