"""Property tests here run without a deadline per example: a busy machine is not a failure."""

from hypothesis import settings

settings.register_profile("no_deadline", parent=settings(), deadline=None)
settings.load_profile("no_deadline")
