"""Histograms of a record, as docs/record.md describes them: counts by value in nanoseconds."""

import math
import zlib
from collections import Counter


def bins(blob):
    """Counts by the value that their bin is read as, in nanoseconds."""
    if not blob:
        return Counter()
    return _two_digits(blob) if blob[0] == 2 else _three_digits(blob)


def percentile(counts, p):
    """The value at a percentile, in nanoseconds; None where nothing was counted."""
    rank, seen = math.ceil(sum(counts.values()) * p / 100), 0
    for value in sorted(counts):
        seen += counts[value]
        if seen >= max(rank, 1):
            return value
    return None


def _number(stream):
    """Seven bits a byte, the lowest first."""
    value = shift = 0
    for byte in stream:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value
    return None


def _three_digits(blob):
    counts, index, stream = Counter(), 0, iter(zlib.decompress(blob[8:])[40:])
    while (n := _number(stream)) is not None:
        n = n >> 1 ^ -(n & 1)
        if n < 0:
            index -= n
            continue
        e = max(index // 1024 - 1, 0)
        if n:
            counts[((index - e * 1024 + 1) << e) - 1] += n
        index += 1
    return counts


def _middle(index):
    if index < 64:
        return index
    e, t = divmod(index - 64, 50)
    lowest, width = (64 + t << e, 1 << e) if t < 36 else (28 + 2 * t << e, 2 << e)
    return lowest + (width - 1) // 2


def _two_digits(blob):
    stream = iter(blob[1:])
    left, index = _number(stream), _number(stream)
    bits = (byte >> i & 1 for byte in stream for i in range(7, -1, -1))

    def plain(length):
        return sum(next(bits) << i for i in range(length - 1, -1, -1))

    def code(k):
        ones = 0
        while ones < 20 and next(bits):
            ones += 1
        return ones << k | plain(k) if ones < 20 else plain(plain(6))

    def parameter(mean):
        return next(k for k in range(64) if 420 << k >= mean)

    counts, mean, distance, gap = Counter(), 0, 0, 256
    while left > 0:
        if mean < 128:
            empty, n = code(parameter(gap)), code(0) + 1
            index += empty
            gap += ((empty << 8) - gap) >> 2
            mean = (n << 8) // (empty + 1)
            distance = max(distance, mean)
        else:
            x, n = (mean + 128) >> 8, code(parameter(distance))
            distance += ((n << 8) - distance) >> 3
            if n <= 2 * x:
                n = x + (n + 1) // 2 if n % 2 else x - n // 2
            mean += ((n << 8) - mean) >> 2
        if n:
            counts[_middle(index)] += n
        index, left = index + 1, left - n
    return counts
