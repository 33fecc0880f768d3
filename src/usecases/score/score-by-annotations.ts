import type { Db } from '../../postgres/database.ts';
import { readAnnotationsOfTrees } from '../../projections/annotations/read-annotations.ts';
import type { ScorableStep } from '../../projections/rewards/read-scorable.ts';

const NAME = 'annotation@';

/** Returns the label that a scorer reads, `annotation@LABEL`; null of any other scorer. */
export function labelOf(scorer: string): string | null {
  return scorer.startsWith(NAME) && scorer.length > NAME.length ? scorer.slice(NAME.length) : null;
}

/**
 * Returns what the annotations of a label say of the rollouts of a tree: the mean of their scores on the rollout and on its path,
 * 1 where none has a score, null for a rollout without such an annotation.
 */
export async function valuesOf(
  db: Db,
  treeId: string,
  label: string,
): Promise<(rolloutId: string, path: readonly ScorableStep[]) => number | null> {
  const said = (await readAnnotationsOfTrees(db, [treeId])).filter((annotation) => annotation.label === label);
  return (rolloutId, path) => {
    const onPath = new Set(path.map(({ stepId }) => stepId));
    const its = said.filter((each) => each.rolloutId === rolloutId || (each.stepId !== null && onPath.has(each.stepId)));
    if (its.length === 0) return null;
    const scores = its.flatMap(({ score }) => (score === null ? [] : [score]));
    return scores.length === 0 ? 1 : scores.reduce((sum, score) => sum + score, 0) / scores.length;
  };
}
