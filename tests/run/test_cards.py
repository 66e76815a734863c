"""Which GPUs a process may use, from pretended answers of nvidia-smi."""

import os

import pytest

from s2m.run.cards import Gpu, card_of, installed, visible
from s2m.run.lock import RunLock, current_attempt


def names(**environment):
    return [card.name for card in visible(environment).found]


def test_all_cards_are_listed_as_nvidia_smi_counts_them(pretended_cards):
    pretended_cards(2)
    first, second = visible({}).found
    assert str(second) == "1 (NVIDIA L40S)" and first.memory == 46068
    assert second.environment() == {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("2,0", ["2", "0"]),
        (" 1 , 2", ["1", "2"]),
        ("1,7,2", ["1"]),  # as for CUDA, the list ends at a card that is none
        ("1,1", ["1"]),
        ("", []), ("-1", []), ("NoDevFiles", []),
        ("GPU-222,GPU-000-a", ["GPU-222", "GPU-000-a"]),
        ("GPU-9", []), ("GPU-", []),
        ("MIG-GPU-1/2/3", ["MIG-GPU-1/2/3"]),
    ],
)  # fmt: skip
def test_an_outer_list_decides_and_names_them(pretended_cards, listed, expected):
    pretended_cards(3)
    assert names(CUDA_VISIBLE_DEVICES=listed) == expected
    trouble = visible({"CUDA_VISIBLE_DEVICES": listed}).trouble
    assert trouble == ("" if expected else f"CUDA_VISIBLE_DEVICES={listed} shows none")


def test_numbers_of_an_outer_list_keep_the_order_they_were_meant_in(pretended_cards):
    cards = pretended_cards(2)
    (one,) = visible({"CUDA_VISIBLE_DEVICES": "1"}).found
    assert one.environment() == {"CUDA_VISIBLE_DEVICES": "1"} and one.model == "NVIDIA L40S"
    with (cards.folder / "cards").open("a") as file:
        file.write("2, GPU-2, NVIDIA T4, [N/A], 580.65.06\n")
    # CUDA counts from the fastest: nobody knows which of them it is.
    assert visible({"CUDA_VISIBLE_DEVICES": "1"}).found == (Gpu("1"),)
    by_bus = {"CUDA_VISIBLE_DEVICES": "2", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert str(visible(by_bus).found[0]) == "2 (NVIDIA T4)"


def test_a_lost_card_is_not_listed_and_the_others_are(pretended_cards):
    cards = pretended_cards(1)
    with (cards.folder / "cards").open("a") as file:
        file.write("Unable to determine the device handle for GPU0000:41:00.0: GPU is lost.\n")
    assert names() == ["0"]


def test_without_an_answer_a_list_is_taken_as_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert installed().trouble == "nvidia-smi not found"
    assert names(CUDA_VISIBLE_DEVICES="3,GPU-4") == ["3", "GPU-4"] and names() == []
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho NVIDIA-SMI has failed\nexit 9\n")
    program.chmod(0o755)
    assert installed().trouble == "NVIDIA-SMI has failed"


def test_an_attempt_tells_its_card(pretended_cards, folder, monkeypatch):
    pretended_cards(2)
    assert card_of("cpu") == card_of(None) == card_of("cuda:2") == card_of("cuda:x") == ""
    assert card_of("cuda") == card_of("cuda:0") == "0 (NVIDIA L40S)"
    monkeypatch.setitem(os.environ, "CUDA_VISIBLE_DEVICES", "1")
    with RunLock.acquire(folder, gpu=card_of("cuda:0")):
        attempt = current_attempt(folder)
    assert attempt.gpu == "1 (NVIDIA L40S)" and ", GPU 1 (NVIDIA L40S), pid" in str(attempt)
