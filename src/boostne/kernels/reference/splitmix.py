"""The splitmix64 generator (Steele, Lea and Flood) in plain Python; ``native/random.h`` generates the same numbers."""

GOLDEN = 0x9E3779B97F4A7C15
WORD = (1 << 64) - 1


def mix(z: int) -> int:
    """Apply the splitmix64 finalizer to a 64-bit integer."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & WORD
    return z ^ (z >> 31)


class SplitMix:
    """A splitmix64 generator."""

    def __init__(self, state: int) -> None:
        self._state = state & WORD

    def next(self) -> int:
        """Return the next 64 random bits."""
        self._state = self._state + GOLDEN & WORD
        return mix(self._state)
