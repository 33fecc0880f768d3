import { at, type Rows } from '../../../domain/training/rows/rows.ts';

/** Returns mean and standard deviation of the first entries of rows, as the metrics `<name>Mean` and `<name>Deviation`. */
export function spreadOf(name: string, rows: Rows): Readonly<Record<string, number>> {
  const all = rows.map((row) => at(row, 0));
  const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
  const deviation = Math.sqrt(all.reduce((sum, value) => sum + (value - mean) ** 2, 0) / all.length);
  return { [`${name}Mean`]: mean, [`${name}Deviation`]: deviation };
}
