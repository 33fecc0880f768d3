"""Records one run from 16 processes: one is killed, one is frozen until the others are gone, and one is a day behind."""

import os
import pickle
import signal
import sys
import traceback
from datetime import datetime, timedelta, timezone

import espalier_rl as er

KILLED, FROZEN, BEHIND = 3, 7, 11
EPISODES, STEPS = 3, 4


def record(i):
    if i == BEHIND:
        for module in [each for name, each in sys.modules.items() if name.startswith("espalier_rl.recording.") and hasattr(each, "now")]:
            module.now = lambda: (datetime.now(timezone.utc) - timedelta(days=1)).isoformat(timespec="milliseconds")[:-6] + "Z"
    with er.run("many", key="many", policy="q@1") as run:
        member = run.group("together", 16, id="g").member(i)
        member.step(f"member {i}", "first")
        for e in range(EPISODES):
            with run.episode("alone") as episode:
                for s in range(STEPS):
                    episode.step(f"{i} {e} {s}", "ok")
                if i == KILLED and e == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                if i == FROZEN and e == 1:
                    os.kill(os.getpid(), signal.SIGSTOP)
        member.step(f"member {i}", "last", reward=float(i), done=True)
        member.finish(success=True)


def forked(work, *given):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work(*given)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def by_handles():
    """A run without a key: children have it forked, or pickled, and its opener ends it."""
    with er.run("handles", policy="q@1") as run:
        before = run.episode("parent")
        before.step("parent 0")
        group = run.group("together", 4, id="g")
        pickled = pickle.dumps((run, group))

        def child(i):
            own, members = (run, group) if i % 2 else pickle.loads(pickled)
            assert own is run, "a process that has the run records into it once"
            try:
                before.step("not by a child")
                raise AssertionError("the episode of the parent was recorded by its child")
            except er.EspalierError as error:
                assert error.code == "forked", error
            with members.member(i) as episode:
                episode.step(f"child {i}", done=True)
            run.close()

        for pid in [forked(child, i) for i in range(4)]:
            assert os.waitpid(pid, 0)[1] == 0
        before.step("parent 1", done=True)
        before.finish()


def main():
    pids = {forked(record, i): i for i in range(16)}
    frozen = None
    try:
        while len(pids) > 1 or frozen is None:
            pid, status = os.waitpid(-1, os.WUNTRACED)
            if os.WIFSTOPPED(status):
                frozen = pid
                continue
            i = pids.pop(pid)
            expected = -signal.SIGKILL if i == KILLED else 0
            assert os.waitstatus_to_exitcode(status) == expected, (i, status)
        os.kill(frozen, signal.SIGCONT)
        assert os.waitpid(frozen, 0)[1] == 0
        pids.clear()
    finally:  # a frozen one would hold the output open for ever
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    er.connect().wait_for_spools(60)  # sends what the killed one left
    by_handles()
    print("recorded")


main()
