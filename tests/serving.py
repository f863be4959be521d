"""Live pages served while a test looks at them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jostle.commands.report import contents_of
from jostle.report.live import LivePage, live_page


@contextmanager
def served(folder: Path) -> Iterator[LivePage]:
    """The page of the campaign in this folder."""
    page = live_page(lambda: contents_of(folder))
    thread = threading.Thread(target=page.server.serve_forever)
    thread.start()
    yield page
    page.server.shutdown()
    thread.join()
    page.server.server_close()
