"""Reads a cartridge file as docs/tape.md describes it, with nothing but the standard library.

    cartridge.py FILE     one line an object: "block SIZE SHA256" or "filemark", then "end OBJECTS FILEMARKS", and "missing N" where
                          fewer objects are there than a flush acknowledged
"""
import hashlib
import struct
import sys

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def sealed(data):
    return crc32c(data[:-4]) == struct.unpack("<I", data[-4:])[0]


def lz4(data):
    """One LZ4 block."""
    out, at = bytearray(), 0
    while at < len(data):
        token = data[at]
        at += 1
        count = token >> 4
        if count == 15:
            while True:
                count += data[at]
                at += 1
                if data[at - 1] != 255:
                    break
        out += data[at:at + count]
        at += count
        if at >= len(data):
            break
        back = data[at] | data[at + 1] << 8
        at += 2
        count = token & 15
        if count == 15:
            while True:
                count += data[at]
                at += 1
                if data[at - 1] != 255:
                    break
        for _ in range(count + 4):
            out.append(out[-back])
    return bytes(out)


def main(path, copy=None):
    data = open(path, "rb").read()
    identity = data[:512]
    assert identity[:16] == b"WIRESPEED TAPE\0\x01" and sealed(identity), "no cartridge"
    states = [data[at:at + 64] for at in (512, 1024)]
    states = [struct.unpack("<QQQQI", one[:36]) for one in states if len(one) == 64 and sealed(one)]
    sequence, objects, _, durable, epoch = max(states)
    previous, at, number, marks = struct.unpack("<I", identity[-4:])[0], 4096, 0, 0
    while at + 48 <= len(data):
        header = data[at:at + 48]
        magic, kind, codec, _, this, before, size, stored, payload, chain, of, crc = struct.unpack(
            "<4sBBHQQIIIIII", header)
        fresh = number >= objects
        if not (magic == b"WSTR" and sealed(header) and this == number and before == marks and chain == previous):
            break
        if (of != epoch) if fresh else (of > epoch):
            break
        content = data[at + 48:at + 48 + stored]
        if len(content) < stored:
            break
        if crc32c(content) != payload and kind == 1:
            if fresh:
                break
            print("damaged", number)
        elif kind == 1:
            content = lz4(content) if codec == 1 else content
            assert len(content) == size, "size"
            print("block", size, hashlib.sha256(content).hexdigest())
            if copy:
                copy.write(content)
        else:
            print("filemark")
            marks += 1
        previous, at, number = crc, at + 48 + stored, number + 1
    print("end", number, marks)
    if number < objects:
        print("missing", objects - number)


main(sys.argv[1], open(sys.argv[2], "wb") if len(sys.argv) > 2 else None)
