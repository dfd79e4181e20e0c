"""The firewall on a small repository: each kind of claim, true, false, negated and hedged."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lithos.graph.code import GraphFacts
from lithos.graph.trust import Earlier, Evidence, Verdict, VerificationType, claims_in, verify
from tests.support.code_repos import code_graph, repository

FILES = {
    "shop/cart.py": (
        "import json\n\n"
        "from shop.store import Store, load_row\n\n"
        "LIMIT_ITEMS = 50\n\n\n"
        "class BaseCart:\n    def close_cart(self):\n        return None\n\n\n"
        "class Cart(BaseCart):\n"
        "    def __init__(self, owner, *, timeout=5):\n        self.owner = owner\n\n"
        "    def add_item(self, item, count=1):\n        check_stock(item)\n        return json.dumps(item)\n\n"
        "    def _hidden(self):\n        pass\n\n\n"
        "def check_stock(item):\n    return load_row(item)\n\n\n"
        "def with_rest(first, *rest, **more):\n    pass\n"
    ),
    "shop/store.py": "class Store:\n    pass\n\n\ndef load_row(key):\n    return Store()\n",
    "shop/__init__.py": "from shop.cart import Cart\n",
    "shop/orders.py": (
        "import typing as t\n\n\n"
        "class Order(t.Generic[t.Any]):\n    def send_order(self) -> list[str]:\n        return []\n\n\n"
        "class LateOrder(Order):\n    def send_order(self) -> list[str]:\n        return []\n\n"
        "    def excuse_late(self):\n        return None\n\n\n"
        "LATE_SECONDS = 1800\n\n\n"
        "class OrderError(Exception):\n    retries = 3\n\n\n"
        "@t.overload\ndef ship_order(order: int) -> int: ...\n"
        "@t.overload\ndef ship_order(order: str, speed: str) -> str: ...\n"
        "def ship_order(order, speed='slow'):\n    return pack_order(order)\n\n\n"
        "def pack_order(order):\n    return order\n"
    ),
}


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphFacts]:
    folder = tmp_path_factory.mktemp("trust")
    with code_graph(folder / "data", ("shop", repository(folder / "shop", FILES))) as code:
        yield GraphFacts(code, code.roots())


TRUE = (
    "`Cart` is defined in `shop/cart.py`.",
    "The check_stock function is in shop/cart.py.",
    "`Cart` is in the package `shop`.",
    "`add_item` is a method in shop/cart.py; `Cart.add_item` calls `check_stock`.",
    "`load_row` is called by `check_stock`.",
    "Cart extends BaseCart.",
    "`shop/cart.py` imports json.",
    "`Cart.add_item` takes a `count` parameter.",
    "`Cart` accepts `timeout`.",
    "`Cart.add_item` takes 2 arguments.",
    "`Cart` has 3 methods.",
    "In `Cart.add_item`, `count` defaults to 1.",
    "`LIMIT_ITEMS` is set to 50.",
    "`Store` does not extend `Cart`.",
    "There is no class called `CartRegistry`.",
    "`check_stock` never calls `close_cart`.",
    "`Cart` is located at `shop/cart.py:13`.",
    "Cart has a method add_item().",
    "`Cart` has the method `close_cart`.",  # of its base
    "`Cart` has no method `open_cart`.",
    "The `count` parameter of `Cart.add_item` defaults to 1.",
    "`LIMIT_ITEMS` is 50.",
    "`Store` has no methods.",
    "ship_order() accepts a `speed`.",  # its second overload does
    "`ship_order` calls `pack_order`.",  # below its overloads
    "`Cart` is a subclass of `BaseCart` and lives in shop/cart.py.",
    "`LateOrder`, an `Order` subclass, comes late.",
    "`LateOrder` overrides `send_order`.",
    "`Store` is shared by `load_row` and nothing else.",
    "`load_row` gets rows; it is in shop/store.py.",
    "`check_stock` and `load_row` are old; both are functions. We like `check_stock`, which calls `load_row`.",
    "`@check_stock` is implemented in shop/cart.py.",
    "`OrderError.retries` defaults to 3.",
    "`OrderError` has an attribute `retries` which is 3 by default.",
    "Every order gets few attempts: `OrderError.retries` is 3 in shop/orders.py.",
    "`Cart` has a default timeout of 5 seconds.",
    "`check_stock(item)` returns rows.",
    "`check_stock` in shop/cart.py calls `load_row`.",
    "`Cart` calls `check_stock` in its `add_item` method.",
    "`LateOrder` has a `send_order` method of its own.",
    "`add_item` of `Cart` calls `check_stock`.",
    "`Store` comes from shop/store.py.",
    "`check_stock` requires the argument `item`.",
)
FALSE = (
    "`Cart` is defined in `shop/store.py`.",
    "`Store` is defined in `shop/cart.py`.",
    "You will find `check_stock` in `shop/missing.py`.",
    "There is a class called `CartRegistry`.",
    "`load_row` calls `check_stock`.",
    "BaseCart extends Cart.",
    "`shop/store.py` imports json.",
    "`check_stock` takes a `count` parameter.",
    "`Cart.add_item` takes 5 arguments.",
    "`Cart` has 9 methods.",
    "In `Cart.add_item`, `count` defaults to 2.",
    "`LIMIT_ITEMS` is set to 60.",
    "`Cart` does not extend `BaseCart`.",
    "`check_stock` never calls `load_row`.",
    "There is no function called `check_stock`.",
    "We use Redis for caching.",
    "`Cart` is located at `shop/cart.py:2`.",
    "There is a class CartRegistry in shop/cart.py.",
    "`drop_row()` is defined in shop/store.py.",
    "`Cart` has a method `open_cart`.",
    "`Cart` does not have the method `add_item`.",
    "`LIMIT_ITEMS` is 60.",
    "`check_stock` takes no arguments.",
    "`Cart` is defined in `httpx/_missing.py`.",  # no URL
    "The file `httpx/_missing.py` holds the carts.",
    "The new `OrderError` exception derives from `Cart`.",
    "`excuse_late` is a static method of `Order`.",  # Generic adds none
    "`OrderError` has a method `excuse_late`.",  # nor does Exception
    "`LateOrder.send_order` returns a tuple.",
    "Rows are fetched by `load_row`, which calls `check_stock`.",
    "`Store` is a class and calls nothing. `load_row` is small and lives in shop/cart.pyi/none.py.",
    "`LateOrder` is a `Cart` subclass.",
    "Checks come first: `load_row` in `shop/orders.py` runs before all.",
    "Prices use `round_price()`, a helper function in `shop/cart.py`.",
    "`count` of `Cart.add_item` has a default of 7.",
    "`Cart.add_item` sets `count` to 7 by default.",
    "`Cart.add_item` takes a `count` parameter, whose default is 7.",
    "`count` in `Cart.add_item` is 7 by default.",
    "`load_row` can be found in `shop/cart.py`.",
    "`Store` is light. It is defined in `shop/cart.py`.",
    "`ship_order` does not call `pack_order`.",
    "The `MAX` constant is defined in `shop/cart.py`.",
    "`OrderError.retries` defaults to 5.",
    "`OrderError` has an attribute `retries` which is 5 by default.",
    "Every order gets many attempts: `OrderError.retries` is 9 in shop/orders.py.",
    "`Cart` has a default timeout of 9 seconds.",
    "`LIMIT_ITEMS` defaults to 1000 items.",
    "`LATE_SECONDS` is set to 40 minutes.",
    "`Cart.add_item` adds one of them, since `count` defaults to 7.",
    "`check_stock(item, count)` returns rows.",
    "`check_stock(count=1)` returns rows.",
    "`check_stock` in shop/cart.py calls `close_cart`.",
    "`Cart` calls `check_stock` in its `_hidden` method.",
    "`Cart` has a `close_cart` method of its own.",
    "`Cart` overrides `close_cart`.",
    "`close_cart` of `BaseCart` calls `load_row`.",
    "There is a `CartRegistry` class in shop/cart.py.",
    "`Store` comes from shop/orders.py.",
    "`Cart` has no `close_cart`.",
    "`Cart.add_item` requires its `count` argument.",
    "`Cart` has a public attribute named `colour`.",
    "Unlike carts, `check_stock` takes no `item` parameter.",
    "Prices are read in `Store` in shop/cart.pyi.",
    "The rules, such as `check_stock`, are defined in shop/store.py.",
)
OPEN = (
    "`Cart` used to be defined in `shop/store.py`.",
    "We should move `Cart` to `shop/store.py`.",
    "Is `Cart` defined in `shop/store.py`?",
    "If `load_row` calls `check_stock`, there is a cycle.",
    "`with_rest` takes a `colour` parameter.",
    "`Store` is in shop/cart.py.",  # imported there: people say so
    "`Unheard` calls `check_stock`.",
    "The cart is in the warehouse.",
    "Fixed a bug where `load_row` calls `check_stock`.",
    "`Cart` has about 9 methods.",
    "```\n`Cart` is defined in `shop/store.py`.\n```",
    "- A list item:\n  ```\n  `Cart` is defined in `shop/store.py`.\n  ```\n",
    "````\n```\n`Cart` is defined in `shop/store.py`.\n````",
    "Text.\n\n    `Cart` is defined in `shop/store.py`.\n",
    "`json.dumps` calls `check_stock`.",
    "`Cart` is in `https://example.org/cart.py`.",
    "`rest` is defined in shop/cart.py.",  # a name that the file mentions
    "`Unheard` is defined in shop/.",
    "`Cart` has a `colour`.",
    "`Cart` has a method `dumps`.",  # it is mentioned there
    "`Unheard` is 60.",
    "`OrderError` has a method `with_traceback`.",  # of Exception
    "`ship_order` wraps something that packs and calls `check_stock`.",  # who calls?
    "`Cart` fits `Store`. It is defined in shop/nowhere.py.",  # which of them?
    "If it rains, we use `load_row`, which calls `check_stock`.",
    "`Store` in shop/cart.py is imported.",
    "`with_rest(1, 2, 3, colour=4)` returns nothing.",
    "`with_rest` is called by `Cart.add_item`'s tests; `count` defaults to 7.",
    "`Cart` and `Order` look alike, and `count` defaults to 7.",
    "`Unheard(a, b, c)` returns nothing.",
    "Ensure the folder `.git/hooks` exists.",
    "Previously `check_stock` called `Store`, and Originally `Cart` is in shop/orders.py.",
    "Cart: `'shop/orders.py'`",
    "The limits on `Cart.add_item` take a `colour` parameter.",
    "What is made by `Cart` and `Order` accepts the argument `colour`.",
    "The :setting:`LIMIT_ITEMS` is set to 60.",
    "In older versions, `LIMIT_ITEMS` defaults to 60.",
    "`LIMIT_ITEMS` defaults to 50kB.",
    "`LATE_SECONDS` is 30 minutes.",
    "`LATE_SECONDS` is set to 30 minutes.",
)


def verdict(text: str, facts: GraphFacts) -> str:
    found = [each.verdict for each in verify(text, (), facts).checked]
    for each in (Verdict.CONTRADICTED, Verdict.CONFIRMED):
        if each in found:
            return str(each)
    return "open"


@pytest.mark.parametrize("text", TRUE)
def test_a_true_claim_is_confirmed(facts: GraphFacts, text: str) -> None:
    assert verdict(text, facts) == "confirmed"


@pytest.mark.parametrize("text", FALSE)
def test_a_false_claim_is_contradicted_with_a_reason(facts: GraphFacts, text: str) -> None:
    assert verdict(text, facts) == "contradicted"
    assert all(each.reason for each in verify(text, (), facts).checked if each.verdict is Verdict.CONTRADICTED)


@pytest.mark.parametrize("text", OPEN)
def test_what_may_be_true_in_some_reading_is_never_contradicted(facts: GraphFacts, text: str) -> None:
    assert verdict(text, facts) == "open"


def test_confidence_halves_per_contradiction_and_falls_for_missing_files(facts: GraphFacts) -> None:
    text = "`Cart` is defined in `shop/store.py`. BaseCart extends Cart."
    found = verify(text, ("shop/gone.py", "shop/cart.py"), facts)
    assert found.confidence == pytest.approx(0.5 * 0.5 * 0.8)
    assert (found.verified, found.type, found.needs_review) == (False, VerificationType.NONE, True)
    assert found.missing == ("shop/gone.py",)


def test_verified_needs_a_confirmed_claim_or_another_witness(facts: GraphFacts) -> None:
    said = "The design feels clean."
    assert verify("Cart extends BaseCart.", (), facts).type is VerificationType.CODE
    assert verify(said, (), facts).unchecked and not verify(said, (), facts).verified
    assert verify(said, (), facts, evidence=Evidence(user=True)).type is VerificationType.USER
    assert verify(said, (), facts, evidence=Evidence(source=True)).type is VerificationType.SOURCE
    assert verify(said, (), facts, evidence=Evidence(commit=True)).type is VerificationType.HISTORY
    false = verify("BaseCart extends Cart.", (), facts, evidence=Evidence(user=True))
    assert not false.verified  # the code knows better than the person


def test_one_missing_file_leaves_it_verified_and_two_do_not(facts: GraphFacts) -> None:
    assert verify("Cart extends BaseCart.", ("a/gone.py",), facts).verified
    assert not verify("Cart extends BaseCart.", ("a/gone.py", "b/gone.py"), facts).verified


def test_an_earlier_text_counts_only_if_similar_and_opposed(facts: GraphFacts) -> None:
    text = "In `Cart.add_item`, `count` defaults to 1."
    other = "In `Cart.add_item`, `count` defaults to 2."
    near = verify(other, (), facts, earlier=[Earlier("t1", text, 0.7)])
    assert near.confidence == pytest.approx(0.5 * 0.7) and near.opposed[0][0] == "t1" and not near.verified
    assert verify(other, (), facts, earlier=[Earlier("t1", text, 0.69)]).confidence == 0.5
    assert verify(other, (), facts, earlier=[Earlier("t1", other, 0.99)]).confidence == 0.5
    negated = "`check_stock` does not call `load_row`."
    said = "`check_stock` calls `load_row`."
    assert verify(negated, (), facts, earlier=[Earlier("t", said, 0.9)]).opposed


def test_a_false_text_that_came_first_takes_nothing_from_a_confirmed_one(facts: GraphFacts) -> None:
    text, false = "`Cart` is defined in `shop/cart.py`.", "`Cart` is defined in `shop/store.py`."
    found = verify(text, (), facts, earlier=[Earlier("t1", false, 0.95)])
    assert found.verified and found.confidence == 1.0 and not found.needs_review


def test_nothing_is_contradicted_while_the_code_is_being_indexed(facts: GraphFacts) -> None:
    root = next(iter(facts._roots.values()))
    before = root.index.progress.state
    root.index.progress.state = "indexing"
    try:
        assert verdict("`Cart` is defined in `shop/store.py`.", facts) == "open"
        assert verdict("`Cart` is defined in `shop/cart.py`.", facts) == "confirmed"
    finally:
        root.index.progress.state = before


def test_a_hostile_text_costs_little() -> None:
    assert claims_in("`" * 30_000) == []
    assert len(claims_in("`Cart` is in `a/b.py` and " * 3_000)) <= 50
    assert claims_in("(" * 19_000) == []
