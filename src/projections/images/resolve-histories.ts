/** How a history is recorded: a range [from, to) of an earlier step's history, then what is new. */
export interface HistoryLink {
  readonly stepId: string;
  readonly prefixStepId: string | null;
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
  const asked = [...new Set(steps)].flatMap((stepId) => links.get(stepId) ?? []);
  const resolved = new Map<string, readonly string[]>();
  for (const { stepId } of asked.sort((a, b) => lengthOf(a) - lengthOf(b)))
    resolved.set(stepId, resolve(links, stepId, resolved));
  return resolved;
}

function resolve(
  links: ReadonlyMap<string, HistoryLink>,
  stepId: string,
  resolved: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const parts: (readonly string[])[] = [];
  let wanted: Range | undefined = { stepId, from: 0, to: Number.MAX_SAFE_INTEGER };
  while (wanted) {
    const known = resolved.get(wanted.stepId);
    if (known) {
      parts.push(known.slice(wanted.from, wanted.to));
      break;
    }
    const link = links.get(wanted.stepId);
    if (!link) throw new RangeError(`the history of step ${wanted.stepId} is not among those that were read`);
    const shared = link.to - link.from; // places [0, shared) are those of the prefix
    parts.push(link.segments.slice(Math.max(0, wanted.from - shared), Math.max(0, wanted.to - shared)));
    const from: number = link.from + wanted.from;
    const to: number = Math.min(link.from + wanted.to, link.to);
    wanted = link.prefixStepId !== null && from < to ? { stepId: link.prefixStepId, from, to } : undefined;
  }
  return parts.reverse().flat();
}

interface Range {
  readonly stepId: string;
  readonly from: number;
  readonly to: number;
}

function lengthOf({ from, to, segments }: HistoryLink): number {
  return to - from + segments.length;
}
