"""The page on localhost: fresh, for this machine only, and ended by Ctrl-C."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading

import pytest

from s2m.console.errors import UserError
from s2m.monitor import serve
from s2m.status import main
from tests.analysis.synthetic import Spec, write_run


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server of an empty folder that makes its page anew for every look."""
    monkeypatch.setattr(serve, "REFRESH_SECONDS", 0.0)
    with serve.make_server(tmp_path, 0) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def ask(server, path="/", host="localhost"):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("GET", path, headers={"Host": host})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_the_page_follows_the_runs(server, tmp_path):
    assert "none yet" in ask(server)[1]
    rates = {k: (10 - k, 12 - k) for k in range(1, 6)}
    write_run(tmp_path, Spec(seed=1, rates=rates, episodes=20))
    write_run(tmp_path, Spec(seed=2, variant="set_transformer", state="running", iteration=7))
    status, text = ask(server)
    assert status == 200 and "1 running, 1 finished" in text
    assert text.index(">encoders/set_transformer s2<") < text.index(">encoders/pfds s1<")


def test_only_this_machine_is_answered_and_only_the_page(server):
    assert server.server_address[0] == "127.0.0.1"
    assert ask(server, host="evil.example:80")[0] == 403
    assert ask(server, "/../../etc/passwd")[0] == 404


def test_films_and_run_folders_open_and_nothing_else(server, tmp_path):
    run = write_run(tmp_path, Spec(state="pending"))
    (run.path / "demo.mp4").write_bytes(b"film")
    (run.path / "secret").write_text("no")
    text = ask(server)[1]
    (film,) = re.findall(r'href="([^"]*demo.mp4)"', text)
    (folder,) = re.findall(r'href="([^"]*pfds-s40-[0-9a-f]{8})"', text)
    assert ask(server, film) == (200, "film")
    status, listed = ask(server, folder)
    assert status == 200 and "config.yaml" in listed
    assert ask(server, film.replace("demo.mp4", "secret"))[0] == 404
    assert ask(server, f"{folder}/config.yaml")[0] == 404


def test_a_port_in_use_and_no_port_are_told_in_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"cannot serve on port {port}: .*--serve 0"):
            main([str(tmp_path), "--serve", str(port)])
    with pytest.raises(UserError, match="'70000' is not a port: allowed are 0 to 65535"):
        main([str(tmp_path), "--serve", "70000"])


def test_it_says_its_address_in_one_line_and_ctrl_c_ends_it_well(tmp_path):
    words = [sys.executable, "-m", "s2m.status", str(tmp_path), "--serve", "0"]
    # Tests in the background of a shell would hand down that Ctrl-C is ignored.
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        assert process.stdout is not None
        assert re.fullmatch(r"http://127.0.0.1:\d+/ shows .*; Ctrl-C stops it\n",
                            process.stdout.readline())  # fmt: skip
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
