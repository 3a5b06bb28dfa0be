"""Usage in Redis or Valkey, for any number of gateways; a report is one script, done at once.

A hash for each month has the sums over all writers, another one each writer's own counts;
what a report changes is the difference to what its writer told before.
"""

from collections import defaultdict
from typing import Any

import msgspec

from proa.errors import InputError
from proa.store.usage import (
    LIVE_S,
    LiveCount,
    Report,
    Standing,
    UsageCount,
    UsageFault,
    iso,
    ordinal,
)

_TIMEOUT_S = 3.0
_KEY = "{proa}:usage"
_SYNC = """
local report = cjson.decode(ARGV[1])
local function number(value) return tonumber(value or 0) or 0 end
local function text(value) return string.format('%.0f', value) end
local function words(line)
  local found = {}
  for word in string.gmatch(line, '%S+') do found[#found + 1] = number(word) end
  return found
end
for _, count in ipairs(report.counts) do
  local all, own = KEYS[1] .. ':' .. count.month, KEYS[1] .. ':' .. count.month .. ':own'
  local mark = count.day .. '|' .. report.writer .. '|' .. count.tenant
  local before = words(redis.call('HGET', own, mark) or '0 0 0 0')
  local now = words(count.values)
  redis.call('HSET', own, mark, count.values)
  for place, name in ipairs({'requests', 'input', 'output', 'cost'}) do
    local more = now[place] - before[place]
    if more ~= 0 then
      redis.call('HINCRBY', all, name .. '|' .. count.day .. '|' .. count.tenant, text(more))
      redis.call('HINCRBY', all, name .. '|month|' .. count.tenant, text(more))
      local mine = name .. '|month|' .. report.writer .. '|' .. count.tenant
      redis.call('HINCRBY', own, mine, text(more))
    end
  end
end
local time = redis.call('TIME')
local now = number(time[1]) + number(time[2]) / 1e6
local live = KEYS[1] .. ':live'
for _, line in ipairs(report.live) do
  local until_s = string.format('%.3f', now + report.live_s)
  redis.call('HSET', live, report.writer .. '|' .. line.tenant, until_s .. ' ' .. line.values)
end
local lately = {}
local told = redis.call('HGETALL', live)
for place = 1, #told, 2 do
  local writer, tenant = string.match(told[place], '^([^|]*)|(.*)$')
  local values = words(told[place + 1])
  if values[1] < now then
    redis.call('HDEL', live, told[place])
  elseif writer ~= report.writer then
    local sums = lately[tenant] or {0, 0, 0, 0, 0}
    for index = 1, 5 do sums[index] = sums[index] + values[index + 1] end
    lately[tenant] = sums
  end
end
local all, own = KEYS[1] .. ':' .. report.month, KEYS[1] .. ':' .. report.month .. ':own'
local function others(name, tenant)
  local mine = redis.call('HGET', own, name .. '|month|' .. report.writer .. '|' .. tenant)
  return number(redis.call('HGET', all, name .. '|month|' .. tenant)) - number(mine)
end
local answer = {}
for _, tenant in ipairs(report.tenants) do
  local today = number(redis.call('HGET', all, 'input|' .. report.day .. '|' .. tenant))
    + number(redis.call('HGET', all, 'output|' .. report.day .. '|' .. tenant))
  local mine = redis.call('HGET', own, report.day .. '|' .. report.writer .. '|' .. tenant)
  local counted = words(mine or '0 0 0 0')
  today = today - counted[2] - counted[3]
  local line = text(today) .. ' ' .. text(others('input', tenant) + others('output', tenant))
    .. ' ' .. text(others('cost', tenant))
  for index = 1, 5 do line = line .. ' ' .. text((lately[tenant] or {})[index] or 0) end
  answer[#answer + 1] = line
end
return answer
"""


class RedisUsage:
    """A connection that is made when it is needed.

    Raises:
        InputError: the package redis is not installed.
        UsageFault: the server cannot be reached (at the first use, not at the opening).
    """

    def __init__(self, url: str) -> None:
        try:
            import redis
        except ImportError as error:
            what = "usage in Redis needs the package redis: pip install 'proa[redis]'"
            raise InputError(what) from error
        self._faults = (redis.RedisError, OSError)
        self._client: Any = redis.Redis.from_url(
            url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S, decode_responses=True
        )
        self._sync = self._client.register_script(_SYNC)

    def sync(self, report: Report) -> list[Standing]:
        lines = self._do(lambda: self._sync(keys=[_KEY], args=[_told(report)]))
        found = []
        for tenant, line in zip(report.tenants, lines, strict=True):
            day, tokens, cost, *live = map(int, line.split())
            found.append(Standing(tenant, day, tokens, cost, LiveCount(tenant, *live)))
        return [standing for standing in found if standing != _nothing(standing.tenant)]

    def days(self, since: int, until: int) -> list[UsageCount]:
        months = sorted({iso(day)[:7] for day in range(since, until + 1)})
        counts: dict[tuple[int, str], dict[str, int]] = defaultdict(dict)
        for month in months:
            sums = self._do(lambda month=month: self._client.hgetall(f"{_KEY}:{month}"))
            for field, value in sums.items():
                name, day, tenant = field.split("|", 2)
                if day != "month" and since <= ordinal(day) <= until:
                    counts[ordinal(day), tenant][name] = int(value)
        none = dict.fromkeys(("requests", "input", "output", "cost"), 0)
        return sorted(
            UsageCount(day, tenant, *(none | values).values())
            for (day, tenant), values in counts.items()
        )

    def close(self) -> None:
        self._client.close()

    def _do(self, act: Any) -> Any:
        try:
            return act()
        except self._faults as error:
            told = str(error).strip().partition("\n")[0] or type(error).__name__
            raise UsageFault(f"the usage's Redis: {told}") from error


def _nothing(tenant: str) -> Standing:
    return Standing(tenant, live=LiveCount(tenant))


def _told(report: Report) -> bytes:
    counts = [
        {
            "month": iso(c.day)[:7], "day": iso(c.day), "tenant": c.tenant,
            "values": f"{c.requests} {c.input} {c.output} {c.cost}",
        }
        for c in report.counts
    ]  # fmt: skip
    live = [
        {
            "tenant": c.tenant,
            "values": f"{c.requests} {c.input} {c.output} {c.held_input} {c.held_output}",
        }
        for c in report.live
    ]
    return msgspec.json.encode(
        {
            "writer": report.writer,
            "day": iso(report.day),
            "month": iso(report.day)[:7],
            "live_s": LIVE_S,
            "tenants": list(report.tenants),
            "counts": counts,
            "live": live,
        }
    )
