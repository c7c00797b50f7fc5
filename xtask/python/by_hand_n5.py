"""N5 cases made by hand: literal blocks from the checklist, good ones and ones that have to fail."""

import bz2
import gzip
import lzma
import zlib

import numpy as np
from fixture import HAND, begin, run

WRITER = {"writer": HAND, "version": "1", "format": "n5"}
SPEC = "00000003 00000001 00000002 00000003"
H, T = "00000002 00000003 00000002", "00000002 00000002 00000002"


def document(dims, block, dtype, compression=None, **members):
    return {"dimensions": dims, "blockSize": block, "dataType": dtype, "compression": compression or {"type": "raw"}, **members}


def good(name, values, block, blocks, *, traps=(), note="", root='{"n5":"2.0.0"}', **members):
    """An array at `a`; `blocks` maps keys to hexadecimal digits or bytes."""
    if c := begin(f"n5/hand-{name}", **WRITER, node="a", traps=traps, note=note):
        if root:
            c.put("attributes.json", root)
        c.put("a/attributes.json", document(list(values.shape), block, values.dtype.name, **members))
        for key, content in blocks.items():
            (c.put_hex if isinstance(content, str) else c.put)("a/" + key, content)
        user = {k: v for k, v in members.items() if k not in ("compression", "compressionType")}
        c.array(values, chunk_shape=block, fill_value=0, attributes=user)


def common(dtype="u2"):
    """1 + x + 5y at dimensions [5, 4]."""
    x, y = np.indices((5, 4))
    return (1 + x + 5 * y).astype(dtype)


def padded(values, block):
    """Big-endian bytes of every full block, dimension 0 fastest, zeros outside."""
    full = np.zeros([-(-n // b) * b for n, b in zip(values.shape, block)], values.dtype)
    full[tuple(slice(n) for n in values.shape)] = values
    out = {}
    for g in np.ndindex(*[n // b for n, b in zip(full.shape, block)]):
        part = full[tuple(slice(i * b, (i + 1) * b) for i, b in zip(g, block))]
        out["/".join(map(str, g))] = part.astype(values.dtype.newbyteorder(">")).tobytes(order="F")
    return out


def header(sizes):
    return len(sizes).to_bytes(4, "big") + b"".join(n.to_bytes(4, "big") for n in sizes)


def blocks():
    one = (1 + np.indices((1, 2, 3))[1] + 2 * np.indices((1, 2, 3))[2]).astype("u2")
    raw = "000100020003000400050006"
    payloads = [
        ("raw", {"type": "raw"}, raw),
        ("bzip2", {"type": "bzip2", "blockSize": 9},
         "425a6839314159265359023e0dd200000040007f002000310c010d31a87394337c5dc914e1424008f83748"),  # fmt: skip
        ("gzip", {"type": "gzip", "level": -1, "useZlib": False},
         "1f8b08000000000000006360646062606660616065600300aaea6dbf0c000000"),  # fmt: skip
        ("xz", {"type": "xz", "preset": 6},
         "fd377a585a000004e6d6b4460200210116000000742fe5a301000b000100020003000400050006000d0309ca34ec15a70001240ca618d8d81fb6f37d010000000004595a"),  # fmt: skip
        ("zlib", {"type": "gzip", "level": 5, "useZlib": True}, "785e636064606260666061606560030000670016"),
        ("zlib-flag-missing", {"type": "gzip", "level": 5}, "785e636064606260666061606560030000670016"),
        ("gzip-flag-wrong", {"type": "gzip", "level": 5, "useZlib": True},
         "1f8b08000000000000006360646062606660616065600300aaea6dbf0c000000"),  # fmt: skip
        ("lz4-java-stored", {"type": "lz4", "blockSize": 65536},
         "4c5a34426c6f636b160c0000000c00000090258b06" + raw + "4c5a34426c6f636b16000000000000000000000000"),  # fmt: skip
        ("lz4-frame", {"type": "lz4", "blockSize": 65536}, "04224d186440a70c000080" + raw + "0000000041373308"),
        ("blosc-ts", {"type": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 0},
         "020196020c0000000c0000001c000000" + raw),  # fmt: skip
        ("blosc-java-members", {"type": "blosc", "cname": "blosclz", "clevel": 6, "shuffle": -1, "blocksize": 0, "typesize": 1, "nthreads": 1},
         "020196020c0000000c0000001c000000" + raw),  # fmt: skip
        ("zstd-no-size", {"type": "zstd", "level": 3}, "28b52ffd0058610000" + raw),
        ("zstd-no-level", {"type": "zstd"}, "28b52ffd200c610000" + raw),
        ("lz4-numcodecs", {"type": "lz4", "id": "lz4", "acceleration": 1}, "0c000000c0" + raw),
        ("lz4-bare", {"type": "lz4", "blockSize": 6}, "c0" + raw),
        ("gzip-two-members", {"type": "gzip", "level": 1},
         gzip.compress(bytes.fromhex(raw)[:5], mtime=0).hex() + gzip.compress(bytes.fromhex(raw)[5:], mtime=0).hex()),  # fmt: skip
        ("bzip2-two-streams", {"type": "bzip2", "blockSize": 9},
         bz2.compress(bytes.fromhex(raw)[:5]).hex() + bz2.compress(bytes.fromhex(raw)[5:]).hex()),  # fmt: skip
        ("xz-two-streams", {"type": "xz", "preset": 6},
         lzma.compress(bytes.fromhex(raw)[:5]).hex() + lzma.compress(bytes.fromhex(raw)[5:]).hex()),  # fmt: skip
        ("xz-no-preset", {"type": "xz"}, lzma.compress(bytes.fromhex(raw)).hex()),
        ("zlib-level-9", {"type": "gzip", "useZlib": True}, zlib.compress(bytes.fromhex(raw), 9).hex()),
    ]
    for tag, compression, payload in payloads:
        good(f"block-{tag}", one, [1, 2, 3], {"0/0/0": SPEC + payload}, compression=compression)
    values = np.zeros((1, 2, 3), "u2")
    values[:, :, :2] = np.array([[[1, 3], [2, 4]]])
    partial = "00000003 00000001 00000002 00000002 0001000200030004"
    good("block-smaller-not-at-edge", values, [1, 2, 3], {"0/0/0": partial}, note="[[[1,3,0],[2,4,0]]]")
    full_mode_1 = "0001 0003 00000001 00000002 00000003 00000006 " + raw
    good("block-mode-1-full", one, [1, 2, 3], {"0/0/0": full_mode_1}, note="a full mode-1 block reads as mode 0")
    for legacy in ["raw", "gzip", "bzip2", "xz", "lz4"]:
        payload = {"raw": raw, "gzip": payloads[2][2], "bzip2": payloads[1][2], "xz": payloads[3][2], "lz4": payloads[7][2]}[legacy]
        if c := begin(f"n5/hand-legacy-{legacy}", **WRITER, node="a", note="compressionType instead of compression"):
            c.put("attributes.json", '{"n5":"1.5.0"}')
            c.put("a/attributes.json", {"dataType": "uint16", "compressionType": legacy, "blockSize": [1, 2, 3], "dimensions": [1, 2, 3]})
            c.put_hex("a/0/0/0", SPEC + payload)
            c.array(one, chunk_shape=[1, 2, 3], fill_value=0)
    if c := begin("n5/hand-legacy-both", **WRITER, node="a", note="compression wins over compressionType"):
        c.put("attributes.json", '{"n5":"2.0.0"}')
        c.put("a/attributes.json", document([1, 2, 3], [1, 2, 3], "uint16", compressionType="gzip"))
        c.put_hex("a/0/0/0", SPEC + raw)
        c.array(one, chunk_shape=[1, 2, 3], fill_value=0)


def sets():
    # The blocks of Java 1.5.0, 2.5.1 and 3.1.3 are the same.
    values = np.zeros((7, 5), "u1")
    values[5:, :4], values[:5, 4:], values[5:, 4:] = 1, 2, 3
    blocks = {
        "0/0": "00000002 00000005 00000004" + "00" * 20,
        "1/0": "00000002 00000002 00000004" + "01" * 8,
        "0/1": "00000002 00000005 00000001" + "02" * 5,
        "1/1": "00000002 00000002 00000001 0303",
    }
    for version, root in [("1.5.0", "1.5.0"), ("2.5.1", "2.5.1"), ("3.1.3", "4.0.0")]:
        if c := begin(f"n5/hand-java-{version}", **WRITER, node="a", note=f"the blocks that n5 (Java) {version} writes"):
            c.put("attributes.json", {"n5": root})
            compression = {"compressionType": "raw"} if version == "1.5.0" else {"compression": {"type": "raw"}}
            c.put("a/attributes.json", {"dataType": "uint8", **compression, "blockSize": [5, 4], "dimensions": [7, 5]})
            for key, content in blocks.items():
                c.put_hex("a/" + key, content)
            c.array(values, chunk_shape=[5, 4], fill_value=0)
    x, y = np.indices((5, 4))
    golden = {
        "0/0": H + "000000040008000100050009",
        "0/1": H + "00020006000a00030007000b",
        "1/0": H + "000c00100000000d00110000",
        "1/1": H + "000e00120000000f00130000",
    }
    good("ts-golden", (y + 4 * x).astype("u2"), [3, 2], golden, note="padded blocks of tensorstore's golden directories")
    driver = np.zeros((10, 11), "i2")
    driver[8:, 8:] = [[1, 2, 3], [4, 5, 6]]
    parts = {
        "2/4": H + "0000 0000 0001 0000 0000 0002",
        "2/5": H + "0000 0000 0003 0000 0000 0000",
        "3/4": H + "0004 0000 0000 0005 0000 0000",
        "3/5": H + "0006 0000 0000 0000 0000 0000",
    }
    good("ts-driver", driver, [3, 2], parts)
    good("rank0", np.array(42, "i2"), [], {"0": "00000000002a"})
    mixed = {k: header([3, 2]) + v for k, v in padded(common(), [3, 2]).items()}
    mixed["1/1"] = T + "000e000f00130014"
    good("mixed-edges", common(), [3, 2], mixed, note="one block at the edge is truncated, the others are padded")
    good("edge-garbage", common(), [3, 2], {**mixed, "1/1": H + "000e000fdead00130014beef"}, note="garbage outside of the array")
    huge = {k: header([3, 2]) + v for k, v in padded(common("u8") * np.uint64(2**60), [3, 2]).items()}
    good("u64", common("u8") * np.uint64(2**60), [3, 2], huge)
    nans = np.array([0x7FC00001, 0xFFC12345, 0x7F800000, 0x80000000], "u4").view("f4")
    good("nan-payloads", nans, [4], {"0": header([4]) + nans.astype(">f4").tobytes()})
    good("zero-length", np.zeros((0, 3), "u1"), [2, 2], {})
    good("no-root", common(), [3, 2], mixed, root=None, note="no attributes.json at the root")
    good("attributes", common(), [3, 2], mixed, axes=[{"name": "x"}], units="nm", q=None, note="axes that tensorstore refuses")
    for version in ["4.9.9", "2.1.3-SNAPSHOT", "x1.2.3", "4", "", "abc"]:
        tag = version.lower().replace(".", "-") or "empty"
        good(f"version-{tag}", common(), [3, 2], mixed, root=f'{{"n5":"{version}"}}')


def bad(name, fails, why, attributes, blocks=None, *, root='{"n5":"2.0.0"}'):
    if c := begin(f"bad/n5-{name}", **WRITER, kind="error", node="a"):
        c.put("attributes.json", root)
        c.put("a/attributes.json", attributes)
        for key, content in (blocks or {}).items():
            (c.put_hex if isinstance(content, str) else c.put)("a/" + key, content)
        c.error(fails, why)


def bad_documents():
    base = document([5, 4], [3, 2], "uint16")

    def but(**members):
        return {k: v for k, v in {**base, **members}.items() if v is not ...}

    bad("no-dimensions", "open", "dimensions is missing", but(dimensions=...))
    bad("no-block-size", "open", "blockSize is missing", but(blockSize=...))
    bad("no-data-type", "open", "dataType is missing", but(dataType=...))
    bad("data-type-number", "open", "dataType is a number", but(dataType=10))
    bad("data-type-unknown", "open", "dataType float16 is not one of N5", but(dataType="float16"))
    bad("data-type-case", "open", "dataType names are case-sensitive", but(dataType="UINT16"))
    bad("compression-number", "open", "compression is a number", but(compression=3))
    bad("compression-text", "open", "compression is a text", but(compression="gzip"))
    bad("compression-no-type", "open", "compression has no type", but(compression={"level": 1}))
    bad("compression-unknown", "open", "an unknown compression type", but(compression={"type": "brotli"}))
    bad("legacy-unknown", "open", "an unknown compressionType", but(compression=..., compressionType="zstandard"))
    bad("dimension-negative", "open", "a dimension is negative", but(dimensions=[5, -4]))
    bad("dimension-fraction", "open", "a dimension is 5.5", but(dimensions=[5.5, 4]))
    bad("dimension-text", "open", "a dimension is a text", but(dimensions=["5", 4]))
    bad("block-size-zero", "open", "blockSize holds 0", but(blockSize=[3, 0]))
    bad("block-size-huge", "open", "the block size overflows", but(blockSize=[4294967295, 4294967295]))
    bad("rank-mismatch", "open", "dimensions and blockSize differ in rank", but(blockSize=[3]))
    bad("codecs", "open", "a codecs member: sharding does not exist in N5", but(codecs=[{"name": "bytes"}]))
    bad("not-json", "open", "attributes.json is not JSON", "{")
    bad("text-after", "open", "text after the JSON value", '{"dimensions":[5,4],"blockSize":[3,2],"dataType":"uint16","compression":{"type":"raw"}} x')
    bad("version-5", "open", "container version 5.0.0", base, root='{"n5":"5.0.0"}')
    bad("deep", "open", "JSON nested 5,000 levels deep", '{"dimensions":' + "[" * 5000 + "]" * 5000 + "}")


def bad_blocks():
    base = document([1, 2, 3], [1, 2, 3], "uint16")
    raw = "000100020003000400050006"

    def one(name, why, content, compression=None):
        bad(f"block-{name}", "read", why, document([1, 2, 3], [1, 2, 3], "uint16", compression), {"0/0/0": content})

    one("empty", "0 bytes are no block", b"")
    one("half-header", "6 bytes are no header", SPEC.replace(" ", "")[:12])
    one("short", "the payload lacks its last byte", SPEC + raw[:-2])
    one("long", "a byte follows the payload", SPEC + raw + "00")
    one("mode-1-partial", "3 elements in a block of 6", "0001000300000001000000020000000300000003000100020003")
    one("mode-1-huge", "4294967295 elements are announced", "00010003000000010000000200000003ffffffff" + raw)
    one("mode-2", "mode 2 in a numeric dataset", "000200000003090807")
    one("mode-3", "an unknown mode", "0003" + SPEC.replace(" ", "")[4:] + raw)
    one("rank", "2 sizes in a block of rank 3", "00000002 00000002 00000003" + raw)
    one("larger", "a size larger than blockSize", "00000003 00000002 00000002 00000003" + raw + raw)
    one("sizes-overflow", "the product of the sizes overflows", "00000003 ffffffff ffffffff ffffffff" + raw)
    one("gzip-garbage", "the payload is no gzip stream", SPEC + raw, {"type": "gzip", "level": 1})
    one("gzip-truncated", "the gzip stream is cut", SPEC + gzip.compress(bytes.fromhex(raw), mtime=0)[:-9].hex(), {"type": "gzip", "level": 1})
    one("gzip-crc", "the gzip checksum is wrong", SPEC + "1f8b08000000000000006360646062606660616065600300aaea6dbe0c000000", {"type": "gzip", "level": 1})
    one("gzip-bomb", "the stream expands to 1 MiB", SPEC + gzip.compress(bytes(1 << 20), mtime=0).hex(), {"type": "gzip", "level": 1})
    lz4 = {"type": "lz4", "blockSize": 65536}
    magic, end = "4c5a34426c6f636b16", "4c5a34426c6f636b16000000000000000000000000"
    one("lz4-checksum", "the checksum of a sub-block is wrong", SPEC + magic + "0c0000000c00000091258b06" + raw + end, lz4)
    one("lz4-no-end", "the end mark is missing", SPEC + magic + "0c0000000c00000090258b06" + raw, lz4)
    one("lz4-size", "stored, but with two different lengths", SPEC + magic + "0c0000000d00000090258b06" + raw + end, lz4)
    one("lz4-level", "a sub-block larger than its level allows", SPEC + "4c5a34426c6f636b10" + "0c000000ffffff7f90258b06" + raw + end, lz4)
    one("blosc-nbytes", "blosc announces another length", SPEC + "02019602ffffff0f0c0000001c000000" + raw, {"type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 0, "blocksize": 0})
    one("zstd-truncated", "the zstd frame is cut", SPEC + "28b52ffd200c610000" + raw[:-4], {"type": "zstd", "level": 3})
    if c := begin("bad/n5-block-string-array", **WRITER, kind="error", node="a"):
        c.put("attributes.json", '{"n5":"4.0.0"}')
        c.put("a/attributes.json", {**base, "dataType": "uint8", "blockSize": [5, 2], "dimensions": [5, 2]})
        c.put_hex("a/0/0", "00010002000000050000000200000003010203")
        c.error("read", "a block of mode 1 whose count differs from the product of its sizes")


if __name__ == "__main__":
    run(blocks, sets, bad_documents, bad_blocks)
