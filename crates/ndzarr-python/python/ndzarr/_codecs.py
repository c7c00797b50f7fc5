"""Codecs in the spellings that users of Python know, as the library takes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["names", "parsed"]

# Codecs of Zarr v3 by their place in the list: elements to elements, then elements to bytes, then bytes to bytes.
_OF_ELEMENTS = {"transpose", "delta", "fixedscaleoffset", "quantize", "bitround", "astype", "cast_value", "scale_offset"}
_TO_BYTES = {"bytes", "endian", "vlen-utf8", "vlen-bytes", "packbits", "pcodec", "zfp", "zfpy", "n5_default", "sharding_indexed"}
# Filters of numcodecs; other codecs of it are compressors.
_FILTERS = {"delta", "fixedscaleoffset", "quantize", "bitround", "astype", "packbits", "shuffle", "categorize", "fletcher32", "crc32", "crc32c", "adler32"}

Codec = str | Mapping[str, Any] | Any


def _plain(codec: Codec) -> str | dict[str, Any]:
    """A codec as a name or as JSON; objects of zarr-python and of numcodecs know how they are written."""
    if isinstance(codec, str):
        return codec
    if isinstance(codec, Mapping):
        return dict(codec)
    for method in ("to_dict", "get_config"):
        if (of := getattr(codec, method, None)) is not None:
            found: dict[str, Any] = json.loads(json.dumps(of(), default=_plain_value))
            return found
    raise TypeError(f"a codec is a name, the JSON of the format, or an object of zarr or numcodecs, not {codec!r}")


def _listed(codecs: Codec | Iterable[Codec]) -> list[str | dict[str, Any]]:
    if isinstance(codecs, (str, Mapping)) or not isinstance(codecs, Iterable):
        codecs = [codecs]
    return [_plain(codec) for codec in codecs]


def _plain_value(value: Any) -> Any:
    return getattr(value, "value", None) or str(value)


def _to_json(text: str) -> dict[str, Any]:
    """A name with parameters as JSON of Zarr v3."""
    name, *parameters = text.split(":")
    if name in ("zstd", "gzip", "zlib", "bz2"):
        usual = {"zstd": 3, "gzip": 5, "zlib": 5, "bz2": 9}[name]
        settings: dict[str, Any] = {"level": int(parameters[0]) if parameters else usual}
        if name == "zstd":
            settings["checksum"] = False
        return {"name": name if name in ("zstd", "gzip") else f"numcodecs.{name}", "configuration": settings}
    if parameters:
        raise ValueError(f"beside codecs in JSON, {text!r} has to be JSON too")
    return {"name": name}


def _name(codec: Mapping[str, Any]) -> str:
    return str(codec.get("name", codec.get("id", ""))).removeprefix("numcodecs.")


_SHUFFLES = ("noshuffle", "shuffle", "bitshuffle")


def _to_name(codec: Mapping[str, Any]) -> str:
    """The reverse of `_to_json`, for codecs of any format."""
    name = _name(codec) or str(codec.get("type", ""))
    given = codec.get("configuration", codec)
    # The size of the elements is known, and the others are as without them.
    usual = {"typesize": given.get("typesize"), "checksum": False, "blocksize": 0, "acceleration": 1, "useZlib": False}
    settings = {key: value for key, value in given.items() if key not in ("id", "name", "type") and usual.get(key, ...) != value}
    parts = [name]
    if name == "blosc":
        parts += [str(settings.pop(key, other)) for key, other in (("cname", "lz4"), ("clevel", 5))]
        shuffle = settings.pop("shuffle", "shuffle")
        parts.append(_SHUFFLES[shuffle] if shuffle in range(3) else str(shuffle))
    elif "level" in settings:
        parts.append(str(settings.pop("level")))
    if settings:
        raise ValueError(f"a copy cannot give the codec {name!r} {settings}")
    return ":".join(parts)


def names(codecs: Codec | Iterable[Codec] | None) -> list[str] | None:
    """The names with their parameters, for a copy, whose formats spell them in different ways.

    >>> names([{"name": "zstd", "configuration": {"level": 7, "checksum": False}}, "crc32c"])
    ['zstd:7', 'crc32c']
    >>> names({"id": "blosc", "cname": "zstd", "clevel": 0, "shuffle": 2, "blocksize": 0})
    ['blosc:zstd:0:bitshuffle']
    """
    if codecs is None:
        return None
    return [codec if isinstance(codec, str) else _to_name(codec) for codec in _listed(codecs) if codec != "none"]


def parsed(codecs: Codec | Iterable[Codec] | None, format: str, is_text: bool, is_bytes: bool, big: bool) -> tuple[list[str] | None, str | None]:
    """The names with their parameters, or the JSON of the format's documents.

    >>> parsed("zstd:7", "zarr3", False, False, False)
    (['zstd:7'], None)
    >>> parsed([{"name": "zstd", "configuration": {"level": 7, "checksum": True}}], "zarr3", False, False, False)[1]
    '[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 7, "checksum": true}}]'
    """
    if codecs is None:
        return None, None
    plain = _listed(codecs)
    if all(isinstance(codec, str) for codec in plain):
        return [str(codec) for codec in plain if codec != "none"], None
    given = [_to_json(codec) if isinstance(codec, str) else codec for codec in plain]
    if format == "n5":
        if len(given) != 1:
            raise ValueError("N5 has one compression")
        return None, json.dumps(given[0])
    if format in ("zarr2", "zarr3-draft-b") and all("id" in codec for codec in given):
        compressors = [codec for codec in given if _name(codec) not in _FILTERS]
        if len(compressors) > 1 or (compressors and given[-1] is not compressors[0]):
            raise ValueError("Zarr v2 has filters and then one compressor")
        filters = [codec for codec in given if _name(codec) in _FILTERS] or None
        return None, json.dumps({"compressor": compressors[0] if compressors else None, "filters": filters})
    # Codecs of draft A have URIs, and say themselves how elements become bytes.
    if format != "zarr3-draft-a" and not any(_name(codec) in _TO_BYTES for codec in given):
        at = sum(_name(codec) in _OF_ELEMENTS for codec in given)
        name = "vlen-utf8" if is_text else "vlen-bytes" if is_bytes else "bytes"
        codec: dict[str, Any] = {"name": name}
        if name == "bytes":
            codec["configuration"] = {"endian": "big" if big else "little"}
        given.insert(at, codec)
    return None, json.dumps(given)
