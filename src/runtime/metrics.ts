import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

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
  /** Writes all metrics in the text format of Prometheus. */
  expose(): Promise<{ readonly contentType: string; readonly body: string }>;
}
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

/** Makes a registry of its own. `process` adds Node's own measurements (memory, event loop, garbage collection). */
export function createMetrics({ process = false }: { readonly process?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (process) collectDefaultMetrics({ register: registry });
  const failures = new Counter({
    name: 'espalier_scrape_failures_total',
    help: 'Gauges that could not be read for a scrape',
    labelNames: ['gauge'],
    registers: [registry],
  });
  const known = new Map<string, CounterMetric<string> | HistogramMetric<string>>();
  return {
    counter: (name, help, labels = []) =>
      once(known, `${name} counter`, () => {
        const metric = new Counter({ name: `espalier_${name}`, help, labelNames: [...labels], registers: [registry] });
        if (labels.length === 0) metric.inc(0); // shown as 0 from the start, so that a rate over it is right
        return { add: (amount, of) => metric.inc(of, amount) };
      }),
    histogram: (name, help, buckets, labels = []) =>
      once(known, `${name} histogram`, () => {
        const metric = new Histogram({
          name: `espalier_${name}`,
          help,
          labelNames: [...labels],
          buckets: [...buckets],
          registers: [registry],
        });
        return { observe: (value, of) => metric.observe(of, value) };
      }),
    gauge: (name, help, labels, read) => {
      registry.removeSingleMetric(`espalier_${name}`);
      new Gauge({
        name: `espalier_${name}`,
        help,
        labelNames: [...labels],
        registers: [registry],
        async collect() {
          this.reset();
          try {
            for (const { labels: of, value } of await read()) this.set(of, value);
          } catch {
            failures.inc({ gauge: name });
          }
        },
      });
    },
    expose: async () => ({ contentType: registry.contentType, body: await registry.metrics() }),
  };
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
