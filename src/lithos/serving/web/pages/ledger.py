"""Ledger: the timeline of a chain, relations of a thought, proofs, checkpoints, and a bundle to download."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

from starlette.concurrency import iterate_in_threadpool
from starlette.responses import Response, StreamingResponse

from lithos.errors import InvalidInput, NotFound
from lithos.ledger import bundle_lines
from lithos.serving.web.page import Page, PageRoute

PAGE = 40
DEPTH = 3


async def ledger(page: Page) -> Response:
    chains = await page.call("mentisdb_list_chains")
    chain = page.given("chain") or chains["default_chain_key"]
    if chain not in chains["chain_keys"]:
        if page.given("chain"):
            raise NotFound(f"there is no chain {chain[:80]!r}", hint="The ledger lists those that exist.")
        return page.show("ledger.html", chains=chains, chain=chain, head=None, walk=None, kinds=[], kind="", before="")
    kind, before = page.given("type"), page.given("before")
    anchor = _index(before) if before else None
    head, walk = await asyncio.gather(
        page.call("mentisdb_head", chain_key=chain),
        page.call(
            "mentisdb_traverse_thoughts",
            chain_key=chain,
            direction="backward",
            chunk_size=PAGE,
            anchor_index=anchor,
            thought_types=[kind] if kind else None,
        ),
    )
    return page.show("ledger.html", chains=chains, chain=chain, head=head, walk=walk, kind=kind, before=before)


async def thought(page: Page) -> Response:
    chain, index = page.part("chain"), _index(page.part("index"))
    found = await page.call("mentisdb_get_thought", chain_key=chain, thought_index=index)
    if found["thought"] is None:
        raise NotFound(f"the chain has no thought {index}", hint="The timeline lists those that you may see.")
    thread, proof = await asyncio.gather(
        page.try_call("lithos_ledger_context", chain_key=chain, thought_index=index, depth=DEPTH),
        page.try_call("lithos_ledger_prove", chain_key=chain, thought_index=index),
    )
    links = [each for each in (thread or {}).get("links", ()) if index in (each["source"], each["target"])]
    return page.show("thought.html", chain=chain, thought=found["thought"], thread=thread, links=links, proof=proof)


async def proof(page: Page) -> Response:
    chain, index = page.part("chain"), _index(page.part("index"))
    made = await page.call("lithos_ledger_prove", chain_key=chain, thought_index=index)
    return _download(made, f"{_file_name(chain)}-{index}-proof.json")


async def checkpoint(page: Page) -> Response:
    """The newest signed checkpoint, as the head has it: to be kept elsewhere."""
    chain = page.part("chain")
    head = await page.call("mentisdb_head", chain_key=chain)
    if "checkpoint" not in head:
        raise NotFound("this chain has no checkpoint yet", hint="It gets one with its first thought.")
    return _download(head["checkpoint"], f"{_file_name(chain)}-{head['checkpoint']['size']}-checkpoint.json")


async def bundle(page: Page) -> Response:
    """The whole chain as one file that `lithos-verify` checks anywhere; as `lithos ledger export` writes it."""
    chain = page.part("chain")
    made = await page.call("lithos_ledger_checkpoint", chain_key=chain, export=True)
    folder = page.site.lithos.ledger.chain(chain).folder
    lines: Iterator[bytes] = iter(bundle_lines(folder, made["checkpoint"]))
    headers = {"content-disposition": f'attachment; filename="{_file_name(chain)}.bundle"'}
    return StreamingResponse(iterate_in_threadpool(lines), media_type="application/octet-stream", headers=headers)


def _download(value: Any, name: str) -> Response:
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return Response(
        text, media_type="application/json", headers={"content-disposition": f'attachment; filename="{name}"'}
    )


def _file_name(chain: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", chain).strip("-.")[:80] or "chain"


def _index(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise InvalidInput(f"{text[:40]!r} is no index of a thought", hint="It is a number from 0.")
    return int(text)


ROUTES = (
    PageRoute("/ledger", ledger),
    PageRoute("/ledger/{chain}/checkpoint", checkpoint),
    PageRoute("/ledger/{chain}/bundle", bundle, "POST"),
    PageRoute("/ledger/{chain}/{index}", thought),
    PageRoute("/ledger/{chain}/{index}/proof", proof),
)
