"""From a file, flags and the environment to the settings of one generation."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from proa.config.addresses import is_public
from proa.config.build import Stores, control_settings, engine_specs, gateway_settings
from proa.config.certificates import tls_faults
from proa.config.checks import check_document
from proa.config.classifier_files import read_classifier
from proa.config.contract import contract_spec
from proa.config.discovery import ungrouped
from proa.config.document import Document, read_document
from proa.config.engine_tls import engine_tls_faults, named_files, tls_paths
from proa.config.environment import engine_keys
from proa.config.faults import ConfigFaults, Fault
from proa.config.guard import without_groups
from proa.config.keys_file import read_keys
from proa.config.reach import NO_LIST, Grounds, file_faults
from proa.config.records import records_settings
from proa.config.runtime_engine import RuntimeRules
from proa.config.tables import ProaTable
from proa.config.tenants import tenant_names
from proa.config.usage import usage_settings
from proa.config.validation import validate
from proa.control.settings import ControlSettings
from proa.domain.address import with_scheme
from proa.domain.contract import ContractSpec
from proa.domain.fleet import EngineSpec
from proa.gateway.settings import GatewaySettings, KeySpec

COMMAND_LINE = "command line"


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says in place of the file.

    `engines` are `URL` or `NAME=URL`, and stand for a whole file; HOST:PORT without
    a scheme is http. `insecure` allows public addresses without keys.
    """

    engines: tuple[str, ...] = ()
    listen: str | None = None
    control_listen: str | None = None
    workers: int | None = None
    insecure: bool = False


NO_FLAGS = Flags()


class LoadedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One generation of settings, and the files that it was read from.

    `file` is the proa.toml, None without one. `variables` are those of the environment
    that the engines' keys come from, `tls_files` the files of their TLS. `state_file` is
    where changes at runtime are kept, None for nowhere. `contract` is what was promised,
    None where nothing was.
    """

    gateway: GatewaySettings
    control: ControlSettings
    files: tuple[Path, ...]
    variables: frozenset[str] = frozenset()
    tls_files: frozenset[Path] = frozenset()
    directory: Path = Path()
    grounds: Grounds = NO_LIST
    state_file: Path | None = None
    contract: ContractSpec | None = None
    file: Path | None = None
    rebuild: Callable[[tuple[EngineSpec, ...]], "LoadedConfig"]

    def runtime_rules(self, *, by_api: bool) -> RuntimeRules:
        """What engines that come while the gateway runs may name."""
        return RuntimeRules(
            variables=self.variables,
            tls_files=self.tls_files,
            directory=self.directory,
            grounds=self.grounds,
            by_api=by_api,
        )

    def with_engines(
        self,
        engines: tuple[EngineSpec, ...],
        *,
        draining: frozenset[str] = frozenset(),
        groups: Mapping[str, tuple[str, ...]] | None = None,
    ) -> "LoadedConfig":
        """The same settings for other engines; `groups` are names in routes that mean several."""
        built = self.rebuild(engines)
        replace = msgspec.structs.replace
        routes = tuple(ungrouped(route, groups or {}) for route in built.gateway.routing.routes)
        routing = replace(built.gateway.routing, routes=routes)
        return replace(
            built,
            gateway=without_groups(replace(built.gateway, routing=routing), groups or {}),
            control=replace(built.control, draining=draining),
        )


def load(
    path: Path | None, flags: Flags = NO_FLAGS, environ: Mapping[str, str] = os.environ
) -> LoadedConfig:
    """The settings that `path` and the flags ask for; without a path the flags alone.

    Raises:
        ConfigError: `ConfigFaults` with everything that is wrong.
    """
    document = Document(COMMAND_LINE, {}, {}) if path is None else read_document(path)
    document = _with_flags(document, flags)
    directory = Path.cwd() if path is None else path.absolute().parent
    files = (*([path] if path else []), *_named_files(document.data, directory))
    table, faults = validate(ProaTable, document)
    faults += check_document(document)
    engine_secrets, unset = engine_keys(document, environ)
    faults += unset
    keys, key_faults = _keys(document.data, directory)
    faults += key_faults
    classifier, model_faults = _classifier(document.data, directory)
    faults += model_faults
    faults += tls_faults(document, directory)
    for path_of_tls in tls_paths(document.data):
        faults += engine_tls_faults(document, path_of_tls, directory)
    grounds = NO_LIST if table is None else Grounds(table.control.engine_networks or ())
    faults += file_faults(document, grounds)
    records, record_faults = records_settings(document, directory, environ)
    faults += record_faults
    usage, usage_faults = usage_settings(document, directory, environ)
    faults += usage_faults
    if not flags.insecure:
        faults += _public_faults(document, keys)
    if table is None or faults:
        raise ConfigFaults([_told_by_flag(fault, flags) for fault in faults], files)
    read = table

    def build(engines: tuple[EngineSpec, ...]) -> LoadedConfig:
        control = control_settings(
            read,
            engines=engines,
            keys=keys,
            insecure=flags.insecure,
            directory=directory,
            stores=Stores(records, usage),
        )
        return LoadedConfig(
            gateway=gateway_settings(
                read, engines=engines, keys=keys, directory=directory, classifier=classifier
            ),
            control=control,
            files=files,
            file=path,
            variables=frozenset(engine_secrets),
            tls_files=frozenset(named_files(document.data, directory)),
            directory=directory,
            grounds=grounds,
            state_file=_state_file(path, control.state_file),
            contract=None if read.contract is None else contract_spec(read.contract),
            rebuild=build,
        )

    return build(engine_specs(read, engine_secrets, directory, grounds.file))


def _state_file(path: Path | None, given: str | None) -> Path | None:
    """Beside proa.toml, and without one nowhere, if the file does not say it."""
    if given is not None:
        return Path(given) if given else None
    return None if path is None else path.absolute().with_suffix(".state.json")


def _with_flags(document: Document, flags: Flags) -> Document:
    # A [tls] with nothing in it asks for nothing, like every other empty table.
    data = {key: value for key, value in document.data.items() if (key, value) != ("tls", {})}
    for table, key, value in (
        ("gateway", "listen", flags.listen),
        ("control", "listen", flags.control_listen),
        ("gateway", "workers", flags.workers),
    ):
        if value is not None and isinstance(data.get(table, {}), dict):
            data[table] = data.get(table, {}) | {key: value}
    if flags.engines:
        data["engines"] = [_engine(i, text) for i, text in enumerate(flags.engines, start=1)]
    return Document(document.name, data, document.lines)


def _engine(number: int, text: str) -> dict[str, str]:
    name, equals, url = text.partition("=")
    if not equals or "/" in name or ":" in name:
        name, url = f"engine-{number}", text
    return {"name": name, "url": with_scheme(url)}


_FLAG_NAMES = {
    "gateway.listen": ("--listen", "listen"),
    "control.listen": ("--control-listen", "control_listen"),
    "gateway.workers": ("--workers", "workers"),
}


def _told_by_flag(fault: Fault, flags: Flags) -> Fault:
    if flags.engines and fault.key.startswith("engines[") and fault.key.endswith(".url"):
        accepted = fault.accepted.replace("accepted is ", "accepted is HOST:PORT, ", 1)
        return msgspec.structs.replace(fault, file=COMMAND_LINE, key="--engine", accepted=accepted)
    name, field = _FLAG_NAMES.get(fault.key, ("", ""))
    if not field or getattr(flags, field) is None:
        return fault
    return msgspec.structs.replace(fault, file=COMMAND_LINE, key=name, line=None)


def _named_files(data: Mapping[str, Any], directory: Path) -> list[Path]:
    """Files whose change asks for a reload: keys, certificates, the classifier's model."""
    names = [_value(data, "gateway", "api_keys_file"), _value(data, "classifier", "model")]
    names += [_value(data, "tls", key) for key in ("cert_file", "key_file", "client_ca_file")]
    own = [directory / name for name in names if isinstance(name, str) and name]
    return own + named_files(data, directory)


def _keys(
    data: Mapping[str, Any], directory: Path
) -> tuple[tuple[KeySpec, ...] | None, Sequence[Fault]]:
    name = _value(data, "gateway", "api_keys_file")
    if not isinstance(name, str) or not name:
        return None, ()
    try:
        return read_keys(directory / name, tenant_names(data)), ()
    except ConfigFaults as error:
        return None, error.faults


def _classifier(data: Mapping[str, Any], directory: Path) -> tuple[bytes | None, Sequence[Fault]]:
    name = _value(data, "classifier", "model")
    if not isinstance(name, str) or not name:
        return None, ()
    try:
        return read_classifier(directory / name)[0], ()
    except ConfigFaults as error:
        return None, error.faults


def _public_faults(document: Document, keys: tuple[KeySpec, ...] | None) -> list[Fault]:
    """Addresses that others can reach and that nothing guards."""
    data = document.data
    has_admin = any(key.admin for key in keys or ())
    is_keyed = isinstance(_value(data, "gateway", "api_keys_file"), str)
    faults = []
    for table, is_guarded, guard in (
        ("gateway", is_keyed, "[gateway] api_keys_file"),
        ("control", has_admin, 'an API key with role = "admin"'),
    ):
        listen = _value(data, table, "listen")
        if is_guarded or not isinstance(listen, str) or ":" not in listen or not is_public(listen):
            continue
        faults.append(
            document.fault(
                (table, "listen"),
                f"it needs {guard}, a loopback address, or --insecure",
                shown=f'"{listen}"',
                problem="can be reached from other machines",
            )
        )
    return faults


def _value(data: Mapping[str, Any], table: str, key: str) -> object:
    given = data.get(table)
    return given.get(key) if isinstance(given, dict) else None
