"""A host whose worker takes one message for bob and then does nothing, in a process of its own, until it is killed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from lithos.messages import TakeRequest
from tests.support.post_office import PostOffice, by


def main(folder: str) -> None:
    office = PostOffice(Path(folder), seed=os.getpid())
    office.messages.beat()
    [taken] = office.messages.take_now(by("bob"), TakeRequest("bob", host=office.messages.host))["messages"]
    print(taken["message"]["attempt"], flush=True)
    sys.stdin.read()
    office.close()


if __name__ == "__main__":
    main(sys.argv[1])
