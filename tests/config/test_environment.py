"""What a service manager passes in the environment."""

import pytest

from proa.config.environment import ServiceEnvironment, service_environment


def test_what_systemd_sets_for_this_process_is_taken() -> None:
    environ = {
        "NOTIFY_SOCKET": "@proa",
        "WATCHDOG_USEC": "3000000",
        "WATCHDOG_PID": "7",
        "LISTEN_FDS": "2",
        "LISTEN_PID": "7",
    }
    assert service_environment(environ, pid=7) == ServiceEnvironment(
        notify_socket="@proa", watchdog_s=3.0, listen_fds=(3, 4)
    )


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"NOTIFY_SOCKET": "", "WATCHDOG_USEC": "x", "LISTEN_FDS": "-1", "LISTEN_PID": "7"},
        {"WATCHDOG_USEC": "1", "WATCHDOG_PID": "8", "LISTEN_FDS": "1", "LISTEN_PID": "8"},
        {"LISTEN_FDS": "1"},
        {"LISTEN_FDS": "9" * 9999, "LISTEN_PID": "7"},
    ],
)
def test_what_is_absent_malformed_or_for_another_process_is_not(environ: dict[str, str]) -> None:
    assert service_environment(environ, pid=7) == ServiceEnvironment()
