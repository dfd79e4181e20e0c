"""Settings: four layers, where each value came from, and refusals that name the culprit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lithos.errors import ConfigInvalid
from lithos.settings import Loaded, load_config, options


def load(
    tmp_path: Path, file: str | None = None, environ: Mapping[str, str] | None = None, **command_line: Any
) -> Loaded:
    given = {key.replace("__", "."): value for key, value in command_line.items()}
    path = None
    if file is not None:
        path = tmp_path / "settings.yaml"
        path.write_text(file, encoding="utf-8")
    return load_config(config_file=path, command_line=given, environ=environ or {"LITHOS_DATA_DIR": str(tmp_path)})


def test_every_layer_wins_over_the_one_below_and_says_so(tmp_path: Path) -> None:
    file = "server:\n  port: 1\n  host: ::1\nsearch:\n  chunk_size: 100\n"
    environ = {"LITHOS_PORT": "2", "LITHOS_SEARCH__CHUNK_SIZE": "200"}
    loaded = load(tmp_path, file, environ, server__port=3)
    assert loaded.config.server.port == 3
    assert loaded.config.search.chunk_size == 200
    assert loaded.config.server.host == "::1"
    assert loaded.config.search.chunk_max == 1000
    assert loaded.origins["server.port"] == "command line"
    assert loaded.origins["search.chunk_size"] == "LITHOS_SEARCH__CHUNK_SIZE"
    assert loaded.origins["server.host"] == f"{tmp_path / 'settings.yaml'} line 3"
    assert loaded.origins["search.chunk_max"] == "default"


def test_the_nested_name_wins_over_the_flat_one(tmp_path: Path) -> None:
    environ = {"LITHOS_SERVER__PORT": "1", "LITHOS_PORT": "2"}
    assert load(tmp_path, environ=environ).config.server.port == 1


def test_config_yaml_in_the_data_directory_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("server: {port: 7}\n")
    loaded = load_config(command_line={"storage.data_dir": tmp_path}, environ={"LITHOS_PORT": "", "LITHOS_AGENT": ""})
    assert loaded.config.server.port == 7


def test_the_file_of_the_environment_is_read_and_the_command_lines_wins(tmp_path: Path) -> None:
    for name, port in (("a.yaml", 1), ("b.yaml", 2)):
        (tmp_path / name).write_text(f"server: {{port: {port}}}\n")
    environ = {"LITHOS_CONFIG": str(tmp_path / "a.yaml")}
    assert load_config(environ=environ).config.server.port == 1
    assert load_config(environ=environ, config_file=tmp_path / "b.yaml").config.server.port == 2


@pytest.mark.parametrize(
    ("file", "told"),
    [
        (
            "search:\n  chunksize: 5\n",
            "line 2: there is no setting 'search.chunksize', did you mean 'search.chunk_size'?",
        ),
        ("serch:\n  chunk_size: 5\n", "line 1: there is no setting 'serch', did you mean 'search'?"),
        ("server:\n  port: many\n", "line 2: server.port: "),
        ("server:\n  port: 70000\n", "not 70000"),
        ("server:\n  watch_files: perhaps\n", "line 2: server.watch_files: "),
        ("server:\n  transport: carrier-pigeon\n", "line 2: server.transport: "),
        ("server: 5\n", "line 1: server holds no `name: value` pairs"),
        ("- a\n", "line 1: the file holds no `name: value` pairs"),
        ("server: {port: 1\n", "is not YAML"),
        ("server:\n  host: *nobody\n", "is not YAML"),
        ("search:\n  chunk_size: 900\n  chunk_max: 800\n", "chunk_size 900 is more than chunk_max 800"),
        (
            "coordination:\n  claim_max_ttl_minutes: 30\n",
            "claim_default_ttl_minutes 60 is more than claim_max_ttl_minutes 30",
        ),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_that_names_the_culprit(tmp_path: Path, file: str, told: str) -> None:
    with pytest.raises(ConfigInvalid) as refused:
        load(tmp_path, file)
    assert told in refused.value.message
    assert "\n" not in refused.value.message
    assert refused.value.code == "config_invalid"


def test_a_file_that_is_not_there_or_not_text_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"nowhere\.yaml"):
        load_config(config_file=tmp_path / "nowhere.yaml", environ={})
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigInvalid, match=r"binary\.yaml is not UTF-8"):
        load_config(config_file=tmp_path / "binary.yaml", environ={})


def test_a_wrong_value_in_the_environment_is_refused_by_the_variables_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"LITHOS_PORT: server\.port"):
        load(tmp_path, environ={"LITHOS_PORT": "many"})


def test_an_unknown_variable_only_warns_with_the_nearest_name(tmp_path: Path) -> None:
    loaded = load(tmp_path, environ={"LITHOS_PROT": "1", "PATH": "/bin"})
    assert loaded.warnings == ("LITHOS_PROT is no setting of Lithos, did you mean 'LITHOS_PORT'?",)


def test_a_file_inside_a_data_directory_cannot_point_to_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "lithos").mkdir()
    (tmp_path / "lithos" / "config.yaml").write_text("storage:\n  data_dir: ./other\n")
    with pytest.raises(ConfigInvalid, match=r"line 2: storage\.data_dir points away"):
        load_config(environ={})
    (tmp_path / "lithos" / "config.yaml").write_text("storage:\n  data_dir: ~/lithos\n")
    assert load_config(environ={}).config.storage.data_dir == Path("~/lithos")


def test_a_file_that_is_named_may_say_where_the_data_is(tmp_path: Path) -> None:
    loaded = load(tmp_path, f"storage:\n  data_dir: {tmp_path / 'elsewhere'}\n", environ={"HOME": "/"})
    assert loaded.config.storage.data_dir == tmp_path / "elsewhere"


def test_lists_are_written_with_commas_in_the_environment_and_as_lists_in_the_file(tmp_path: Path) -> None:
    assert load(tmp_path, environ={"LITHOS_TOOLSETS": "core, board"}).config.server.toolsets == ("core", "board")
    assert load(tmp_path, "server:\n  toolsets: [core, board]\n").config.server.toolsets == ("core", "board")


def test_every_option_has_a_description_and_names_in_the_environment() -> None:
    for option in options():
        assert option.field.description, option.key
        assert option.variables[-1] == f"LITHOS_{option.section.upper()}__{option.name.upper()}"
    flat = [option.variables[0] for option in options() if len(option.variables) == 2]
    assert {"LITHOS_DATA_DIR", "LITHOS_PORT", "LITHOS_HOST", "LITHOS_TOOLSETS"} <= set(flat)
    assert len(flat) == len(set(flat))


SPEC_8_1 = {
    "server.transport": "stdio",
    "server.port": 8765,
    "server.watch_files": True,
    "storage.data_dir": Path("~/lithos"),
    "storage.knowledge_subdir": "knowledge",
    "search.embedding_model": "all-MiniLM-L6-v2",
    "search.semantic_threshold": 0.3,
    "search.max_results": 50,
    "search.chunk_size": 500,
    "search.chunk_max": 1000,
    "coordination.claim_default_ttl_minutes": 60,
    "coordination.claim_max_ttl_minutes": 480,
    "index.rebuild_on_start": False,
    "index.watch_debounce_ms": 500,
    "server.host": "127.0.0.1",  # DESIGN §3.9 gives up the spec's 0.0.0.0 on purpose
}


def test_every_option_of_the_spec_is_there_with_its_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    values = load_config(environ={}).config.model_dump()
    found = {key: values[key.split(".")[0]][key.split(".")[1]] for key in SPEC_8_1}
    assert found == SPEC_8_1
