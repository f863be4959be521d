"""A live page is for this machine and the holder of its token, and only to look at."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from campaign_folders import written_campaign
from jostle.commands.report import contents_of
from jostle.errors import OutputRefused, UsageError
from jostle.report.live import LatestContents, LivePage, live_page
from serving import served


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_campaign(tmp_path_factory.mktemp("live") / "campaign", 4)


@pytest.fixture(scope="module")
def page(campaign: Path) -> Iterator[LivePage]:
    with served(campaign) as page:
        yield page


def asked(
    page: LivePage, path: str | None = None, method: str = "GET", host: str | None = None
) -> tuple[http.client.HTTPResponse, bytes]:
    whole = urlsplit(page.address)
    connection = http.client.HTTPConnection(whole.hostname or "", whole.port, timeout=60)
    headers = {} if host is None else {"Host": host}
    connection.request(method, f"{whole.path}?{whole.query}" if path is None else path, headers=headers)
    answer = connection.getresponse()
    return answer, answer.read()


def test_the_address_gives_the_page_and_its_data(page: LivePage) -> None:
    answer, content = asked(page)
    assert answer.status == 200 and b"Digit 0 taken for 1" in content
    assert answer.headers["Cache-Control"] == "no-store" and answer.headers["X-Frame-Options"] == "DENY"
    answer, content = asked(page, f"/data.json?token={page.token}")
    assert answer.status == 200 and answer.headers["Content-Type"] == "application/json" and content.startswith(b"{")


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=wrong", "/data.json", "/data.json?token=%C3%A9"])
def test_without_the_token_there_is_nothing(page: LivePage, path: str) -> None:
    answer, content = asked(page, path)
    assert answer.status == 403 and content == b"403 Forbidden\n"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", ""])
def test_another_host_is_refused_even_with_the_token(page: LivePage, host: str) -> None:
    answer, content = asked(page, host=host)
    assert answer.status == 421 and b"Digit" not in content


def test_localhost_is_this_machine(page: LivePage) -> None:
    assert asked(page, host=f"localhost:{page.server.server_port}")[0].status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
def test_nothing_but_looking_is_possible(page: LivePage, method: str) -> None:
    answer, content = asked(page, method=method)
    assert answer.status == 405 and answer.headers["Allow"] == "GET" and b"Digit" not in content


@pytest.mark.parametrize("path", ["/config.json", "/../config.json", "/findings/"])
def test_no_file_can_be_asked_for(page: LivePage, path: str) -> None:
    assert asked(page, f"{path}?token={page.token}")[0].status == 404


def test_it_listens_on_loopback_only(page: LivePage) -> None:
    assert page.server.server_address[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_refused_in_one_line(page: LivePage, campaign: Path) -> None:
    with pytest.raises(UsageError, match=r"--port .* cannot be used .*: give another"):
        live_page(lambda: contents_of(campaign), page.server.server_port)


def test_a_folder_without_a_campaign_is_refused_before_anything_listens(tmp_path: Path) -> None:
    with pytest.raises(OutputRefused, match="holds no campaign"):
        live_page(lambda: contents_of(tmp_path))


def test_the_folder_is_read_once_for_questions_close_together(campaign: Path) -> None:
    contents, times = contents_of(campaign), []

    def read() -> object:
        times.append(1)
        return replace(contents, title=str(len(times)))

    latest = LatestContents(read, seconds=1000)  # type: ignore[arg-type]
    assert latest.contents() is latest.contents() and len(times) == 1
    assert LatestContents(read, seconds=0).contents().title == "2"  # type: ignore[arg-type]
