"""Reads a TensorBoard event file without TensorBoard: TFRecords with masked CRC32C around protobuf messages. Prints
"STEP TAG VALUE" for every scalar. With the tensorboard package its own reader must find the same values."""

import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            size = 8 if key & 7 == 1 else 4
            value, at = struct.unpack("<d" if size == 8 else "<f", data[at : at + size])[0], at + size
        yield key >> 3, value


assert crc32c(b"123456789") == 0xE3069283
path, scalars, first = sys.argv[1], [], True
with open(path, "rb") as file:
    while head := file.read(12):
        length, check = struct.unpack("<QI", head)
        data = file.read(length)
        assert check == masked(head[:8]) and struct.unpack("<I", file.read(4))[0] == masked(data), "a wrong checksum"
        event = dict(fields(data))
        assert not first or event[3] == b"brain.Event:2", "no version in the first record"
        first = False
        for _, value in fields(event.get(5, b"")):
            one = dict(fields(value))
            scalars.append((event[2], one[1].decode(), one[2]))
for step, tag, value in scalars:
    print(step, tag, f"{value:.9g}")
try:
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
except ImportError:
    sys.exit()
theirs = [(e.step, v.tag, v.tensor.float_val[0]) for e in EventFileLoader(path).Load() for v in e.summary.value]
assert theirs == scalars, "TensorBoard reads other values"
