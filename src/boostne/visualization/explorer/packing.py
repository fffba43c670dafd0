"""Arrays in the forms that the page's script reads: compressed text inside a page, plain bytes from a server.

In a page an array is stored as base64 of its deflated bytes. To compress better, rows are first replaced by their
difference from the previous one where neighboring rows are similar, signed numbers are mapped to unsigned ones of
similar size (zigzag), and bytes of equal significance are stored together.
"""

import json
import zlib
from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SIDE = 65_535  # of the map, in units of the coordinates
_MARGIN = 0.03  # of the map that stays empty, relative to its side
_OUTLIERS = 0.001  # share of nodes on either side that may be moved to the border


@dataclass(frozen=True, eq=False)
class PackedArray:
    """An array for the page's script.

    Attributes
    ----------
    values : ndarray of shape (n,) or (n, columns)
        Of 1, 2 or 4-byte integers.
    differences : bool
        Whether neighboring rows are similar.
    """

    values: NDArray[Any]
    differences: bool = False

    @property
    def kind(self) -> str:
        """The type of the entries, such as u2 for unsigned 16-bit integers."""
        return f"{self.values.dtype.kind}{self.values.dtype.itemsize}"

    def described(self) -> dict[str, Any]:
        """Return what the script needs to know to unpack :meth:`to_text`."""
        return {"kind": self.kind, "columns": self._rows().shape[1], "differences": self.differences}

    def to_bytes(self) -> bytes:
        """Return the entries, little-endian."""
        return self.values.astype(self.values.dtype.newbyteorder("<"), copy=False).tobytes()

    def to_text(self) -> str:
        """Return the compressed entries as base64."""
        size = self.values.dtype.itemsize
        values = self._rows()
        if self.differences:
            values = np.diff(values, axis=0, prepend=values[:1] * 0)  # modulo 2^bits
        if self.differences or self.values.dtype.kind == "i":
            signed = values.view(f"i{size}")
            values = (signed << 1) ^ (signed >> (8 * size - 1))
        planes = np.ascontiguousarray(values).view(np.uint8).reshape(-1, size)
        return _deflated(np.ascontiguousarray(planes.T).tobytes())

    def _rows(self) -> NDArray[Any]:
        return self.values if self.values.ndim > 1 else self.values[:, None]


def text_to_base64(value: Any) -> str:
    """Return a JSON value as base64 of its deflated text."""
    return _deflated(json_bytes(value))


def json_bytes(value: Any) -> bytes:
    """Return a JSON value as UTF-8."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def to_map_grid(positions: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Scale positions to 16-bit coordinates, preserving the aspect ratio; the second coordinate points upwards."""
    low, high = np.quantile(positions, [_OUTLIERS, 1 - _OUTLIERS], axis=0)
    side = float((high - low).max()) * (1 + 2 * _MARGIN) or 1.0
    scaled = (positions - (low + high) / 2) / side + 0.5
    return np.asarray(np.rint(np.clip(scaled, 0, 1) * _SIDE), dtype=np.uint16)


def smallest_type(values: NDArray[Any]) -> NDArray[Any]:
    """Convert non-negative integers to the smallest unsigned type that holds them."""
    largest = int(values.max(initial=0))
    kind = next(kind for kind in (np.uint8, np.uint16, np.uint32) if largest <= np.iinfo(kind).max)
    return values.astype(kind)


def morton_order(grid: NDArray[np.uint16]) -> NDArray[np.intp]:
    """Return the rows in the order of a curve that visits each part of the map as a whole (Z-order curve)."""
    code = np.zeros(len(grid), dtype=np.uint64)
    for axis in range(2):
        bits = grid[:, axis].astype(np.uint64)
        for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
            bits = (bits | bits << np.uint64(shift)) & np.uint64(mask)
        code |= bits << np.uint64(axis)
    return np.argsort(code, kind="stable")


def _deflated(content: bytes) -> str:
    return b64encode(zlib.compress(content, level=6)).decode("ascii")
