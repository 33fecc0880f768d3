import type { Appender } from '../../append/appender.ts';
import { isLostBlob } from '../../blobs/blob-store.ts';
import { measureRevisions } from '../../domain/revision/compose-revisions.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import type { Judge } from '../../policies/judge.ts';
import type { Db } from '../../postgres/database.ts';
import { forgottenAmong } from '../../postgres/stream-keys.ts';
import {
  countClosedTrees,
  readSearchedTree,
  readTreeIds,
  type SearchedTree,
} from '../../projections/revisions/read-searched-trees.ts';
import { forEachOf } from '../collect/all-or-stop.ts';
import { RunRefused } from '../collect/hold-run.ts';
import { AnotherWorld } from '../collect/refuse-unfit.ts';
import type { ReadReply } from './revise-check.ts';
import { reviseTree } from './revise-tree.ts';
import { openVerdicts } from './revise-verdicts.ts';
import { type RevisedTree, type RevisePlan, readRecordedRevisions } from './revised-tree.ts';
import { Slots } from './shared-episodes.ts';

export interface ReviseOptions {
  readonly db: Db;
  readonly runId: string;
  /** How many trees the run was to collect; null where its plan is not known: then it is those that were opened. */
  readonly plannedTrees: number | null;
  readonly plan: RevisePlan;
  /** Null for direct revision: nobody is asked and the whole bad trajectory is kept. */
  readonly judge: Judge | null;
  /** The environment the trees were grown in; null when neither judge nor checks need it. */
  readonly kind: EnvironmentKind | null;
  /** Reads a reply by the rules of the run's prompts; null where the environment reads it. */
  readonly read: ReadReply | null;
  /** Whether every revision is executed from its start, or left as it was composed. */
  readonly checking: 'execute' | 'none';
  readonly appender: Appender;
  /** Reads text that lies in the blob store. */
  readonly resolve: (sha256: string) => Promise<string>;
  /** Trees mined at a time, and revisions executed at a time, of whatever trees. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
  readonly progress?: (counts: ReviseCounts) => void;
  /** Called for each tree that was mined, now or by an earlier process. */
  readonly onTree?: (tree: RevisedTree) => void;
}

/** What a run's trees gave, whether now or by an earlier process; `asked` alone counts what this one asked the judge. */
export interface ReviseCounts {
  readonly trees: number;
  readonly plannedTrees: number;
  /**
   * Planned trees that were never opened, or to which something may still come: of those that were opened, what ended in them is
   * mined.
   */
  readonly unfinished: number;
  /** Trees whose payload is forgotten: of them nothing is mined. */
  readonly forgotten: number;
  /** Trees that were left out, since a text of theirs is lost. */
  readonly unreadable: number;
  /** Ended rollouts that nobody rewarded, which are neither good nor bad. */
  readonly unrewarded: number;
  readonly good: number;
  readonly bad: number;
  readonly pairs: number;
  readonly judged: number;
  readonly asked: number;
  readonly verdicts: Readonly<Record<'good' | 'bad' | 'uncertain' | 'unparsed', number>>;
  readonly revisions: number;
  /** Pairs that became no revision, by reason. */
  readonly dropped: Readonly<Record<'not-judged' | 'before-branch' | 'unparsed' | 'no-turn' | 'duplicate', number>>;
  readonly verified: number;
  readonly rejected: Readonly<Record<'diverged' | 'impossible' | 'below' | 'malformed', number>>;
  /** The mean number of steps judged for a revision, the rejected one included; null without a judged revision. */
  readonly meanRevisionLength: number | null;
}

/** Who is named where nobody judges. */
export const DIRECT = { name: 'direct', revision: '1' };

/**
 * Mines revision trajectories from every tree of a run (specification of Agent-R, §2, §6 items 10–14): pairs, verdicts, splices,
 * each splice executed. The read models must hold the whole log. Killed anywhere and called again, it ends with the same
 * judgements and revisions, nothing twice; another alpha, judge or seed adds its own. An aborted signal ends it after the current
 * work.
 * @throws RunRefused where the payload of all trees is forgotten, AnotherWorld, PolicyError of a judge that cannot
 * be asked, EnvironmentError.
 */
export async function reviseRun(options: ReviseOptions): Promise<ReviseCounts> {
  const { db, runId, judge, kind, appender } = options;
  const opened = await readTreeIds(db, runId);
  const forgotten = await forgottenAmong(db, opened);
  const treeIds = opened.filter((treeId) => !forgotten.has(treeId));
  if (opened.length > 0 && treeIds.length === 0)
    throw new RunRefused(`the payload of run ${runId} is forgotten: nothing can be mined of it`);
  const verdicts = judge && openVerdicts(judge, db, appender);
  const slots = new Slots(options.concurrency);
  const done: RevisedTree[] = [];
  let unreadable = 0;
  let unrewarded = 0;
  const plannedTrees = Math.max(options.plannedTrees ?? 0, opened.length);
  const unfinished = plannedTrees - (await countClosedTrees(db, runId));
  const counts = () =>
    count(done, {
      ...{ plannedTrees, unfinished, unreadable, unrewarded },
      forgotten: forgotten.size,
      asked: verdicts?.asked() ?? 0,
    });

  await forEachOf(treeIds, options, async (treeId, signal) => {
    const tree = await readSearchedTree(db, treeId, options.resolve).catch((error: unknown) => {
      if (isLostBlob(error)) return 'unreadable' as const;
      throw error;
    });
    if (tree === 'unreadable') {
      unreadable += 1;
      return;
    }
    if (!tree) throw new RangeError(`there is no tree ${treeId}`);
    if (kind) refuseAnotherWorld(tree, kind);
    const recorded = await readRecordedRevisions(db, treeId);
    const { plan, checking } = options;
    const revised = await reviseTree({
      tree,
      plan,
      judge: judge ?? DIRECT,
      verdicts,
      kind,
      read: options.read,
      checking,
      recorded,
      appender,
      slots,
      signal,
    });
    if (!revised) return; // the signal was aborted on the way
    done.push(revised);
    unrewarded += tree.unrewarded;
    options.onTree?.(revised);
    options.progress?.(counts());
  });
  return counts();
}

/** @throws AnotherWorld when a tree was not grown in this environment. */
export function refuseAnotherWorld(tree: SearchedTree, kind: EnvironmentKind): void {
  if (tree.environment === kind.name && tree.serverFingerprint === kind.fingerprint) return;
  throw new AnotherWorld(
    `tree ${tree.treeId} was grown in ${tree.environment} ${tree.serverFingerprint.slice(0, 16)}, not in ${kind.name} ${kind.fingerprint.slice(0, 16)}; name the environment it comes from, or do without it: a model as judge and no verification`,
  );
}

function count(
  trees: readonly RevisedTree[],
  left: Pick<ReviseCounts, 'plannedTrees' | 'unfinished' | 'forgotten' | 'unreadable' | 'unrewarded' | 'asked'>,
): ReviseCounts {
  const verdicts = { good: 0, bad: 0, uncertain: 0, unparsed: 0 };
  const dropped = { 'not-judged': 0, 'before-branch': 0, unparsed: 0, 'no-turn': 0, duplicate: 0 };
  const outcomes = { composed: 0, verified: 0, diverged: 0, impossible: 0, below: 0, malformed: 0 };
  for (const tree of trees) {
    for (const verdict of tree.verdicts) verdicts[verdict]++;
    for (const { reason } of tree.composed.dropped) dropped[reason]++;
    for (const outcome of tree.outcomes) outcomes[outcome]++;
  }
  const sum = (of: (tree: RevisedTree) => number) => trees.reduce((total, tree) => total + of(tree), 0);
  const { diverged, impossible, below, malformed } = outcomes;
  return {
    trees: trees.length,
    ...left,
    good: sum(({ pairing }) => pairing.good.length),
    bad: sum(({ pairing }) => pairing.bad.length),
    pairs: sum(({ pairing }) => pairing.pairs.length),
    judged: sum((tree) => tree.verdicts.length),
    verdicts,
    revisions: sum(({ composed }) => composed.revisions.length),
    dropped,
    verified: outcomes.verified,
    rejected: { diverged, impossible, below, malformed },
    meanRevisionLength: measureRevisions(trees.flatMap(({ composed }) => composed.revisions)).meanRevisionLength,
  };
}
