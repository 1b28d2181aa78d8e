"""CRC-32C (Castagnoli), the checksum that Secret Manager sends with a payload."""

from __future__ import annotations

from collections.abc import Iterator

_POLYNOMIAL = 0x82F63B78


def _entries() -> Iterator[int]:
    for value in range(256):
        entry = value
        for _ in range(8):
            entry = (entry >> 1) ^ (_POLYNOMIAL if entry & 1 else 0)
        yield entry


_TABLE = tuple(_entries())


def crc32c(data: bytes) -> int:
    """The checksum as an unsigned number."""
    state = 0xFFFFFFFF
    for byte in data:
        state = (state >> 8) ^ _TABLE[(state ^ byte) & 0xFF]
    return state ^ 0xFFFFFFFF
