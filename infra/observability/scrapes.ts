/** Samples of a scrape by series, as `name{labels}`. */
export type Samples = ReadonlyMap<string, number>;

export interface Scrape {
  /** Milliseconds. */
  readonly at: number;
  readonly samples: Samples;
}

/** Reads the samples of the metrics that are named from the text format of Prometheus, as those of an instance. */
export function readSamples(text: string, names: ReadonlySet<string>, instance: string): Samples {
  const samples = new Map<string, number>();
  for (const [, name = '', labels = '', value = ''] of text.matchAll(/^([a-z_]\w*)(?:\{(.*)\})? (\S+)$/gm)) {
    if (names.has(name)) samples.set(`${name}{${labels}${labels ? ',' : ''}instance="${instance}"}`, Number(value));
  }
  return samples;
}

const HEALTHY = 20;
const PROVOKED = 95;

/**
 * Returns the series of a test of rules, a sample per minute: as the first scrape says for twenty minutes, and then as the last two say
 * it goes on, at their speed.
 */
export function seriesOf(healthy: Scrape, [before, after]: readonly [Scrape, Scrape]) {
  const names = [...new Set([healthy, before, after].flatMap(({ samples }) => [...samples.keys()]))];
  return names.map((series) => {
    const values = [flat(healthy.samples.get(series), HEALTHY), extrapolated(series, before, after)];
    return { series, values: values.join(' ') };
  });
}

/** The minute of the first sample that was scraped after the provocation. */
export const PROVOKED_AT = HEALTHY + 1;

function flat(value: number | undefined, times: number): string {
  return value === undefined ? `_x${times + 1}` : `${written(value)}+0x${times}`;
}

function extrapolated(series: string, before: Scrape, after: Scrape): string {
  const [first, second] = [before.samples.get(series), after.samples.get(series)];
  if (second === undefined) return flat(second, PROVOKED);
  const perMinute = (second - (first ?? second)) / ((after.at - before.at) / 60_000);
  // What is no duration and no count of what happens stays as it is, however it moved between two scrapes.
  const goesOn = /_total\{|_seconds\{/.test(series) && perMinute > 0;
  return goesOn ? `${written(second)}+${written(perMinute)}x${PROVOKED}` : flat(second, PROVOKED);
}

/** A number without an exponent, which the notation of series has not. */
function written(value: number): string {
  return value.toFixed(6);
}
