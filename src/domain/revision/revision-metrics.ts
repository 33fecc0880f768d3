import type { Revision } from './compose-revisions.ts';
import type { Transition } from './find-transition.ts';

export interface RevisionMetrics {
  readonly revisions: number;
  /**
   * The mean number of steps that the judge looked at until it rejected one (§2.4, the paper's figure); null without a judged
   * revision.
   */
  readonly meanRevisionLength: number | null;
  /** How many revisions have each revision length, by length. */
  readonly revisionLengths: ReadonlyMap<number, number>;
  readonly meanBadSteps: number | null;
  readonly causes: Readonly<Record<Transition['cause'], number>>;
  readonly clamped: number;
}

/** Measures revisions of any number of trees. Direct revisions, which nobody judged, have no revision length. */
export function measureRevisions(revisions: readonly Revision[]): RevisionMetrics {
  const judged = revisions.filter(({ cause }) => cause !== 'direct').map(({ revisionLength }) => revisionLength);
  const revisionLengths = new Map<number, number>();
  for (const length of [...judged].sort((a, b) => a - b)) revisionLengths.set(length, (revisionLengths.get(length) ?? 0) + 1);
  const causes = { bad: 0, 'none-bad': 0, unparsed: 0, direct: 0 };
  for (const { cause } of revisions) causes[cause]++;
  return {
    revisions: revisions.length,
    meanRevisionLength: mean(judged),
    revisionLengths,
    meanBadSteps: mean(revisions.map(({ transition }) => transition + 1)),
    causes,
    clamped: revisions.filter(({ clamped }) => clamped).length,
  };
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
