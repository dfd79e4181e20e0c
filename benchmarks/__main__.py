"""`make bench`: every module here that has a `main()`, or those that are named: `python -m benchmarks serving`."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time

import benchmarks


def modules() -> list[str]:
    names = [module.name for module in pkgutil.iter_modules(benchmarks.__path__)]
    return [name for name in names if name not in ("__main__", "report") and not name.startswith("_")]


def main() -> int:
    for name in sys.argv[1:] or modules():
        module = importlib.import_module(f"benchmarks.{name}")
        if not hasattr(module, "main"):
            continue
        started = time.perf_counter()
        print(f"\n{name}: {(module.__doc__ or '').splitlines()[0]}", flush=True)
        module.main()
        print(f"({time.perf_counter() - started:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
