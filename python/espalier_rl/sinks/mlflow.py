"""MLflow: a run for each policy, whose steps are its versions."""

from __future__ import annotations

from typing import Any

from .follow import Update

VERSION = "espalier/version"
POLICY = "espalier.policy"
MOST = 500  # metrics of one request; the server allows 1,000


class MlflowSink:
    """A run that carries the policy as a tag; it is found again by that. The version is written last: an update whose metrics a kill has
    cut is seen as missing, and the metrics of it that are there are left out when it is posted again."""

    def __init__(self, uri: str | None, policy: str, *, experiment: str = "espalier") -> None:
        from mlflow import MlflowClient

        self._client: Any = MlflowClient(uri)
        found = self._client.get_experiment_by_name(experiment)
        experiment_id = found.experiment_id if found else self._client.create_experiment(experiment)
        quoted = policy.replace("'", "\\'")
        runs = self._client.search_runs([experiment_id], f"tags.`{POLICY}` = '{quoted}'", max_results=1)
        run = runs[0] if runs else self._client.create_run(experiment_id, tags={POLICY: policy}, run_name=policy)
        self.run_id: str = run.info.run_id
        self._begun = False  # whether an update was posted here: what is cut can only be the first

    def last(self) -> int | None:
        """The newest version that was written whole."""
        newest = [metric.step for metric in self._client.get_metric_history(self.run_id, VERSION)]
        return max(newest, default=None)

    def post(self, update: Update) -> None:
        """Writes the metrics of an update, then its version and the link of the newest one."""
        from mlflow.entities import Metric

        at = int(update.at * 1000)
        names = sorted(name for name in update.metrics if self._begun or not self._has(name, update.version))
        metrics = [Metric(name, update.metrics[name], at, update.version) for name in names]
        for first in range(0, len(metrics), MOST):
            self._client.log_batch(self.run_id, metrics=metrics[first : first + MOST])
        self._client.set_tag(self.run_id, "mlflow.note.content", f"[version {update.version} of {update.policy}]({update.link})")
        self._client.log_batch(self.run_id, metrics=[Metric(VERSION, update.version, at, update.version)])
        self._begun = True

    def close(self) -> None:
        """Leaves the run open: the policy may be trained on."""

    def _has(self, name: str, step: int) -> bool:
        return any(metric.step == step for metric in self._client.get_metric_history(self.run_id, name))
