"""Why a run is not finished, judged by the traces of its end."""

from dataclasses import asdict

import pytest

from s2m import logs
from s2m.cluster.queue import Place
from s2m.cluster.verdict import judge, tail
from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.run.folder import RunFolder
from tests.cluster.jobs import submit


@pytest.fixture
def folder(tmp_path):
    return RunFolder.create(tmp_path / "x" / "run", asdict(load(RunCfg, ["budget=demo"])))


@pytest.mark.parametrize(
    ("failure", "event", "final", "log", "expected"),
    [
        ("run diverged at iteration 7: loss/value is not finite", "", "", "", "not a number"),
        ("OutOfMemoryError: CUDA out of memory. Tried to allocate", "", "", "", "out of memory"),
        ("AcceleratorError: CUDA error: device-side assert triggered", "", "", "", "GPU lost"),
        ("RuntimeError: CUDA error: unspecified launch failure", "", "", "", "GPU lost"),
        ("RuntimeError: No CUDA GPUs are available", "", "", "", "GPU lost"),
        ("RuntimeError: CUDA error: no CUDA-capable device is detected", "", "", "", "GPU lost"),
        ("Warp CUDA error 719: unspecified launch failure (in function x)", "", "", "", "GPU lost"),
        ("RuntimeError: CUDA error: out of memory", "", "", "", "out of memory"),
        ("", "attempt 1 began", "", "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.",
         "GPU lost"),
        ("OSError: [Errno 28] No space left on device", "", "FAILED", "", "disk full"),
        ("cannot write run.log: File too large", "", "", "", "file size limit"),
        ("ValueError: wrong", "", "CANCELLED", "", "code error"),
        ("", "attempt 1 began", "OUT_OF_MEMORY", "", "out of memory"),
        ("", "attempt 1 began", "NODE_FAIL", "", "node lost"),
        ("", "stopped by SIGTERM at iteration 5", "CANCELLED", "", "cancelled"),
        ("", "stopped by SIGINT at iteration 5", "", "", "stopped"),
        ("", "killed by SIGKILL", "FAILED", "", "killed"),
        ("", "attempt 1 began", "",
         "error: *** STEP 7.0 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***",
         "time limit"),
        ("", "attempt 1 began", "",
         "error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO PREEMPTION ***",
         "preempted"),
        ("", "attempt 1 began", "",
         "slurmstepd: error: Detected 1 oom-kill event(s) in step 7.0", "out of memory"),
        ("", "attempt 1 began", "", "", "ended, cause unknown"),
    ],
)  # fmt: skip
def test_verdict(folder, tmp_path, failure, event, final, log, expected):
    entry = submit([[folder]], job="7")
    if log:
        entry.logs(0)[1].write_text(log + "\n")
    assert judge(folder, failure, event, final, Place(entry, 0, None)) == expected


def test_the_traceback_in_the_log_helps(folder):
    folder.log.write_text("Traceback ...\nMemoryError\n")
    assert judge(folder, "RuntimeError: worker died", "") == "out of memory"


def test_the_log_of_an_aborted_process_tells_what_aborted_it(folder):
    folder.log.write_text("terminate called after throwing: CUDA error: unspecified launch failure")
    assert judge(folder, "", "killed by SIGABRT") == "GPU lost"
    # Whoever was killed from outside may have older words in its log.
    assert judge(folder, "", "killed by SIGKILL") == "killed"
    folder.log.write_text("Fatal Python error: Segmentation fault")
    assert judge(folder, "", "killed by SIGSEGV") == "killed"


def test_the_tail_of_a_long_log_is_cheap_and_whole(tmp_path):
    path = tmp_path / "log"
    path.write_text("".join(f"line {i} ü\n" for i in range(100_000)))
    assert tail(path, 2) == "line 99998 ü\nline 99999 ü"
    assert tail(tmp_path / "none") == ""


@pytest.mark.parametrize(("asked", "given"), [(1, 1), (3000, 3000), (100_000, 20_000)])
def test_logs_give_as_many_lines_as_asked_for(folder, capsys, asked, given):
    written = [f"line {i} ü" for i in range(20_000)]
    folder.log.write_text("\n".join(written) + "\n")
    logs.main([str(folder.path), "--lines", str(asked)])
    assert capsys.readouterr().out.splitlines() == written[-given:]


@pytest.mark.parametrize("lines", ["0", "-3"])
def test_no_lines_at_all_are_refused(folder, lines):
    folder.log.touch()
    with pytest.raises(UserError, match=f"--lines {lines}: must be an integer from 1"):
        logs.main([str(folder.path), "--lines", lines])
