"""python -m cronledger, and the console script."""

from __future__ import annotations

from cronledger.cli.app import main

if __name__ == "__main__":
    main()
