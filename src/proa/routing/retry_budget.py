"""How many retries the traffic pays for."""


class RetryBudget:
    """Retries cost a token each; each request brings `share` of one.

    retries <= floor + share x requests

    The bucket starts with `floor` tokens, so that the first failures may be retried,
    and holds at most `capacity`, so that a quiet day saves up no storm.
    """

    def __init__(self, share: float, *, floor: float = 10.0, capacity: float = 100.0) -> None:
        self._share = share
        self._capacity = max(capacity, floor)
        self._tokens = floor

    @property
    def tokens(self) -> float:
        return self._tokens

    def deposit(self, requests: int = 1) -> None:
        """Requests came in (first tries only)."""
        self._tokens = min(self._capacity, self._tokens + requests * self._share)

    def withdraw(self) -> bool:
        """Take a retry, if there is one to take."""
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True
