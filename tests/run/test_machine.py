from s2m.run.events import Events
from s2m.run.lock import RunLock
from s2m.run.machine import packages, processor


def test_the_first_processor_is_told_by_all_the_kernel_says(tmp_path):
    info = tmp_path / "cpuinfo"
    one = "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: Some CPU\nstepping\t: 1\n"
    info.write_text(f"{one}\n{one.replace('25', '26')}\n")
    assert processor(info) == "Some CPU, family 25, model 17, stepping 1"


def test_without_a_proc_there_still_is_a_name(tmp_path):
    assert processor(tmp_path / "none")


def test_an_attempt_tells_with_what_it_computes(folder):
    with RunLock.acquire(folder):
        (event,) = Events(folder).read()
    assert event["processor"] == processor()
    assert event["packages"] == packages() and "torch" in event["packages"]
