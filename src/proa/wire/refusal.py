"""A request that the protocol itself forbids."""


class ProtocolRefusal(Exception):
    """Raised while reading a request: answer with `status` and close the connection."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
