"""Paths, URLs, and the variables with which buckets are reached."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

__all__ = ["Place", "StorageOptions", "absolute", "below", "is_remote", "variables"]

Place = str | bytes | os.PathLike[str] | os.PathLike[bytes]
StorageOptions = Mapping[str, Any]

_REMOTE = ("s3://", "s3+", "gs://", "gcs://", "az://", "abfs", "http://", "https://")
_ARCHIVES = (".zip", ".ozx")


def is_url(place: str) -> bool:
    """Whether a place has a scheme."""
    scheme, colon, rest = place.partition("://")
    return bool(colon) and len(scheme) > 1 and scheme.replace("+", "").replace("-", "").isalnum()


def is_remote(place: str) -> bool:
    """Whether calls of a place go through a network."""
    return place.startswith(_REMOTE) or "::" in place


def absolute(place: Place) -> str:
    """A place that means the same in another folder: handles travel to other processes. Bytes of a local
    path that are no text are surrogates, as in `os.fsdecode`."""
    place = os.fsdecode(place)
    if is_url(place) or place.startswith("file:") or "::" in place:
        return place
    path, bar, adapters = place.partition("|")
    return os.path.abspath(path) + bar + adapters


def below(place: str, path: str) -> str:
    """The place of a node below another one."""
    # As the library spells paths.
    path = "/".join(part for part in path.replace("\\", "/").split("/") if part)
    if not path:
        return place
    if is_url(place):
        path = quote(path)
    head, bar, last = place.rpartition("|")
    if bar:
        return place + path if last.endswith(":") else f"{place}/{path}"
    base, mark, query = place.partition("?") if place.startswith("http") else (place, "", "")
    if base.endswith(_ARCHIVES):
        return f"{place}|zip:{path}"
    return f"{base.rstrip('/')}/{path}{mark}{query}"


# The names that users of s3fs, gcsfs, adlfs, obstore and object_store know, for the variables of the services.
_S3 = {
    "key": "AWS_ACCESS_KEY_ID",
    "access_key_id": "AWS_ACCESS_KEY_ID",
    "secret": "AWS_SECRET_ACCESS_KEY",
    "secret_access_key": "AWS_SECRET_ACCESS_KEY",
    "token": "AWS_SESSION_TOKEN",
    "session_token": "AWS_SESSION_TOKEN",
    "profile": "AWS_PROFILE",
    "region": "AWS_REGION",
    "region_name": "AWS_REGION",
    "default_region": "AWS_DEFAULT_REGION",
    "endpoint": "AWS_ENDPOINT_URL",
    "endpoint_url": "AWS_ENDPOINT_URL",
    "anon": "AWS_SKIP_SIGNATURE",
    "skip_signature": "AWS_SKIP_SIGNATURE",
}
_GCS = {
    "token": "GOOGLE_APPLICATION_CREDENTIALS",
    "service_account": "GOOGLE_SERVICE_ACCOUNT",
    "service_account_path": "GOOGLE_SERVICE_ACCOUNT",
    "service_account_key": "GOOGLE_SERVICE_ACCOUNT_KEY",
    "application_credentials": "GOOGLE_APPLICATION_CREDENTIALS",
    "endpoint": "GOOGLE_BASE_URL",
    "endpoint_url": "GOOGLE_BASE_URL",
    "base_url": "GOOGLE_BASE_URL",
    "anon": "GOOGLE_SKIP_SIGNATURE",
    "skip_signature": "GOOGLE_SKIP_SIGNATURE",
}
_AZURE = {
    "account_name": "AZURE_STORAGE_ACCOUNT_NAME",
    "account_key": "AZURE_STORAGE_ACCOUNT_KEY",
    "access_key": "AZURE_STORAGE_ACCOUNT_KEY",
    "sas_token": "AZURE_STORAGE_SAS_TOKEN",
    "sas_key": "AZURE_STORAGE_SAS_TOKEN",
    "bearer_token": "AZURE_STORAGE_TOKEN",
    "token": "AZURE_STORAGE_TOKEN",
    "client_id": "AZURE_CLIENT_ID",
    "client_secret": "AZURE_CLIENT_SECRET",
    "tenant_id": "AZURE_TENANT_ID",
    "endpoint": "AZURE_STORAGE_ENDPOINT",
    "anon": "AZURE_SKIP_SIGNATURE",
    "skip_signature": "AZURE_SKIP_SIGNATURE",
}


def _names(place: str) -> dict[str, str]:
    if place.startswith(("gs://", "gcs://")):
        return _GCS
    if place.startswith(("az://", "abfs")):
        return _AZURE
    return _S3


def _token_of_gcsfs(token: Any) -> tuple[str, Any]:
    """What gcsfs calls a token: a file, a key as a `dict`, or the name of a way to authenticate."""
    if isinstance(token, Mapping):
        return "GOOGLE_SERVICE_ACCOUNT_KEY", json.dumps(dict(token))
    match token:
        case "anon":
            return "GOOGLE_SKIP_SIGNATURE", True
        case "google_default" | "cloud":
            # The environment and the machine, which are asked anyway.
            return "GOOGLE_APPLICATION_CREDENTIALS", None
        case "cache" | "browser":
            raise ValueError(f"the token {token!r} of gcsfs needs gcsfs: name a file of credentials")
    return "GOOGLE_APPLICATION_CREDENTIALS", token


def variables(place: str, options: StorageOptions | None) -> dict[str, str] | None:
    """Storage options as the environment variables of the service that a place names.

    >>> variables("s3://bucket/a", {"key": "id", "secret": "x", "client_kwargs": {"region_name": "eu-west-1"}})
    {'AWS_ACCESS_KEY_ID': 'id', 'AWS_SECRET_ACCESS_KEY': 'x', 'AWS_REGION': 'eu-west-1'}
    """
    if not options:
        return None
    known, found = _names(place), {}
    for name, value in options.items():
        if name in ("client_kwargs", "config_kwargs") and isinstance(value, Mapping):
            found.update(variables(place, value) or {})
            continue
        plain = name.lower()
        variable = known.get(plain)
        for service in ("aws_", "google_", "azure_storage_", "azure_"):
            if variable is None and plain.startswith(service):
                variable = known.get(plain.removeprefix(service), name.upper())
        if variable is None:
            names = ", ".join(sorted(known))
            raise ValueError(f"unknown storage option {name!r}; the known ones are {names}, and the service's variables")
        if known is _GCS and plain == "token":
            variable, value = _token_of_gcsfs(value)
        if isinstance(value, bool):
            value = "true" if value else "false"
        if value is not None:
            found[variable] = str(value)
    return found
