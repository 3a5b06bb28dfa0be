"""[[tenants]]: read into settings, refused where it names what does not exist."""

from pathlib import Path

import pytest

from proa.config import tables
from proa.config.keys_edit import NewKey, add_key
from proa.config.load import load
from proa.domain.tenant import BudgetSpec, QuotaSpec
from proa.errors import ConfigError
from proa.gateway.settings import TenantSpec
from proa.routing.admission.priority import Priority

BASE = """\
[gateway]
api_keys_file = "keys.toml"
[[engines]]
name = "main"
url = "http://127.0.0.1:1"
[[routes]]
name = "chat"
match = { path = "/chat" }
"""
FULL = """\
[[tenants]]
name = "sales"
weight = 2
models = ["m", "n"]
routes = ["chat"]
adapters = ["lora"]
priority = "bulk"
max_concurrent_requests = 3
requests_per_minute = 60
tokens_per_minute = 1000
input_tokens_per_minute = 800
output_tokens_per_minute = 200
tokens_per_day = 10_000
tokens_per_month = 100_000
budget = { per_month = 100000, currency = "EUR", per_million_input_tokens = 0.5 }
[[tenants]]
name = "default"
"""


def written(tmp_path: Path, more: str, *, base: str = BASE) -> Path:
    path = tmp_path / "proa.toml"
    path.write_text(base + more)
    if not (tmp_path / "keys.toml").exists():
        add_key(tmp_path / "keys.toml", "anna")
    return path


def test_all_of_a_tenant_becomes_settings(tmp_path: Path) -> None:
    sales, default = load(written(tmp_path, FULL), environ={}).gateway.tenants
    budget = BudgetSpec(per_month=100_000, currency="EUR", per_million_input_tokens=0.5)
    assert sales == TenantSpec(
        name="sales",
        weight=2.0,
        models=("m", "n"),
        routes=("chat",),
        adapters=("lora",),
        priority=Priority.BULK,
        max_concurrent_requests=3,
        quota=QuotaSpec(
            requests_per_minute=60,
            tokens_per_minute=1000,
            input_tokens_per_minute=800,
            output_tokens_per_minute=200,
            tokens_per_day=10_000,
            tokens_per_month=100_000,
            budget=budget,
        ),
    )
    assert default == TenantSpec(name="default")


def test_the_tables_have_the_keys_of_their_settings() -> None:
    quotas = set(QuotaSpec.__struct_fields__)
    own = set(TenantSpec.__struct_fields__) - {"quota"}
    assert set(tables.TenantTable.model_fields) - {"guard"} == (own | quotas) - {"guard"}
    assert set(tables.BudgetTable.model_fields) == set(BudgetSpec.__struct_fields__)


@pytest.mark.parametrize(
    ("tenant", "told"),
    [
        ("", "name is missing: every [[tenants]] needs it"),
        ('name = "a"\nweight = 0', "weight = 0: accepted is a number from 0.001"),
        ('name = "a"\nmodles = []', 'modles is not a known key: did you mean "models"?'),
        ('name = "a"\nroutes = ["caht"]', 'routes[0] = "caht": no route has this name; did you'),
        ('name = "a"\nroutes = ["x"]', "no route has this name; known are chat, default"),
        ('name = "a"\nbudget = {}', "budget.per_month is missing"),
        ('name = "a"\nbudget = { per_month = 1, currency = "won" }', "the three letters of a"),
        ('name = "a"\n[[tenants]]\nname = "a"', 'name = "a"'),
        ('name = "a"\nmax_concurrent_requests = -1', "accepted is a number from 0"),
    ],
)
def test_a_faulty_tenant_is_refused(tmp_path: Path, tenant: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, f"[[tenants]]\n{tenant}\n"), environ={})
    assert told in str(caught.value)


def test_the_catch_all_route_may_be_named(tmp_path: Path) -> None:
    more = '[[tenants]]\nname = "a"\nroutes = ["default", "chat"]\n'
    assert load(written(tmp_path, more), environ={}).gateway.tenants[0].routes[0] == "default"


def test_tenants_need_keys(tmp_path: Path) -> None:
    base = BASE.replace('api_keys_file = "keys.toml"\n', "")
    with pytest.raises(ConfigError, match=r"told apart by API keys: .* api_keys_file is needed"):
        load(written(tmp_path, '[[tenants]]\nname = "a"\n', base=base), environ={})


def test_a_route_and_a_key_of_a_tenant_that_is_not_there(tmp_path: Path) -> None:
    add_key(tmp_path / "keys.toml", "ben", NewKey(tenant="slaes"))
    more = '[[routes]]\nname = "r"\nmatch = { tenant = "x" }\n[[tenants]]\nname = "sales"\n'
    with pytest.raises(ConfigError) as caught:
        load(written(tmp_path, more), environ={})
    told = str(caught.value).splitlines()
    unknown = "no [[tenants]] has this name"
    assert told[0].endswith(f'.tenant = "x": {unknown}; known are sales, default')
    assert told[1] == (
        f'{tmp_path}/keys.toml:4: keys[0].tenant = "slaes": {unknown}; did you mean "sales"?'
    )
