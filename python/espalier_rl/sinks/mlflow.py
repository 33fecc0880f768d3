"""MLflow: a run for each policy, whose steps are its versions, and one for each run, whose steps are its rollouts."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from ..errors import EspalierError
from .points import Away, Point, Subject

T = TypeVar("T")
MOST = 900  # metrics of one request; the server allows 1,000
REFUSED = re.compile(r"[^\w\-. :/]", re.ASCII)  # in the names of metrics
BUSY = 429


class MlflowSink:
    """A run that carries the policy, or the run, as a tag; it is found again by that. The marker of a point is written behind its metrics:
    one whose metrics a kill has cut is seen as missing, and what is there of it is left out when it is posted again."""

    def __init__(self, uri: str, subject: Subject, *, experiment: str = "espalier") -> None:
        # waiting for a server is the sink's business, which says that it waits
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        from mlflow import MlflowClient

        self._uri, self._subject = uri, subject
        self._client: Any = self._asked(lambda: MlflowClient(uri))
        self.run_id: str = self._asked(lambda: self._find(experiment))
        self._is_sure = False  # whether what is there of the next point is known: nothing

    def last(self) -> int | None:
        """The greatest step that was written whole."""
        history = self._asked(lambda: self._client.get_metric_history(self.run_id, self._subject.marker))
        return max((metric.step for metric in history), default=None)

    def post(self, points: Sequence[Point]) -> None:
        """Writes the metrics of each point and its marker behind them, then the link of the newest one."""
        from mlflow.entities import Metric

        rows = [
            Metric(REFUSED.sub("_", name), value, int(point.at * 1000), point.step)
            for point in points
            for name, value in (*sorted(point.metrics.items()), (self._subject.marker, float(point.step)))
        ]
        if not self._is_sure:
            there = {name: self._asked(partial(self._steps, name)) for name in {row.key for row in rows}}
            rows = [row for row in rows if row.step not in there[row.key]]
        self._is_sure = False
        for first in range(0, len(rows), MOST):
            self._asked(partial(self._client.log_batch, self.run_id, metrics=rows[first : first + MOST]))
        of, newest = self._subject, points[-1]
        links = f"[{of.kind} {of.name}]({of.link}), [{of.marker.removeprefix('espalier/')} {newest.step}]({newest.link})"
        self._asked(lambda: self._client.set_tag(self.run_id, "mlflow.note.content", links))
        self._is_sure = True

    def close(self, over: bool) -> None:
        """Ends the run where the run that it shows is over; a policy may be trained on."""
        if over:
            self._asked(lambda: self._client.set_terminated(self.run_id))

    def _find(self, experiment: str) -> str:
        of = self._subject
        found = self._client.get_experiment_by_name(experiment)
        experiment_id = found.experiment_id if found else self._client.create_experiment(experiment)
        tag = f"espalier.{of.kind}"
        quoted = of.id.replace("'", "\\'")
        runs = self._client.search_runs([experiment_id], f"tags.`{tag}` = '{quoted}'", max_results=1)
        run = runs[0] if runs else self._client.create_run(experiment_id, tags={tag: of.id}, run_name=of.name)
        return str(run.info.run_id)

    def _steps(self, name: str) -> set[int]:
        return {metric.step for metric in self._client.get_metric_history(self.run_id, name)}

    def _asked(self, work: Callable[[], T]) -> T:
        from mlflow.exceptions import MlflowException

        try:
            return work()
        except MlflowException as error:
            status = error.get_http_status_code()
            if self._uri.startswith("http") and (status >= 500 or status == BUSY):
                raise Away(f"MLflow at {self._uri}: {_first_line(error)}") from None
            raise EspalierError(f"MLflow at {self._uri}: {_first_line(error)}", remedy="name a server or a store by --to", field="to") from None


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0][:300]
