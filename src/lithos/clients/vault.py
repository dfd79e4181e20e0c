"""Name an existing folder of notes in the settings file of a memory."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

KEY = "knowledge_dir"


def with_vault(text: str, folder: Path) -> str:
    """The settings with `storage.knowledge_dir`; comments and all other lines stay."""
    try:
        before = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(f"it is not YAML: {' '.join(str(error).split())}") from None
    storage = before.get("storage") if isinstance(before, dict) else None
    line = f"  {KEY}: {json.dumps(str(folder), ensure_ascii=False)}"
    if isinstance(storage, dict) and KEY in storage:
        after = re.sub(rf"^[ \t]+{KEY}:.*$", lambda _: line, text, count=1, flags=re.MULTILINE)
    elif re.search(r"^storage:[ \t]*(?:#.*)?$", text, re.MULTILINE):
        after = re.sub(
            r"^(storage:[ \t]*(?:#.*)?)$", lambda found: f"{found[1]}\n{line}", text, count=1, flags=re.MULTILINE
        )
    else:
        after = f"{text.rstrip()}\nstorage:\n{line}\n".lstrip()
    wanted = {**before, "storage": {**(storage or {}), KEY: str(folder)}} if isinstance(before, dict) else None
    if yaml.safe_load(after) != wanted:
        raise ValueError("`storage` is written in a form that only a person can edit")
    return after
