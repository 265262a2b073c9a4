"""A reader of Parquet as small as these tests need, written after the format's own description: it shares no code with the
program. https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift"""

import gzip
import struct


class _Compact:
    """Thrift's compact protocol: structs become dictionaries by field number."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def value(self, kind):
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 8:
            length = self.varint()
            self.at += length
            return self.data[self.at - length : self.at]
        if kind == 9:
            head = self.byte()
            count = head >> 4 if head >> 4 < 15 else self.varint()
            return [self.value(head & 15) for _ in range(count)]
        if kind == 12:
            return self.struct()
        raise ValueError(f"type {kind} is not known")

    def struct(self):
        fields, number = {}, 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            fields[number] = self.value(head & 15)
        return fields


def _levels(data, count):
    """Run lengths of one bit, or bits in eights."""
    reader, out = _Compact(data), []
    while len(out) < count:
        head = reader.varint()
        if head & 1:
            for _ in range(head >> 1):
                byte = reader.byte()
                out.extend(byte >> bit & 1 for bit in range(8))
        else:
            out.extend([reader.byte()] * (head >> 1))
    return out[:count]


def _plain(data, kind, count):
    if kind == 0:
        return [bool(data[n // 8] >> n % 8 & 1) for n in range(count)]
    if kind in (2, 5):
        return list(struct.unpack_from(f"<{count}{'q' if kind == 2 else 'd'}", data))
    out, at = [], 0
    for _ in range(count):
        (length,) = struct.unpack_from("<I", data, at)
        out.append(data[at + 4 : at + 4 + length].decode())
        at += 4 + length
    return out


def read(path):
    """The columns of a file by name; of an empty cell None."""
    data = path.read_bytes()
    assert data[:4] == data[-4:] == b"PAR1"
    (length,) = struct.unpack_from("<I", data, len(data) - 8)
    foot = _Compact(data, len(data) - 8 - length).struct()
    root, *elements = foot[2]
    assert root[5] == len(elements) and all(element[3] == 1 for element in elements)
    columns = {element[4].decode(): [] for element in elements}
    for group in foot[4]:
        for element, chunk in zip(elements, group[1]):
            meta = chunk[3]
            assert meta[1] == element[1] and meta[3] == [element[4]] and meta[4] == 2
            reader = _Compact(data, meta[9])
            page = reader.struct()
            assert reader.at + page[3] - meta[9] == meta[7]
            bare = gzip.decompress(data[reader.at : reader.at + page[3]])
            assert len(bare) == page[2] and page[5][1] == meta[5] == group[3]
            (runs,) = struct.unpack_from("<I", bare)
            there = _levels(bare[4 : 4 + runs], group[3])
            values = iter(_plain(bare[4 + runs :], element[1], sum(there)))
            columns[element[4].decode()] += [next(values) if one else None for one in there]
    assert all(len(column) == foot[3] for column in columns.values())
    return columns
