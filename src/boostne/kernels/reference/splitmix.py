"""The generator splitmix64 of Steele, Lea and Flood, in plain Python: the numbers of ``native/random.h``."""

GOLDEN = 0x9E3779B97F4A7C15
WORD = (1 << 64) - 1


def mix(z: int) -> int:
    """Return 64 bits that look like chance, of 64 bits that need not."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & WORD
    return z ^ (z >> 31)


class SplitMix:
    """A stream of random numbers from a state."""

    def __init__(self, state: int) -> None:
        self._state = state & WORD

    def next(self) -> int:
        """Return 64 random bits."""
        self._state = self._state + GOLDEN & WORD
        return mix(self._state)
