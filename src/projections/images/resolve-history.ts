/** How a history is recorded: a range [from, to) of an earlier step's history, then what is new. */
export interface HistoryLink {
  readonly stepId: string;
  readonly prefixStepId: string | null;
  readonly from: number;
  readonly to: number;
  readonly segments: readonly string[];
}

/**
 * Follows the prefixes of a history up and gives the ids of its segments in order. A window that slides over a long history is found in
 * the few steps that it covers. @throws RangeError when a step of the chain is not among the links: a bug, the projection keeps none without it.
 */
export function resolveHistory(links: ReadonlyMap<string, HistoryLink>, stepId: string): readonly string[] {
  const parts: (readonly string[])[] = [];
  let wanted: { readonly stepId: string; readonly from: number; readonly to: number } | undefined = {
    stepId,
    from: 0,
    to: Number.POSITIVE_INFINITY,
  };
  while (wanted) {
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
