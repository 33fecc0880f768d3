/** One number for each token of each row. A row is as long as its own response: nothing is padded, rows differ in length. */
export type Rows = readonly Float64Array[];

/**
 * 1 where the policy wrote the token, 0 where an environment or a tool did (context, never trained on). As long as the row it
 * belongs to.
 */
export type Masks = readonly Uint8Array[];

/** Reads one value. @throws RangeError outside the values: a column that is shorter than its mask is a bug, not a zero. */
export function at(values: ArrayLike<number>, i: number): number {
  const value = values[i];
  if (value === undefined) throw new RangeError(`there is no value ${i}: the column has ${values.length}`);
  return value;
}

/** Reads one row. @throws RangeError outside the batch. */
export function rowAt<T>(rows: readonly T[], row: number): T {
  const found = rows[row];
  if (found === undefined) throw new RangeError(`there is no row ${row}: the batch has ${rows.length}`);
  return found;
}

/** Builds a batch of the masks' shape, token by token. */
export function buildRows(masks: Masks, value: (row: number, t: number, mask: number) => number): Float64Array[] {
  return masks.map((mask, row) => Float64Array.from(mask, (m, t) => value(row, t, m)));
}

/** Returns every trained token of a row the row's scalar, and 0 to the others. */
export function spreadScalars(scalars: ArrayLike<number>, masks: Masks): Float64Array[] {
  return buildRows(masks, (row, _t, m) => at(scalars, row) * m);
}

/** Counts the trained tokens of a row. */
export function countTrained(mask: Uint8Array): number {
  let count = 0;
  for (const m of mask) count += m;
  return count;
}

/** Describes which row has another length than its mask, or that a column has another number of rows; null when all fits. */
export function findMisfit(name: string, rows: readonly ArrayLike<number>[], masks: Masks): string | null {
  if (rows.length !== masks.length) return `${name} has ${rows.length} rows where the masks have ${masks.length}`;
  for (const [row, mask] of masks.entries()) {
    const { length } = rowAt(rows, row);
    if (length !== mask.length) return `row ${row} of ${name} has ${length} tokens where its mask has ${mask.length}`;
  }
  return null;
}
