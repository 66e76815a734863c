"""Whether somebody is logged in, without looking at the key."""

import pytest

from s2m.tracking.key import has_key

NAMES = ("WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_BASE_URL")


@pytest.fixture
def netrc(tmp_path, monkeypatch):
    """Return a function that writes the only netrc file there is."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))

    def write(*hosts):
        lines = (f"machine {host} login user password none\n" for host in hosts)
        (tmp_path / "netrc").write_text("".join(lines))

    return write


def test_nobody_is_logged_in_without_environment_and_file(netrc):
    assert not has_key()


@pytest.mark.parametrize("name", NAMES[:2])
def test_the_environment_is_enough(netrc, monkeypatch, name):
    monkeypatch.setenv(name, "x")
    assert has_key()
    monkeypatch.setenv(name, "")
    assert not has_key()


@pytest.mark.parametrize(("host", "known"), [("api.wandb.ai", True), ("github.com", False)])
def test_an_entry_for_wandb_s_own_servers_counts(netrc, host, known):
    netrc(host)
    assert has_key() is known


def test_for_a_server_of_one_s_own_only_its_entry_counts(netrc, monkeypatch):
    monkeypatch.setenv("WANDB_BASE_URL", "https://wandb.lab.example:8080/")
    netrc("api.wandb.ai")
    assert not has_key()
    netrc("wandb.lab.example:8080")
    assert has_key()


def test_a_file_that_cannot_be_read_is_no_key(netrc, tmp_path):
    (tmp_path / "netrc").write_text("machine\nnonsense {")
    assert not has_key()
