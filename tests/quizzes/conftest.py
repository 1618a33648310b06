"""What the tests of this folder share."""

from tests.quizzes.progress.progress_fixtures import key, progress, server, url

__all__ = ["key", "progress", "server", "url"]
