import { smallest } from '../extremes.ts';
/**
 * Finds the name that a misspelt one was probably meant to be: the nearest by insertions, removals, replacements and swaps of
 * neighbours, if at most a third of the longer one differs. Null when none is near.
 */
export function closestName(given: string, names: Iterable<string>): string | null {
  const asked = cut(given);
  let best: { readonly name: string; readonly distance: number } | null = null;
  for (const name of names) {
    const distance = distanceOf(asked, cut(name));
    const near = distance <= Math.max(1, Math.floor(Math.max(asked.length, Math.min(name.length, LIMIT)) / 3));
    if (near && (best === null || distance < best.distance)) best = { name, distance };
  }
  return best?.name ?? null;
}

const LIMIT = 100; // the work is the product of both lengths

function cut(name: string): string {
  return name.slice(0, LIMIT).toLowerCase();
}

/** The distance of Damerau and Levenshtein, in its restricted form. */
function distanceOf(a: string, b: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const steps = [cell(last, j) + 1, cell(row, j - 1) + 1, cell(last, j - 1) + (same ? 0 : 1)];
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) steps.push(cell(before, j - 2) + 1);
      row.push(smallest(steps));
    }
    [before, last] = [last, row];
  }
  return cell(last, b.length);
}

function cell(row: readonly number[], at: number): number {
  return row[at] ?? Number.POSITIVE_INFINITY; // every cell that is asked for was filled
}
