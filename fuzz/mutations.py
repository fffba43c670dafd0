"""Random damage to the bytes of a file."""

import bz2
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Mapping
from random import Random

import pyarrow as pa

COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst", ".zip")

TOKENS = (
    b"", b" ", b"\t", b"\n", b"\r", b"\r\n", b"\0", b",", b";", b"|", b'"', b'""', b"'", b"#", b"%", b"/", b"\\",
    b"0", b"-0", b"1", b"-1", b"007", b"+7", b"1.0", b".5", b"5.", b"1e0", b"1_000", b"0x10", b"1,5", b"1e999",
    b"-1e999", b"1e-45", b"1e-400", b"1e40", b"NaN", b"nan", b"inf", b"-Infinity", b"2147483648", b"4294967296",
    b"9007199254740993", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809",
    b"18446744073709551616", b"9" * 40, b"9" * 400, b"a" * 300, b"[" * 200, b"null", b"None", b"NA", b"true", b"node",
    b"label", b"source", b"target", b"weight", b"id", b"=1+1", b"@x", b"-x", b"%20", b"{}", b"[]", b"{", b"<", b"&",
    b"]]>", b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x0b", b"\x0c", b"\x1c", b"\x85",
    "é".encode(), "\u00a0".encode(), "\u0085".encode(), "\u2028".encode(), "\u200b".encode(), "\ufeff".encode(),
    "٣".encode(), "𝟕".encode(), "😀".encode(), "％".encode(),
)  # fmt: skip

_WORD = re.compile(rb"[^\s,;|<>\"=\[\]]+")


def mutate(rng: Random, data: bytes, other: bytes = b"") -> bytes:
    """Return damaged data: one change, or a few.

    Parameters
    ----------
    rng : Random
    data : bytes
    other : bytes
        Another file of the same format, parts of which may be inserted.
    """
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        rng.choice(_MUTATIONS)(rng, changed, other or data)
    return bytes(changed)


def _flip_bit(rng: Random, data: bytearray, _: bytes) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set_byte(rng: Random, data: bytearray, _: bytes) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))


def _truncate(rng: Random, data: bytearray, _: bytes) -> None:
    del data[rng.randint(0, len(data)) :]


def _delete(rng: Random, data: bytearray, _: bytes) -> None:
    start, stop = _span(rng, data)
    del data[start:stop]


def _duplicate(rng: Random, data: bytearray, _: bytes) -> None:
    start, stop = _span(rng, data)
    data[start:start] = data[start:stop] * rng.choice((1, 1, 2, 20))


def _insert_token(rng: Random, data: bytearray, _: bytes) -> None:
    position = rng.randint(0, len(data))
    data[position:position] = rng.choice(TOKENS)


def _replace_word(rng: Random, data: bytearray, _: bytes) -> None:
    words = [match.span() for match in _WORD.finditer(data)]
    if words:
        start, stop = rng.choice(words)
        data[start:stop] = rng.choice(TOKENS)


def _splice(rng: Random, data: bytearray, other: bytes) -> None:
    start, stop = _span(rng, data)
    first, last = _span(rng, other)
    data[start:stop] = other[first:last]


def _swap_lines(rng: Random, data: bytearray, _: bytes) -> None:
    lines = bytes(data).split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    data[:] = b"\n".join(lines)


_MUTATIONS = (
    _flip_bit, _flip_bit, _set_byte, _truncate, _delete, _duplicate, _insert_token, _insert_token, _replace_word,
    _replace_word, _replace_word, _splice, _swap_lines,
)  # fmt: skip


def _span(rng: Random, data: bytes | bytearray) -> tuple[int, int]:
    start = rng.randint(0, len(data))
    return start, min(start + rng.choice((1, 2, 4, 8, 30)), len(data))


def compress_exactly(data: bytes, suffix: str) -> bytes:
    """Compress data in the way that a suffix stands for."""
    match suffix:
        case ".gz":
            return gzip.compress(data, mtime=0, compresslevel=1)
        case ".bz2":
            return bz2.compress(data)
        case ".xz":
            return lzma.compress(data)
        case ".zst":
            packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
            return packed
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("member"), data)
    return buffer.getvalue()


def compress(rng: Random, data: bytes, suffix: str = ".gz") -> bytes:
    """Compress data; sometimes damage the stream, or append another one."""
    packed = compress_exactly(data, suffix)
    kind = rng.random()
    if kind < 0.1:
        return mutate(rng, packed)
    return packed + packed if kind < 0.15 else packed


def zip_archive(rng: Random, members: Mapping[str, bytes], *, damage: bool) -> bytes:
    """Pack members into an archive with valid checksums; ``damage`` changes a member, or the archive."""
    members = dict(members)
    raw = damage and rng.random() < 0.3
    if damage and not raw:
        name = rng.choice(sorted(members))
        change = rng.random()
        if change < 0.1:
            del members[name]
        elif change < 0.2:
            members[rng.choice(sorted(members))] = members[name]
        else:
            members[name] = mutate(rng, members[name], members[rng.choice(sorted(members))])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return mutate(rng, buffer.getvalue()) if raw else buffer.getvalue()
