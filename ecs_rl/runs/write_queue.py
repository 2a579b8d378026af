"""A run's writes in their order: at once, or on a thread of their own, so that nobody waits for the disk."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

Job = Callable[[], object]
MOST_TOGETHER = 256
"""Small jobs that wait for each other before they are handed over."""


class WriteQueue:
    """Carries out jobs one after the other, each before `do` or `later` returns, or after `go_behind` on a thread.

    There nothing is carried out after a job that failed until `raise_problem`, or whatever is asked for next, has
    raised that failure where the jobs come from: they cannot write what would not have been written had they waited.
    Jobs must bring what they write: nothing that changes later may be read in them.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: list[Job] = []
        self._newest: Future[None] | None = None
        self._problem: BaseException | None = None

    def go_behind(self) -> None:
        """Carry out everything on a thread from now on; a process that ends by itself waits for it."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="writes the run")

    def do(self, job: Job) -> Future[None] | None:
        """Carry out a job, and first all that was to be done later; return what `wait` takes, None if it is done."""
        self.raise_problem()
        if self._pool is None:
            job()
            return None
        jobs, self._waiting = [*self._waiting, job], []
        self._newest = self._pool.submit(self._carry_out, jobs)
        return self._newest

    def later(self, job: Job) -> None:
        """Carry out a small job together with others: with the next `do`, or when enough have come together."""
        if self._pool is None or len(self._waiting) >= MOST_TOGETHER:
            self.do(job)
            return
        self.raise_problem()
        self._waiting.append(job)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until all jobs are carried out, for so long at most, and tell whether they are; raise what failed."""
        newest = self.do(lambda: None) if self._waiting else self._newest
        return self.wait_for(newest, seconds)

    def wait_for(self, job: Future[None] | None, seconds: float | None = None) -> bool:
        """Do the same for a job that `do` returned, and all before it."""
        if job is not None:
            try:
                job.exception(seconds)
            except TimeoutError:
                return False
        self.raise_problem()
        return True

    def raise_problem(self) -> None:
        """Raise what failed on the thread, once; what was handed over since then is dropped."""
        if self._problem is None:
            return
        if self._newest is not None:
            self._newest.exception()
        problem, self._problem, self._waiting = self._problem, None, []
        raise problem

    def close(self) -> None:
        """Wait for the thread and give it back; jobs are carried out at once again."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _carry_out(self, jobs: list[Job]) -> None:
        for job in jobs:
            if self._problem is not None:
                return
            try:
                job()
            except BaseException as problem:  # raised again where the jobs come from
                self._problem = problem
