"""The known limits of Java N5 and n5-zarr, as limits.py has those of other peers."""

from limits import DIFFERS, READS, WRITES, limit

N5_ZARR = "n5-zarr"

LIMITS = [
    limit(
        N5_ZARR, "zarr2|zarr3", "has no types but integers of whole bytes, float32 and float64",
        data_type="bool|float16|bfloat16|complex*|r24",
    ),
    limit(N5_ZARR, "zarr2", "has no lz4 and no lzma in Zarr v2", codec="lz4|lzma", directions=WRITES),
    limit(
        N5_ZARR, "zarr2", "shows chunks of codecs that it does not know as they are: wrong elements, without an error",
        codec="lz4|lzma", directions=READS, result=DIFFERS, always=False,
    ),
    limit(
        N5_ZARR, "zarr2", "shows chunks of codecs that it does not know as they are, and fails if they are too short",
        codec="lz4|lzma", directions=READS, always=False,
    ),
    limit(N5_ZARR, "zarr2|zarr3", "has no arrays without dimensions", layout="0-d*"),
    limit(
        N5_ZARR, "zarr2", "reverses the shape in documents of order F: wrong elements, without an error",
        layout="*F, *", directions=WRITES, result=DIFFERS,
    ),
    limit(
        N5_ZARR, "zarr3", "writes no transposes into documents, no codecs around shards and no nested shards",
        layout="transposed*|shards*transpose*|shards, crc32c outside|shards, nested", directions=WRITES,
    ),
    limit(
        N5_ZARR, "zarr3", "puts a separator before keys of v2, and would write `/0/0` to the root of the file system",
        layout="v2, *|0-d, v2", directions=WRITES,
    ),
    limit(
        N5_ZARR, "zarr3", "puts a separator before keys of v2, and finds no chunk: wrong elements, without an error",
        layout="v2, *", directions=READS, result=DIFFERS,
    ),
    limit(
        N5_ZARR, "zarr3", "takes no transpose outside of shards, no codec behind them, and no nested ones",
        layout="shards, transpose outside|shards of unequal sides*|shards, crc32c outside|shards, nested",
        directions=READS,
    ),
    limit(
        N5_ZARR, "zarr3", "takes NaN and infinities as fill values for zero: wrong elements, without an error",
        data_type="float32|float64", layout="missing chunks|shards, missing inner chunks", directions=READS, result=DIFFERS,
    ),
    limit(N5_ZARR, "zarr3", "has no checksum in zstd when it writes", codec="zstd with checksum", directions=WRITES),
]
