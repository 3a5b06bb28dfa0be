"""sd_notify(3): a service manager is told when the program is ready, reloads, stops, lives."""

import socket
import time
from contextlib import suppress


class Notifier:
    """Sends to the service manager's socket; without one it does nothing.

    A message that cannot be sent is lost: the manager notices by its own timeouts.
    """

    def __init__(self, address: str | None) -> None:
        self._address = f"\0{address[1:]}" if address and address.startswith("@") else address

    def ready(self) -> None:
        self._send("READY=1")

    def reloading(self) -> None:
        """To be followed by `ready`, whether or not the new settings were taken."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def _send(self, text: str) -> None:
        if self._address is None:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
            door.setblocking(False)
            door.sendto(text.encode(), self._address)
