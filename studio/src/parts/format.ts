const WHOLE = new Intl.NumberFormat('en');
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** 12,345 */
export function whole(value: number): string {
  return WHOLE.format(value);
}

/** 1 step, 12,345 steps. */
export function count(value: number, one: string, many = `${one}s`): string {
  return `${whole(value)} ${value === 1 ? one : many}`;
}

/** 12.3K */
export function short(value: number): string {
  return SHORT.format(value);
}

/** 41.7 % */
export function percent(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : `${(100 * value).toFixed(1)} %`;
}

/** A number with three significant digits. */
export function decimal(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–';
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  return Math.abs(value) >= 1e6 || (value !== 0 && Math.abs(value) < 1e-3)
    ? value.toExponential(2)
    : String(Number(value.toPrecision(3)));
}

/** 2 min 5 s, from milliseconds. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60
    ? `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** 2026-11-23 04:05:06 in the zone of the reader. */
export function instant(iso: string): string {
  const at = new Date(iso);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** The end of an id: ids by time begin alike. */
export function shortId(id: string): string {
  return id.slice(-8);
}

/**
 * The Wilson interval of a share at 95 %.
 * @returns [low, high]; null without trials.
 */
export function wilson(successes: number, trials: number): readonly [number, number] | null {
  if (trials === 0) return null;
  const z = 1.959964;
  const share = successes / trials;
  const middle = share + (z * z) / (2 * trials);
  const half = z * Math.sqrt((share * (1 - share)) / trials + (z * z) / (4 * trials * trials));
  const over = 1 + (z * z) / trials;
  return [Math.max(0, (middle - half) / over), Math.min(1, (middle + half) / over)];
}
