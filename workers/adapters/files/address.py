"""From STORAGE_URL to a store.

`file:///var/lib/replique/files` or a plain path is a folder, made when it is not there. `s3://bucket/prefix` is a
bucket that exists; `?endpoint=https://…` names an S3-compatible server other than Amazon's, `&region=` its region.
Keys to the bucket come as they do for every AWS program: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the
machine's own role.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, S3Store

from schemas.settings import SettingsRefused
from workers.adapters.files.store import ObjectFiles

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

S3_QUERY = {"endpoint", "region"}
# Whoever calls waits for us, and a failed job comes back by itself: give up well before its lease ends.
CLIENT: "ClientConfig" = {"connect_timeout": timedelta(seconds=3), "timeout": timedelta(seconds=30)}
RETRY: "RetryConfig" = {"max_retries": 2, "retry_timeout": timedelta(seconds=10)}


@dataclass(frozen=True, slots=True)
class S3Keys:
    """Keys to a bucket when they are not those of the environment."""

    access_key_id: str
    secret_access_key: str = field(repr=False)


def open_files(storage_url: str, keys: S3Keys | None = None) -> ObjectFiles:
    """The store behind STORAGE_URL. Raises `SettingsRefused`; whether a bucket answers shows at its first use."""
    address = urlsplit(storage_url)
    try:
        if address.scheme in {"", "file"}:
            return ObjectFiles(_folder(storage_url))
        if address.scheme == "s3":
            return ObjectFiles(_bucket(storage_url, keys))
    except OSError as error:
        raise SettingsRefused(f"STORAGE_URL: this folder cannot be used: {error.strerror}") from None
    except BaseError as error:
        raise SettingsRefused(f"STORAGE_URL: not an address of a store ({type(error).__name__})") from None
    raise SettingsRefused("STORAGE_URL: a folder, file:///folder or s3://bucket/prefix")


def _folder(url: str) -> ObjectStore:
    address = urlsplit(url)
    if address.scheme == "file" and address.netloc not in {"", "localhost"}:
        raise SettingsRefused("STORAGE_URL: file:// takes three slashes and an absolute path")
    folder = Path(unquote(address.path) if address.scheme else url).absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return LocalStore(folder)


def _bucket(url: str, keys: S3Keys | None) -> ObjectStore:
    address = urlsplit(url)
    query = {name: values[-1] for name, values in parse_qs(address.query, keep_blank_values=True).items()}
    if not address.netloc or address.username is not None or query.keys() - S3_QUERY:
        raise SettingsRefused("STORAGE_URL: s3://bucket/prefix?endpoint=…&region=…, keys in AWS_ACCESS_KEY_ID")
    options = {"endpoint": query.get("endpoint"), "region": query.get("region")}
    if keys is not None:
        options |= {"access_key_id": keys.access_key_id, "secret_access_key": keys.secret_access_key}
    named = {name: value for name, value in options.items() if value}
    client = CLIENT.copy()
    if named.get("endpoint", "").startswith("http://"):
        client["allow_http"] = True
    prefix = address.path.strip("/") or None
    return S3Store(address.netloc, prefix=prefix, client_options=client, retry_config=RETRY, config=named)  # type: ignore[arg-type]
