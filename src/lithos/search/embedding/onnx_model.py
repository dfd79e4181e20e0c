"""A folder with `model.onnx` and `tokenizer.json`, as embedding models and rerankers come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lithos.errors import ConfigInvalid

NEEDED = ("model.onnx", "tokenizer.json")
TAKEN = ("input_ids", "attention_mask", "token_type_ids")
TEXT_INPUT = "tensor(string)"  # the model reads text itself, by operators of onnxruntime-extensions
_KINDS = {"tensor(int32)": "int32", "tensor(int64)": "int64"}
_ASKED = f"It must take {', '.join(TAKEN)}, or some of them, as integers."


def missing_from(folder: Path) -> str:
    """The files that such a folder lacks, in words; empty: none."""
    return " and no ".join(name for name in NEEDED if not (folder / name).is_file())


def opened_tokenizer(folder: Path) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def opened_session(folder: Path, operators: str = "") -> Any:
    """`operators`: a library of operators that the model needs beside those of onnxruntime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    if operators:
        options.register_custom_ops_library(operators)
    return onnxruntime.InferenceSession(
        str(folder / "model.onnx"),
        options,
        providers=["CPUExecutionProvider"],
        disabled_optimizers=["SkipLayerNormFusion"],  # a quarter slower than what it replaces
    )


def typed_inputs(session: Any, setting: str, folder: Path) -> dict[str, str]:
    """The inputs that the model asks for, with their type in numpy."""
    wanted = {put.name: _KINDS.get(put.type, "") for put in session.get_inputs()}
    if not all(name in TAKEN and kind for name, kind in wanted.items()):
        raise ConfigInvalid(f"{setting}: the model in {folder} asks for {sorted(wanted)}", hint=_ASKED)
    return wanted
