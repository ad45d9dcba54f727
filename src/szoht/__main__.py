"""``python -m szoht``: the command line, where its script is not on the path."""

from szoht.cli import main

if __name__ == "__main__":
    main()
