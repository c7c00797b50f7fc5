"""Paths, URLs, and the variables with which buckets are reached."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from datetime import timedelta
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


# Those that go for every service, by the names of botocore, obstore and ndzarr.
_GENERAL = {
    "connect_timeout": "NDZARR_CONNECT_TIMEOUT",
    "timeout": "NDZARR_READ_TIMEOUT",
    "read_timeout": "NDZARR_READ_TIMEOUT",
    "retry_for": "NDZARR_RETRY_FOR",
    "retry_timeout": "NDZARR_RETRY_FOR",
    "attempts": "NDZARR_ATTEMPTS",
    "total_max_attempts": "NDZARR_ATTEMPTS",
    "max_retries": "NDZARR_ATTEMPTS",
    "max_attempts": "NDZARR_ATTEMPTS",
    "requests_in_flight": "NDZARR_REQUESTS_IN_FLIGHT",
    "max_pool_connections": "NDZARR_REQUESTS_IN_FLIGHT",
    "hedge_after": "NDZARR_HEDGE_AFTER",
    "missing_if_denied": "NDZARR_MISSING_IF_DENIED",
}

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
    "requester_pays": "AWS_REQUEST_PAYER",
    "request_payer": "AWS_REQUEST_PAYER",
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
    "quota_project": "GOOGLE_CLOUD_QUOTA_PROJECT",
    "requester_pays": "GOOGLE_CLOUD_QUOTA_PROJECT",
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
_HTTP = {
    "headers": "NDZARR_HTTP_HEADERS",
    "token": "NDZARR_HTTP_HEADERS",
    "bearer_token": "NDZARR_HTTP_HEADERS",
}

_FOLDER = {"durability": "NDZARR_DURABILITY"}

_GOOGLE = ("gs://", "gcs://")


def _names(place: str) -> dict[str, str]:
    if not is_remote(place) and not place.startswith("memory:"):
        # Those of buckets do nothing here: a program may hand the same ones to all places.
        return _GENERAL | _S3 | _FOLDER
    if place.startswith(_GOOGLE):
        return _GENERAL | _GCS
    if place.startswith(("az://", "abfs")):
        return _GENERAL | _AZURE
    if place.startswith(("http://", "https://")):
        return _GENERAL | _HTTP
    return _GENERAL | _S3


#: Options that have others in them: of s3fs, botocore and obstore.
_NESTED = ("client_kwargs", "config_kwargs", "client_options", "retry_config", "retries", "s3")


def _seconds(value: Any) -> Any:
    """A time in seconds, also as obstore has it: "30s", a `timedelta`.

    >>> from datetime import timedelta
    >>> _seconds(3), _seconds("30s"), _seconds("500ms"), _seconds("2m"), _seconds(timedelta(minutes=1))
    (3, 30.0, 0.5, 120.0, 60.0)
    """
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, str) and (found := re.fullmatch(r"\s*(\d+\.?\d*)\s*(ms|s|m|h)\s*", value)):
        return float(found[1]) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[found[2]]
    return value


def _check_scheme(name: str, value: Any, options: StorageOptions) -> None:
    """Whether requests are encrypted is said by the URL of the endpoint, which the environment may have."""
    nested = options.get("client_kwargs") or {}
    given = options.get("endpoint_url") or options.get("endpoint") or nested.get("endpoint_url")
    in_environment = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    endpoint = str(given or in_environment or "")
    if (name == "use_ssl") == bool(value) and endpoint.startswith("http://"):
        raise ValueError(f"{name}={value!r} contradicts the endpoint {endpoint}")
    if name == "use_ssl" and not value and not endpoint.startswith("http://"):
        raise ValueError("use_ssl=False needs an endpoint_url that begins with http://")


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


def _headers(name: str, value: Any) -> str:
    """Headers as lines.

    >>> _headers("headers", {"Authorization": "Bearer a", "X-Key": 1})
    'Authorization: Bearer a\\nX-Key: 1'
    >>> _headers("token", "a")
    'Authorization: Bearer a'
    """
    if name != "headers":
        value = {"Authorization": f"Bearer {value}"}
    elif not isinstance(value, Mapping):
        raise ValueError('headers are a mapping, such as {"Authorization": "Bearer …"}')
    lines = [f"{header}: {text}" for header, text in value.items()]
    if any("\n" in line or "\r" in line for line in lines):
        raise ValueError("a header has several lines")
    return "\n".join(lines)


def variables(place: str, options: StorageOptions | None) -> dict[str, str] | None:
    """Storage options as the environment variables of the service that a place names.

    >>> variables("s3://bucket/a", {"key": "id", "secret": "x", "client_kwargs": {"region_name": "eu-west-1"}})
    {'AWS_ACCESS_KEY_ID': 'id', 'AWS_SECRET_ACCESS_KEY': 'x', 'AWS_REGION': 'eu-west-1'}
    >>> variables("https://host/a", {"timeout": 3, "retry_config": {"max_retries": 2}})
    {'NDZARR_READ_TIMEOUT': '3', 'NDZARR_ATTEMPTS': '3'}
    """
    if not options:
        return None
    known, found = _names(place), {}
    for name, value in options.items():
        if name in _NESTED and isinstance(value, Mapping):
            found.update(variables(place, value) or {})
            continue
        plain = name.lower()
        if plain in ("use_ssl", "allow_http"):
            _check_scheme(plain, value, options)
            continue
        if plain == "addressing_style":
            if value not in ("path", "auto"):
                raise ValueError(f"addressing_style is 'path', not {value!r}")
            continue
        if plain == "virtual_hosted_style_request":
            if value:
                raise ValueError("virtual_hosted_style_request=True: buckets are addressed by path only")
            continue
        variable = known.get(plain)
        for service in ("aws_", "google_", "azure_storage_", "azure_"):
            if variable is None and plain.startswith(service):
                variable = known.get(plain.removeprefix(service), name.upper())
        if variable is None:
            names = ", ".join(sorted(known))
            raise ValueError(f"unknown storage option {name!r}; the known ones are {names}, and the service's variables")
        if variable == "NDZARR_HTTP_HEADERS" and plain in _HTTP and value is not None:
            value = "\n".join(filter(None, [found.get(variable), _headers(plain, value)]))
        if plain == "token" and place.startswith(_GOOGLE):
            variable, value = _token_of_gcsfs(value)
        if variable in ("NDZARR_CONNECT_TIMEOUT", "NDZARR_READ_TIMEOUT", "NDZARR_RETRY_FOR", "NDZARR_HEDGE_AFTER"):
            value = _seconds(value)
        # Of botocore and obstore, which count the first one apart.
        if plain in ("max_retries", "max_attempts") and isinstance(value, int):
            value += 1
        if variable == "GOOGLE_CLOUD_QUOTA_PROJECT" and isinstance(value, bool):
            if value:
                raise ValueError("requester_pays is the name of the project that pays")
            continue
        if isinstance(value, bool):
            value = "true" if value else "false"
        if value is not None:
            found[variable] = str(value)
    return found
