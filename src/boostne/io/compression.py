"""Compressed files, standard input and UTF-16 text as streams of bytes."""

import bz2
import codecs
import gzip
import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from boostne.errors import FileFormatError
from boostne.io.reading_budget import ReadingBudget

STDIN = Path("-")

_CHUNK = 1 << 16  # compressed bytes read at a time
_MAX_WINDOW = 1 << 27  # of Zstandard; its library refuses files that require more
_ENCRYPTED = 1  # flag of a member of a zip archive


def is_compressed(path: Path) -> bool:
    """Return whether the suffix of a file says that it is compressed."""
    return path.suffix.lower() in _OPENERS


def open_binary(path: Path, budget: ReadingBudget) -> IO[bytes]:
    """Open a file for reading bytes, decompressed piece by piece; ``-`` is the standard input."""
    if path == STDIN:
        return os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    opener = _OPENERS.get(path.suffix.lower())
    return path.open("rb") if opener is None else opener(path, budget)


def open_text(path: Path, budget: ReadingBudget) -> IO[bytes]:
    """Open a text file for reading bytes of UTF-8, converted from UTF-16 if it begins with a byte order mark."""
    stream = cast(io.BufferedReader, open_binary(path, budget))
    head = stream.peek(4)[:4]
    if head in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        raise FileFormatError(f"{path}: UTF-32 text: save the file as UTF-8")
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return io.BufferedReader(_FromUTF16(stream))
    return stream


def format_suffix(path: Path) -> str:
    """Return the suffix that identifies the format: in lower case and without that of the compression.

    A zip archive whose own name has no further suffix has the format of its member.

    Examples
    --------
    >>> format_suffix(Path("edges.CSV.gz"))
    '.csv'
    """
    if not is_compressed(path):
        return path.suffix.lower()
    inner = path.with_suffix("").suffix.lower()
    if path.suffix.lower() == ".zip" and not inner and path.is_file():
        with ZipFile(path) as archive:
            return Path(_only_member(path, archive).filename).suffix.lower()
    return inner


class _FromUTF16(io.RawIOBase):
    """UTF-16 text as UTF-8."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-16")()
        self._pending = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._pending:
            raw = self._stream.read(_CHUNK)
            self._pending = self._decoder.decode(raw, final=not raw).encode()
            if not raw:
                break
        n = min(len(buffer), len(self._pending))
        buffer[:n], self._pending = self._pending[:n], self._pending[n:]
        return n

    def close(self) -> None:
        self._stream.close()
        super().close()


class _FromXz(io.RawIOBase):
    """An xz file, decompressed within the budget; :class:`lzma.LZMAFile` has no limit on the size of the dictionary."""

    def __init__(self, path: Path, budget: ReadingBudget) -> None:
        self._budget = budget
        self._file = path.open("rb")
        self._decoder = self._new_decoder()

    def _new_decoder(self) -> Any:
        import lzma

        return lzma.LZMADecompressor(memlimit=self._budget.left())

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        import lzma

        while True:
            try:
                data = self._next_input()  # which may replace the decoder
                found = self._decoder.decompress(data, len(buffer))
            except EOFError:
                return 0
            except lzma.LZMAError as error:
                if "memory usage limit" in str(error).lower():
                    raise self._budget.exceeded("the dictionary of the file") from error
                raise
            if found:
                buffer[: len(found)] = found
                return len(found)

    def _next_input(self) -> bytes:
        """Return compressed bytes; EOFError after the last stream, ValueError if the file ends within one."""
        if not self._decoder.eof:
            data = self._file.read(_CHUNK) if self._decoder.needs_input else b""
            if self._decoder.needs_input and not data:
                raise ValueError("the compressed file is truncated")
            return data
        rest: bytes = self._decoder.unused_data.lstrip(b"\0")  # padding between streams
        while not rest:
            chunk = self._file.read(_CHUNK)
            if not chunk:
                raise EOFError
            rest = chunk.lstrip(b"\0")
        self._decoder = self._new_decoder()
        return rest

    def close(self) -> None:
        self._file.close()
        super().close()


def _open_gz(path: Path, _: ReadingBudget) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb"))


def _open_bz2(path: Path, _: ReadingBudget) -> IO[bytes]:
    return bz2.open(path, "rb")


def _open_xz(path: Path, budget: ReadingBudget) -> IO[bytes]:
    return io.BufferedReader(_FromXz(path, budget))


def _open_zst(path: Path, budget: ReadingBudget) -> IO[bytes]:
    import pyarrow as pa

    with path.open("rb") as file:
        window = _zstd_window(file.read(14))
    budget.check_so_far(window, "the compressed file")
    return io.BufferedReader(pa.CompressedInputStream(pa.OSFile(str(path)), "zstd"))


def _zstd_window(head: bytes) -> int:
    """Return the size of the window that a Zstandard frame announces (RFC 8878, 3.1.1.1), as far as it is accepted."""
    descriptor = head[4] if len(head) > 4 else 0  # noqa: PLR2004 (after the magic number)
    if descriptor & 0x20:  # one segment: the window is the content
        size = {0: 1, 1: 2, 2: 4, 3: 8}[descriptor >> 6]
        start = 5 + (0, 1, 2, 4)[descriptor & 3]
        window = int.from_bytes(head[start : start + size], "little") + (256 if size == 2 else 0)  # noqa: PLR2004
    else:
        code = head[5] if len(head) > 5 else 0  # noqa: PLR2004
        window = (8 + (code & 7)) << (7 + (code >> 3))
    return min(window, _MAX_WINDOW)


def _open_zip(path: Path, _: ReadingBudget) -> IO[bytes]:
    with ZipFile(path) as archive:
        member = _only_member(path, archive)
        if member.flag_bits & _ENCRYPTED:
            raise FileFormatError(f"{path}: {member.filename!r} is encrypted: unpack the archive first")
        if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise FileFormatError(
                f"{path}: {member.filename!r} is compressed by a method other than deflate: unpack the archive first"
            )
        return archive.open(member)  # stays open when the archive is closed


def _only_member(path: Path, archive: ZipFile) -> ZipInfo:
    members = [info for info in archive.infolist() if not info.is_dir() and not info.filename.startswith("__MACOSX/")]
    if len(members) != 1:
        names = ", ".join(repr(info.filename) for info in members[:5]) + (", …" if members[5:] else "")
        raise FileFormatError(
            f"{path}: an archive of {len(members)} files{f' ({names})' if members else ''}, but only archives of one "
            "file are read: unpack it and give one of them"
        )
    return members[0]


_OPENERS: dict[str, Callable[[Path, ReadingBudget], IO[bytes]]] = {
    ".gz": _open_gz,
    ".bz2": _open_bz2,
    ".xz": _open_xz,
    ".zst": _open_zst,
    ".zip": _open_zip,
}
