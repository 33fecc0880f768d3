/** How a history is recorded: a range [from, to) of an earlier step's history, then what is new. */
export interface HistoryLink {
  /** A key of the step, and of that whose history it begins with. */
  readonly step: string;
  readonly prefix: string | null;
  readonly from: number;
  readonly to: number;
  readonly segments: readonly string[];
}

/**
 * Returns the histories of steps, each as the ids of its segments in order; steps without a link are left out. Short ones come
 * first, and a long one takes what it shares from them: a path of 1,000 steps is 1,000 copies, not half a million steps up its
 * prefixes.
 * @throws RangeError when a step of a chain is not among the links: a bug, the projection keeps none without it.
 */
export function resolveHistories(
  links: ReadonlyMap<string, HistoryLink>,
  steps: readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const asked = [...new Set(steps)].flatMap((step) => links.get(step) ?? []);
  const resolved = new Map<string, readonly string[]>();
  for (const { step } of asked.sort((a, b) => lengthOf(a) - lengthOf(b))) resolved.set(step, resolve(links, step, resolved));
  return resolved;
}

function resolve(
  links: ReadonlyMap<string, HistoryLink>,
  step: string,
  resolved: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const parts: (readonly string[])[] = [];
  let wanted: Range | undefined = { step, from: 0, to: Number.MAX_SAFE_INTEGER };
  while (wanted) {
    const known = resolved.get(wanted.step);
    if (known) {
      parts.push(known.slice(wanted.from, wanted.to));
      break;
    }
    const link = links.get(wanted.step);
    if (!link) throw new RangeError(`the history of step ${wanted.step} is not among those that were read`);
    const shared = link.to - link.from; // places [0, shared) are those of the prefix
    parts.push(link.segments.slice(Math.max(0, wanted.from - shared), Math.max(0, wanted.to - shared)));
    const from: number = link.from + wanted.from;
    const to: number = Math.min(link.from + wanted.to, link.to);
    wanted = link.prefix !== null && from < to ? { step: link.prefix, from, to } : undefined;
  }
  return parts.reverse().flat();
}

interface Range {
  readonly step: string;
  readonly from: number;
  readonly to: number;
}

function lengthOf({ from, to, segments }: HistoryLink): number {
  return to - from + segments.length;
}
