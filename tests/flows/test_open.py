"""`lithos open`: the page of the host that runs, or of a new one, never of a second."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import httpx
import pytest

from tests.support.served import lithos, served


def _opened(data_dir: Path) -> dict[str, str]:
    done = lithos(data_dir, "open", "--json", seconds=120)
    assert done.returncode == 0, done.stdout + done.stderr
    answer: dict[str, str] = json.loads(done.stdout)
    return answer


def _pids(data_dir: Path) -> list[int]:
    return [each["pid"] for each in json.loads(lithos(data_dir, "ps", "--json").stdout)]


def test_open_starts_a_host_once_and_its_code_signs_in_once(tmp_path: Path) -> None:
    assert lithos(tmp_path, "open").returncode == 3  # a folder without a memory
    assert lithos(tmp_path, "note", "write", "--title", "T", "--content", "text").returncode == 0
    try:
        first = _opened(tmp_path)
        pids = _pids(tmp_path)
        second = _opened(tmp_path)
        assert _pids(tmp_path) == pids
        assert (len(pids), second["address"]) == (1, first["address"])
        with httpx.Client(base_url=first["address"], headers={"accept": "text/html"}, verify=False) as browser:
            assert browser.get(first["sign_in"]).status_code == 303
            assert "Examine" in browser.get("/status").text  # the operator's button
            origin = {"origin": first["address"].rstrip("/")}
            assert "chain of" in browser.post("/status/doctor", headers=origin).text
            assert "database_url" in browser.get("/status").text
        with httpx.Client(base_url=first["address"], headers={"accept": "text/html"}, verify=False) as other:
            again = other.get(first["sign_in"])
            assert again.status_code == 401
            assert "used already" in again.text
            assert "Examine" not in other.get("/status").text
    finally:
        lithos(tmp_path, "stop")


def test_open_asks_a_host_in_the_foreground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(tmp_path) as host:
        assert _opened(tmp_path)["address"] == f"{host.url}/"
        browser = tmp_path / "browser"
        browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened\n')
        browser.chmod(0o755)
        done = lithos(tmp_path, "open", BROWSER=str(browser))
        assert done.stdout.strip() == f"The page is {host.url}/"
        file = tmp_path / ".lithos" / "host.open.html"
        assert (tmp_path / "opened").read_text().strip() == file.as_uri()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert f"{host.url}/enter?code=" in file.read_text()
