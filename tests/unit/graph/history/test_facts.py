"""Facts in a text: what is said of what, without a model."""

from __future__ import annotations

from lithos.graph.history.facts import facts_in


def test_a_dot_inside_of_a_name_or_path_ends_no_sentence() -> None:
    found = facts_in("Client.send calls _send_auth. `Client` is in httpx/_client.py. We chose JWT over sessions.", "x")
    said = [(each["subject"], each["relation"], each["value"]) for each in found]
    assert said == [
        ("Client.send", "uses", "_send_auth"),
        ("Client", "located_in", "httpx/_client.py"),
        ("JWT", "chosen_over", "sessions"),
    ]
    assert found[0]["sentence"] == "Client.send calls _send_auth."
