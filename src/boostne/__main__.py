"""``python -m boostne`` is the command ``boostne``."""

from boostne.cli import main

if __name__ == "__main__":
    main()
