"""`python -m lithos.host`: a background host, started by a guest. People use `lithos serve`."""

from lithos.host.server.background import main

if __name__ == "__main__":
    raise SystemExit(main())
