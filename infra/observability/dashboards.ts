import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

interface Panel {
  readonly title: string;
  readonly unit: 'short' | 'reqps' | 's' | 'bytes' | 'percentunit';
  /** A query of Prometheus, and what a line of it is called. */
  readonly queries: readonly (readonly [expr: string, legend: string])[];
}

interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
}

const rate = (metric: string, by: string) => `sum by (${by}) (rate(${metric}[5m]))`;
const p99 = (metric: string, by: string) => `histogram_quantile(0.99, sum by (le, ${by}) (rate(${metric}_bucket[5m])))`;
const most = (metric: string, by: string) => `max by (${by}) (${metric})`; // every API process says the same of tables
const panel = (title: string, unit: Panel['unit'], ...queries: Panel['queries']): Panel => ({ title, unit, queries });

/** The dashboards of Grafana; `infra/observability/dashboards` holds what this list makes. */
export const DASHBOARDS: readonly Dashboard[] = [
  {
    uid: 'espalier-record',
    title: 'Espalier: the record',
    panels: [
      panel('Records appended, by project', 'reqps', [rate('espalier_log_appended_records_total', 'project'), '{{project}}']),
      panel('Records appended, by role', 'reqps', [rate('espalier_log_appended_records_total', 'role'), '{{role}}']),
      panel('Time until an append is durable, p99', 's', [p99('espalier_log_append_seconds', 'role'), '{{role}}']),
      panel('Appends that failed', 'reqps', [rate('espalier_log_append_failures_total', 'code'), '{{code}}']),
      panel('Requests', 'reqps', [rate('espalier_http_requests_total', 'route, status'), '{{route}} {{status}}']),
      panel('Time to answer, p99', 's', [p99('espalier_http_request_seconds', 'route'), '{{route}}']),
      panel('Requests of events that were refused', 'reqps', [rate('espalier_ingest_refusals_total', 'reason'), '{{reason}}']),
      panel('Wrong keys', 'reqps', ['sum(rate(espalier_http_wrong_keys_total[5m]))', 'keys']),
      panel('Lag of projections', 's', [most('espalier_projection_lag_seconds', 'projection'), '{{projection}}']),
      panel('Lag of projections, records', 'short', [most('espalier_projection_lag_records', 'projection'), '{{projection}}']),
      panel('Records folded', 'reqps', [rate('espalier_projection_folded_records_total', 'topic'), '{{topic}}']),
      panel('Time to fold a slice, p99', 's', [p99('espalier_projection_fold_seconds', 'role'), '{{role}}']),
      panel(
        'Quarantine',
        'short',
        [most('espalier_quarantine_open', 'projection'), '{{projection}}'],
        [most('espalier_quarantine_open_by_project', 'project'), 'of {{project}}'],
      ),
      panel('Outbox, oldest record', 's', ['max(espalier_outbox_oldest_seconds)', 'oldest']),
    ],
  },
  {
    uid: 'espalier-training',
    title: 'Espalier: training',
    panels: [
      panel('Samples', 'short', [most('espalier_training_samples', 'policy, state'), '{{policy}} {{state}}']),
      panel('Batches', 'short', [most('espalier_training_batches', 'policy, state'), '{{policy}} {{state}}']),
      panel('Newest version', 'short', [most('espalier_training_policy_version', 'policy'), '{{policy}}']),
      panel('Oldest batch without a version', 's', [most('espalier_training_oldest_batch_seconds', 'policy'), '{{policy}}']),
      panel('Leases', 'short', [most('espalier_training_leases', 'policy, state'), '{{policy}} {{state}}']),
      panel('Batches that were planned', 'reqps', [rate('espalier_batcher_planned_batches_total', 'role'), '{{role}}']),
      panel('Planning is due', 'short', [most('espalier_training_plannable', 'policy'), '{{policy}}']),
      panel('Samples unaccounted for', 'short', [most('espalier_training_ledger_difference', 'policy'), '{{policy}}']),
    ],
  },
  {
    uid: 'espalier-processes',
    title: 'Espalier: processes',
    panels: [
      panel('Processes of a role', 'short', ['sum by (role) (espalier_role_up)', '{{role}}']),
      panel('Processor time', 'percentunit', [rate('process_cpu_seconds_total', 'role, instance'), '{{role}} {{instance}}']),
      panel('Memory', 'bytes', [most('process_resident_memory_bytes', 'role, instance'), '{{role}} {{instance}}']),
      panel('Delay of the event loop, p99', 's', [
        most('nodejs_eventloop_lag_p99_seconds', 'role, instance'),
        '{{role}} {{instance}}',
      ]),
      panel('Connections to Postgres in use', 'percentunit', [
        'max by (role) (espalier_database_connections{state="used"} / ignoring (state) espalier_database_connections_max)',
        '{{role}}',
      ]),
      panel('Requests that wait for a connection', 'short', [most('espalier_database_requests_waiting', 'role'), '{{role}}']),
      panel('Postgres', 'bytes', [most('espalier_postgres_bytes', 'of'), '{{of}}']),
      panel('Disk free', 'bytes', ['min by (instance, folder) (espalier_disk_free_bytes)', '{{instance}} {{folder}}']),
      panel('Blob store', 'reqps', [rate('espalier_blob_operations_total', 'operation'), '{{operation}}']),
      panel('Blob store, failures', 'reqps', [rate('espalier_blob_failures_total', 'operation'), '{{operation}}']),
      panel(
        'Spans',
        'reqps',
        ['sum(rate(espalier_trace_spans_exported_total[5m]))', 'exported'],
        [rate('espalier_trace_spans_dropped_total', 'reason'), 'dropped: {{reason}}'],
      ),
      panel('Gauges that could not be read', 'reqps', [rate('espalier_scrape_failures_total', 'gauge'), '{{gauge}}']),
    ],
  },
];

const [WIDTH, HEIGHT] = [12, 8];
const PROMETHEUS = { type: 'prometheus', uid: '$prometheus' };

/** Returns a dashboard as Grafana imports it. */
export function grafanaJson({ uid, title, panels }: Dashboard): string {
  const dashboard = {
    uid,
    title,
    tags: ['espalier'],
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: { list: [{ name: 'prometheus', type: 'datasource', query: 'prometheus', label: 'Prometheus' }] },
    panels: panels.map(({ title: name, unit, queries }, i) => ({
      id: i + 1,
      type: 'timeseries',
      title: name,
      datasource: PROMETHEUS,
      gridPos: { x: (i % 2) * WIDTH, y: Math.floor(i / 2) * HEIGHT, w: WIDTH, h: HEIGHT },
      fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
      targets: queries.map(([expr, legendFormat], at) => ({
        refId: String.fromCharCode('A'.charCodeAt(0) + at),
        datasource: PROMETHEUS,
        expr,
        legendFormat,
      })),
    })),
  };
  return `${JSON.stringify(dashboard, null, 2)}\n`;
}

/** The file of a dashboard. */
export function dashboardFile({ uid }: Dashboard): URL {
  return new URL(`dashboards/${uid}.json`, import.meta.url);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(new URL('dashboards/', import.meta.url), { recursive: true });
  for (const dashboard of DASHBOARDS) writeFileSync(dashboardFile(dashboard), grafanaJson(dashboard));
}
