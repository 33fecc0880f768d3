import { Counter, collectDefaultMetrics, Gauge, Histogram, type LabelValues, type Metric, Registry } from 'prom-client';

/**
 * Measurements for Prometheus. Every name is written without its prefix `espalier_`; asking twice for a name returns the same
 * metric.
 */
export interface Metrics {
  counter<L extends string = never>(name: string, help: string, labels?: readonly L[]): CounterMetric<L>;
  histogram<L extends string = never>(
    name: string,
    help: string,
    buckets: readonly number[],
    labels?: readonly L[],
  ): HistogramMetric<L>;
  /**
   * A value that is read when Prometheus asks. A reader that throws leaves its gauge out and is counted in
   * `espalier_scrape_failures_total`.
   */
  gauge<L extends string = never>(
    name: string,
    help: string,
    labels: readonly L[],
    read: () => Promise<readonly Sample<L>[]>,
  ): void;
  /** As `gauge`, of what anybody may see who reaches the probe port: its labels name no project, policy or key, and it is quick to read. */
  openGauge: Metrics['gauge'];
  /** Adds what another registry holds, that of a thread, to each scrape until the function that it returns is called. */
  include(read: () => Promise<MeasuredElsewhere>): () => void;
  /** Returns all metrics for the registry of another thread, which includes them. */
  measured(): Promise<MeasuredElsewhere>;
  /** Writes all metrics in the text format of Prometheus. */
  expose(): Promise<Exposed>;
  /** Writes what needs no key: measurements of the process and open gauges; counters are sums over projects, policies and keys. */
  exposeOpen(): Promise<Exposed>;
}
interface Exposed {
  readonly contentType: string;
  readonly body: string;
}
/** Metrics of a registry as they travel between threads. */
export type MeasuredElsewhere = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;
export interface CounterMetric<L extends string> {
  add(amount: number, labels: Readonly<Record<L, string>>): void;
}
export interface HistogramMetric<L extends string> {
  observe(value: number, labels: Readonly<Record<L, string>>): void;
}
export interface Sample<L extends string> {
  readonly labels: Readonly<Record<L, string>>;
  readonly value: number;
}

interface MetricsOptions {
  /** Adds Node's own measurements (memory, event loop, garbage collection). */
  readonly process?: boolean;
  /** What its process or thread does; the label `role` of every sample. */
  readonly role?: string;
}

/** Labels whose values only a key of all projects may see. */
const CLOSED: ReadonlySet<string> = new Set(['project', 'policy', 'key']);

function withoutClosed(labels: LabelValues<string>): LabelValues<string> {
  const open = { ...labels };
  for (const label of CLOSED) delete open[label];
  return open;
}

/** Makes a registry of its own. */
export function createMetrics({ process = false, role }: MetricsOptions = {}): Metrics {
  const registry = new Registry();
  const open = new Registry();
  const both = [registry, open];
  const included = new Set<() => Promise<MeasuredElsewhere>>();
  if (role !== undefined) for (const each of both) each.setDefaultLabels({ role });
  if (process) {
    collectDefaultMetrics({ register: registry });
    for (const metric of registry.getMetricsAsArray()) open.registerMetric(metric as unknown as Metric); // it lists what was registered
  }
  const failures = new Counter({
    name: 'espalier_scrape_failures_total',
    help: 'Gauges that could not be read for a scrape',
    labelNames: ['gauge'],
    registers: both,
  });
  const known = new Map<string, CounterMetric<string> | HistogramMetric<string>>();
  const gaugeIn =
    (registers: Registry[]): Metrics['gauge'] =>
    (name, help, labels, read) => {
      for (const each of both) each.removeSingleMetric(`espalier_${name}`);
      new Gauge({
        name: `espalier_${name}`,
        help,
        labelNames: [...labels],
        registers,
        async collect() {
          this.reset();
          try {
            for (const { labels: of, value } of await read()) this.set(of, value);
          } catch {
            failures.inc({ gauge: name });
          }
        },
      });
    };
  return {
    counter: (name, help, labels = []) =>
      once(known, `${name} counter`, () => {
        const openLabels = labels.filter((label) => !CLOSED.has(label));
        const counterIn = (registers: Registry[], labelNames: string[]) =>
          new Counter({ name: `espalier_${name}`, help, labelNames, registers });
        const isOpen = openLabels.length === labels.length;
        const metric = counterIn(isOpen ? both : [registry], [...labels]);
        const sum = isOpen ? null : counterIn([open], openLabels);
        if (labels.length === 0) metric.inc(0); // shown as 0 from the start, so that a rate over it is right
        return {
          add(amount, of) {
            metric.inc(of, amount);
            sum?.inc(withoutClosed(of), amount);
          },
        };
      }),
    histogram: (name, help, buckets, labels = []) =>
      once(known, `${name} histogram`, () => {
        const metric = new Histogram({
          name: `espalier_${name}`,
          help,
          labelNames: [...labels],
          buckets: [...buckets],
          registers: labels.some((label) => CLOSED.has(label)) ? [registry] : both,
        });
        return { observe: (value, of) => metric.observe(of, value) };
      }),
    gauge: gaugeIn([registry]),
    openGauge: gaugeIn(both),
    include: (read) => {
      included.add(read);
      return () => included.delete(read);
    },
    measured: () => registry.getMetricsAsJSON(),
    expose: async () => {
      const { contentType } = registry;
      if (included.size === 0) return { contentType, body: await registry.metrics() };
      const all = await Promise.all([registry.getMetricsAsJSON(), ...[...included].map((read) => read())]);
      return { contentType, body: await joined(all.flat()).metrics() };
    },
    exposeOpen: async () => ({ contentType: open.contentType, body: await open.metrics() }),
  };
}

/** Joins the samples of metrics of one name, which differ in their label `role`. */
function joined(all: MeasuredElsewhere): Registry {
  const byName = new Map<string, MeasuredElsewhere[number]>();
  for (const metric of all) {
    const earlier = byName.get(metric.name);
    byName.set(metric.name, earlier ? { ...earlier, values: [...earlier.values, ...metric.values] } : metric);
  }
  const registry = new Registry();
  for (const metric of byName.values())
    registry.registerMetric({ name: metric.name, get: async () => metric } as unknown as Metric); // all that a registry asks of one
  return registry;
}

function once<M extends CounterMetric<string> | HistogramMetric<string>>(
  known: Map<string, CounterMetric<string> | HistogramMetric<string>>,
  key: string,
  make: () => M,
): M {
  const before = known.get(key);
  if (before) return before as M; // the key holds the kind, and each kind has one shape
  const metric = make();
  known.set(key, metric);
  return metric;
}

const NAMED = 100;

/**
 * Returns the label of a value that users choose: the value itself of the first hundred, `other` of all further ones, so that their
 * number does not grow with what users make.
 */
export function boundedLabel(): (value: string) => string {
  const named = new Set<string>();
  return (value) => {
    if (named.size < NAMED) named.add(value);
    return named.has(value) ? value : 'other';
  };
}
