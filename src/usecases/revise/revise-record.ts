import type { Db } from '../../postgres/database.ts';
import { readJudgements } from '../../projections/revisions/read-judgements.ts';
import { readRevisions } from '../../projections/revisions/read-revisions.ts';
import { answerOf } from './revise-verdicts.ts';
import type { RecordedRevisions, RevisionOutcome } from './revised-tree.ts';

/** Reads what was mined from a tree before. The read models must have caught up with the log first, or it would be done again. */
export async function readRecordedRevisions(db: Db, treeId: string): Promise<RecordedRevisions> {
  const judgements = await readJudgements(db, [treeId]);
  const revisions = await readRevisions(db, [treeId]);
  return {
    answers: new Map(judgements.map((row) => [row.id, answerOf(row)])),
    outcomes: new Map(revisions.map((row) => [row.id, outcomeOf(row.state, row.reason)])),
  };
}

function outcomeOf(state: 'composed' | 'verified' | 'rejected', reason: string | null): RevisionOutcome {
  if (state !== 'rejected') return state;
  if (reason === 'diverged' || reason === 'impossible' || reason === 'below' || reason === 'malformed') return reason;
  throw new RangeError(`a revision was rejected for ${JSON.stringify(reason)}, which is none of the reasons of the schema`);
}
