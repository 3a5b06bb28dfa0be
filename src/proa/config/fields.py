"""Types of the values in proa.toml and keys.toml, each with what it accepts.

A refused value raises ValueError (pydantic's way) whose text is what would be accepted.
"""

import re
from importlib.util import find_spec
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BeforeValidator, Field

from proa.config import addresses, moments
from proa.domain.contract import ContractRule
from proa.domain.discovery import DiscoveryKind
from proa.domain.fleet import EngineKind
from proa.routing.admission.priority import Priority
from proa.routing.spec import PolicyName
from proa.store.records import ACCEPTED
from proa.store.usage import ACCEPTED as USAGE_ACCEPTED

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # token, RFC 9110 section 5.6.2
_GPU = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*-[0-9]+gb")
_HASH = re.compile(r"sha256:[0-9a-fA-F]{64}")
_PORT = re.compile(r"[0-9]{1,5}")
_DNS_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*\.?")
_DNS_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")  # RFC 1123, as Kubernetes names
_SELECTOR = re.compile(r"[A-Za-z0-9!=,._/() -]{1,512}")
_CURRENCY = re.compile(r"[A-Z]{3}")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_TEXT = 256
_LONGEST_CLASS = 64
_LONGEST_LABEL = 40
MOST_WORKERS = 128


def name(value: str) -> str:
    """A name that goes into headers, metrics and logs as it is."""
    if not _NAME.fullmatch(value):
        raise ValueError("1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or a digit")
    return value


def gpu_id(value: str) -> str:
    """A GPU's id, family and memory, or nothing."""
    if value and not _GPU.fullmatch(value):
        raise ValueError('a GPU as family and memory, such as "rtx-pro-6000-96gb"')
    return value


def guard_label(value: str) -> str:
    """What stands in the place of personal data, as in `[label_1]`."""
    if not 0 < len(value) <= _LONGEST_LABEL or not value.isprintable() or set("[]_") & set(value):
        raise ValueError(f"1 to {_LONGEST_LABEL} printable characters without [ ] _")
    return value


def model_name(value: str) -> str:
    """A model's name as engines and clients write it."""
    if not value.strip() or not value.isprintable() or len(value) > _LONGEST_TEXT:
        raise ValueError(f"a model's name, at most {_LONGEST_TEXT} printable characters")
    return value


def class_name(value: str) -> str:
    """A class of requests as clients declare it and classifiers name it."""
    if not value.strip() or not value.isprintable() or len(value) > _LONGEST_CLASS:
        raise ValueError(f"a class of requests, at most {_LONGEST_CLASS} printable characters")
    return value


def path_prefix(value: str) -> str:
    """A path, or with a `*` at its end all paths that begin so."""
    _check_path(value.removesuffix("*"), 'a path such as "/v1/chat/completions" or "/api/*"')
    return value


def path(value: str) -> str:
    """A path without query, as it is sent to an engine."""
    _check_path(value, 'a path such as "/v1/chat/completions", without query')
    return value


def _check_path(value: str, accepted: str) -> None:
    is_plain = value.isascii() and value.isprintable() and not re.search(r'[ ?#*"<>\\^`{|}]', value)
    if not (is_plain and value.startswith("/") and not value.startswith("//")):
        raise ValueError(accepted)
    if ".." in re.split(r"[/;]", re.sub("%2e", ".", value, flags=re.IGNORECASE)):
        raise ValueError(f'{accepted}, without ".."')


def header_name(value: str) -> str:
    """A header's name, in lower case."""
    if not _HEADER_NAME.fullmatch(value):
        raise ValueError('a header\'s name such as "x-team"')
    return value.lower()


def header_value(value: str) -> str:
    """A header's whole value, or `*` for any."""
    if not value or not value.isascii() or not value.isprintable() or value.strip() != value:
        raise ValueError('the header\'s whole value in ASCII, or "*" for "is present"')
    return value


def key_hash(value: str) -> str:
    """The SHA-256 of an API key."""
    if not _HASH.fullmatch(value):
        raise ValueError('"sha256:" and 64 hexadecimal digits; "proa keys add" makes one')
    return value.lower()


def variable_name(value: str) -> str:
    """The name of an environment variable, or nothing."""
    if value and not VARIABLE.fullmatch(value):
        raise ValueError("the name of an environment variable, not the key itself")
    return value


def currency(value: str) -> str:
    """A currency's code."""
    if not _CURRENCY.fullmatch(value):
        raise ValueError('the three letters of a currency (ISO 4217), such as "KRW"')
    return value


def file_path(value: str) -> str:
    """A file's path."""
    if not value or "\0" in value:
        raise ValueError("the path of a file")
    return value


def file_path_or_none(value: str) -> str:
    """A file's path, or nothing."""
    return value and file_path(value)


def is_records_store(value: str) -> bool:
    """Whether a store of records can be opened by this URL."""
    scheme, colon, rest = value.partition(":")
    if "\0" in value or not (colon and rest):
        return False
    return scheme == "sqlite" or (scheme in ("postgresql", "postgres") and rest.startswith("//"))


def records_store(value: str) -> str:
    """The URL of a store of records."""
    if not is_records_store(value):
        raise ValueError(ACCEPTED)
    return value


def is_usage_store(value: str) -> bool:
    """Whether a store of usage can be opened by this URL."""
    scheme, colon, rest = value.partition(":")
    is_server = scheme in ("redis", "rediss", "unix") and rest.startswith("//")
    return is_records_store(value) or bool(colon and is_server and "\0" not in value)


def usage_store(value: str) -> str:
    """The URL of a store of usage."""
    if not is_usage_store(value):
        raise ValueError(USAGE_ACCEPTED)
    return value


def time_zone(value: str) -> str:
    """A time zone by its name."""
    try:
        return ZoneInfo(value).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError('the name of a time zone, such as "UTC" or "Asia/Seoul"') from None


def dns_address(value: str) -> str:
    """A name to look up in the DNS, with a port where its record has none."""
    name, colon, port = value.rpartition(":") if ":" in value else (value, "", "")
    is_port = not colon or (_PORT.fullmatch(port) and 1 <= int(port) <= 65_535)
    if len(name) > 253 or not _DNS_NAME.fullmatch(name) or not is_port:
        raise ValueError('"NAME:PORT" for address records, "_SERVICE._tcp.NAME" for SRV')
    return value


def selector(value: str) -> str:
    """A label selector as Kubernetes reads it."""
    if not _SELECTOR.fullmatch(value):
        raise ValueError('labels such as "kubernetes.io/service-name=vllm", joined by commas')
    return value


def namespace(value: str) -> str:
    """A namespace of Kubernetes, or nothing for one's own."""
    if value and not _DNS_LABEL.fullmatch(value):
        raise ValueError('a namespace such as "default", or "" for that of the gateway')
    return value


def port_name(value: str) -> str:
    """A port of an EndpointSlice: its name or its number."""
    is_number = _PORT.fullmatch(value) and 1 <= int(value) <= 65_535
    if value and not is_number and (value.isdigit() or not _DNS_LABEL.fullmatch(value)):
        raise ValueError('a port\'s name or number as text, or "" where there is only one')
    return value


def kv_events(value: str) -> str:
    """Where an engine publishes its KV events, or nothing; only where they can be read."""
    address = addresses.kv_events_address(value)
    if address and find_spec("zmq") is None:
        raise ValueError('"" without pyzmq, which comes with proa\'s extra "kv-events"')
    return address


Name = Annotated[str, AfterValidator(name)]
GuardLabel = Annotated[str, AfterValidator(guard_label)]
GpuId = Annotated[str, AfterValidator(gpu_id)]
ModelName = Annotated[str, AfterValidator(model_name)]
ClassName = Annotated[str, AfterValidator(class_name)]
PathPrefix = Annotated[str, AfterValidator(path_prefix)]
Path = Annotated[str, AfterValidator(path)]
HeaderName = Annotated[str, AfterValidator(header_name)]
HeaderValue = Annotated[str, AfterValidator(header_value)]
KeyHash = Annotated[str, AfterValidator(key_hash)]
VariableName = Annotated[str, AfterValidator(variable_name)]
Currency = Annotated[str, AfterValidator(currency)]
RecordsStore = Annotated[str, AfterValidator(records_store)]
UsageStore = Annotated[str, AfterValidator(usage_store)]
TimeZone = Annotated[str, AfterValidator(time_zone)]
Days = Annotated[float, Field(ge=0, le=36_525)]
FilePath = Annotated[str, AfterValidator(file_path)]
FilePathOrNone = Annotated[str, AfterValidator(file_path_or_none)]
DnsAddress = Annotated[str, AfterValidator(dns_address)]
Selector = Annotated[str, AfterValidator(selector)]
Namespace = Annotated[str, AfterValidator(namespace)]
PortName = Annotated[str, AfterValidator(port_name)]
Listen = Annotated[str, AfterValidator(addresses.listen_address)]
EngineUrl = Annotated[str, AfterValidator(addresses.engine_url)]
MetricsUrl = Annotated[str, AfterValidator(addresses.metrics_url)]
KvEvents = Annotated[str, AfterValidator(kv_events)]
Origin = Annotated[str, AfterValidator(addresses.origin)]
Network = Annotated[str, AfterValidator(addresses.network)]
EngineNetwork = Annotated[str, AfterValidator(addresses.engine_network)]

Began = Annotated[float, BeforeValidator(moments.start_s)]
Ends = Annotated[float, BeforeValidator(moments.end_s)]

Kind = Annotated[EngineKind, Field(strict=False)]
DiscoveryKindName = Annotated[DiscoveryKind, Field(strict=False)]
Policy = Annotated[PolicyName, Field(strict=False)]
PriorityClass = Annotated[Priority, Field(strict=False)]
ContractRuleName = Annotated[ContractRule, Field(strict=False)]

Seconds = Annotated[float, Field(gt=0, le=604_800)]
SecondsOrOff = Annotated[float, Field(ge=0, le=604_800)]
Size = Annotated[int, Field(ge=1, le=2**40)]
SizeOrOff = Annotated[int, Field(ge=0, le=2**40)]
HeadSize = Annotated[int, Field(ge=1024, le=2**24)]
Workers = Annotated[int, Field(ge=0, le=MOST_WORKERS)]
PollSeconds = Annotated[float, Field(ge=0.05, le=3600)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
CountOrOff = Annotated[int, Field(ge=0, le=1_000_000)]
Tokens = Annotated[int, Field(ge=0, le=2**40)]
TokenCount = Annotated[int, Field(ge=1, le=2**40)]
Share = Annotated[float, Field(ge=0, le=1)]
ShareAboveZero = Annotated[float, Field(gt=0, le=1)]
Speed = Annotated[float, Field(gt=0, le=1_000_000)]
LoadFactor = Annotated[float, Field(ge=1, le=100)]
Weight = Annotated[float, Field(gt=0, le=1_000_000)]
TenantWeight = Annotated[float, Field(ge=0.001, le=1000)]
Money = Annotated[float, Field(ge=0, le=1e15)]
Quality = Annotated[float, Field(ge=-1e9, le=1e9)]
Status = Annotated[int, Field(ge=400, le=599)]
