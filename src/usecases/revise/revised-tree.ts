import type { Appender } from '../../append/appender.ts';
import type { Composed, ComposeOptions } from '../../domain/revision/compose-revisions.ts';
import type { UnparsedRule } from '../../domain/revision/find-transition.ts';
import type { Pairing } from '../../domain/revision/pair-paths.ts';
import type { Thresholds } from '../../domain/revision/thresholds.ts';
import type { Verdict } from '../../domain/revision/verdict.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import type { Db } from '../../postgres/database.ts';
import { readJudgements } from '../../projections/revisions/read-judgements.ts';
import { readRevisions } from '../../projections/revisions/read-revisions.ts';
import type { SearchedTree } from '../../projections/revisions/read-searched-trees.ts';
import type { ReadReply } from './revise-check.ts';
import { answerOf, type JudgeAnswer, type Verdicts } from './revise-verdicts.ts';
import type { Slots } from './shared-episodes.ts';

/** What the record holds of the mining of one tree: answers by judgement id, and how far each revision got, by its id. */
interface RecordedRevisions {
  readonly answers: ReadonlyMap<string, JudgeAnswer>;
  readonly outcomes: ReadonlyMap<string, RevisionOutcome>;
}

/** What decides which revisions come out of a tree, besides the judge. */
export interface RevisePlan extends Thresholds, Pick<ComposeOptions, 'signal' | 'beforeBranch'> {
  /** Draws the reflections. */
  readonly seed: number;
  readonly unparsed: UnparsedRule;
}

export interface ReviseTree {
  readonly tree: SearchedTree;
  readonly plan: RevisePlan;
  /** The judge as it is named in the record; `direct` when nobody is asked. */
  readonly judge: { readonly name: string; readonly revision: string };
  /** Null when nobody is asked: the whole bad trajectory is kept (§2.5). */
  readonly verdicts: Verdicts | null;
  /** Null when it is not there: then nothing is planned in it. */
  readonly kind: EnvironmentKind | null;
  /** Reads a reply by the rules of the run's prompts; null where the environment reads it. */
  readonly read: ReadReply | null;
  /** Whether every revision is executed. It needs the environment. */
  readonly checking: 'execute' | 'none';
  readonly recorded: RecordedRevisions;
  readonly appender: Appender;
  /** Who executes a revision takes a turn: all trees of a run share them. */
  readonly slots: Slots;
  readonly signal: AbortSignal;
}

export type RevisionOutcome = 'composed' | 'verified' | 'diverged' | 'impossible' | 'below' | 'malformed';

/** What was mined from one tree, whether now or by an earlier process. */
export interface RevisedTree {
  readonly pairing: Pairing;
  readonly verdicts: readonly Verdict[];
  readonly composed: Composed;
  readonly outcomes: readonly RevisionOutcome[];
  /** The revisions by `keyInTree`, in the order of `outcomes`. */
  readonly revisionKeys: readonly string[];
}

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
