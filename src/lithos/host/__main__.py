"""`python -m lithos.host`: what a guest starts. Not for people: `lithos serve` is."""

from lithos.host.server.background import main

if __name__ == "__main__":
    raise SystemExit(main())
