import type { Appender, Draft } from '../../append/appender.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import type { Topic } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import { formatPosition, positionAfter } from '../../log/position.ts';
import type { Db } from '../../postgres/database.ts';
import type { Principal } from '../../postgres/principal.ts';
import { countEvents, type EventCounts } from '../../projections/journal/read-bodies.ts';
import { readEventsOfTypes } from '../../projections/journal/read-events-of-types.ts';
import { readOwnTrees } from '../../projections/owners/read-owners.ts';
import type { Cache } from '../../runtime/cache.ts';
import type { Exclusive } from '../../runtime/exclusive.ts';
import { CaptureRefused, notAppended } from './capture-errors.ts';
import type { CapturedRollout, RolloutOutcome } from './captured-rollout.ts';
import { checkNames, type NamedPlace, runIdOf, treeIdOf } from './place.ts';

/** A task of a run, or the run with all its tasks. */
export type CloseResult = Pick<NamedPlace, 'run'> & { readonly task: string | null };

/** How a task or a run ended. */
export interface CloseOptions {
  readonly outcome: 'completed' | 'failed' | 'cancelled';
  readonly message: string;
  /** What rollouts without an end are recorded as. */
  readonly rollouts: RolloutOutcome;
}

interface ClosingWorld {
  readonly db: Db;
  readonly exclusive: Exclusive;
  /** Runs and trees that take no further rollout of this process. */
  readonly closed: Cache<'closed'>;
  readonly folded: (topics: readonly Topic[]) => Promise<void>;
  readonly projectOf: (run: string, principal: Principal) => Promise<string>;
  readonly using: <T>(place: NamedPlace, principal: Principal, work: (rollout: CapturedRollout) => Promise<T>) => Promise<T>;
  readonly appenderOf: (principal: Principal['principal'], project: string) => Appender;
}

/**
 * Makes what closes captured tasks and runs: rollouts without an end get one, then their trees are closed, then the run is.
 * Killed in between, it is done again and goes on; what was closed otherwise is a conflict.
 */
export function createClosing(world: ClosingWorld) {
  const { db, exclusive, closed, folded, projectOf, appenderOf } = world;

  return async (named: CloseResult, principal: Principal, options: CloseOptions): Promise<string> => {
    checkNames(named.task === null ? { run: named.run } : { run: named.run, task: named.task });
    const runId = runIdOf(named.run, principal.project);
    return exclusive.run([`close ${runId}`], async () => {
      await folded(['runs', 'trees']);
      const project = await projectOf(named.run, principal);
      const [began] = await readEventsOfTypes(db, runId, ['RunStarted']);
      if (!began) throw new CaptureRefused('unknown', `there is no run ${named.run}`, 'its first call opens it');
      const treeIds = await treesOf(named, runId);
      const over = named.task === null ? runId : (treeIds[0] ?? '');
      await exclusive.run([runId], async () => closed.set(over, 'closed')); // whoever opens a rollout has opened it, or is refused
      try {
        await folded(['runs', 'trees']);
        const trees = named.task === null ? await readOwnTrees(db, runId) : treeIds;
        const appender = appenderOf(principal.principal, project);
        const drafts = await closingDrafts({ ...named, runId, trees }, principal, options);
        if (drafts.length === 0) return '';
        const records = await appender.append(drafts).catch((cause: unknown) => {
          throw notAppended(cause);
        });
        return formatPosition(positionAfter(records));
      } catch (error) {
        closed.delete(over);
        throw error;
      }
    });
  };

  async function treesOf({ run, task }: CloseResult, runId: string): Promise<readonly string[]> {
    if (task === null) return [];
    const trees = await readOwnTrees(db, runId);
    const treeId = trees.includes(task) ? task : treeIdOf(runId, task);
    if (trees.includes(treeId)) return [treeId];
    throw new CaptureRefused('unknown', `the run ${run} has no task ${task}`, 'its first call opens it');
  }

  async function closingDrafts(
    { run, task, runId, trees }: CloseResult & { readonly runId: string; readonly trees: readonly string[] },
    principal: Principal,
    options: CloseOptions,
  ): Promise<readonly Draft[]> {
    for (const treeId of trees) await endRollouts({ run, treeId }, principal, options);
    await folded(['trees']);
    const counts = await countEvents(db, trees);
    const of = (treeId: string, type: keyof EventCounts) => counts.get(treeId)?.[type] ?? 0;
    const drafts: Draft[] = [];
    for (const treeId of trees) {
      const [before] = of(treeId, 'TreeClosed') > 0 ? await readEventsOfTypes(db, treeId, ['TreeClosed']) : [];
      if (before && task !== null && before.data.reason !== options.outcome) throw closedAs('task', task, before.data.reason);
      if (before) continue;
      const data = { treeId, reason: options.outcome, rollouts: of(treeId, 'RolloutStarted') };
      drafts.push({ type: 'TreeClosed', id: derivedId('TreeClosed', treeId), correlationId: runId, data });
    }
    if (task !== null) return drafts;
    const [finished] = await readEventsOfTypes(db, runId, ['RunFinished']);
    if (finished && finished.data.outcome !== options.outcome) throw closedAs('run', run, finished.data.outcome);
    if (finished) return drafts;
    const sum = (type: keyof EventCounts) => trees.reduce((total, treeId) => total + of(treeId, type), 0);
    const totals = { trees: trees.length, rollouts: sum('RolloutStarted'), steps: sum('StepTaken') };
    const data = { runId, outcome: options.outcome, message: cutText(options.message, 10_000), ...totals };
    return [...drafts, { type: 'RunFinished', id: derivedId('RunFinished', runId), correlationId: runId, data }];
  }

  async function endRollouts(
    { run, treeId }: { readonly run: string; readonly treeId: string },
    principal: Principal,
    { rollouts: outcome, message }: CloseOptions,
  ): Promise<void> {
    const events = await readEventsOfTypes(db, treeId, ['RolloutStarted', 'RolloutFinished']);
    const ended = new Set(events.flatMap((event) => (event.type === 'RolloutFinished' ? [event.data.rolloutId] : [])));
    for (const event of events) {
      if (event.type !== 'RolloutStarted' || ended.has(event.data.rolloutId)) continue;
      const named = { run, task: treeId, rollout: event.data.rolloutId };
      const end = { success: null, reason: message, observation: '', now: Date.now() };
      await world.using(named, principal, async (rollout) => rollout.state.ended ?? (await rollout.end(outcome, end)));
    }
  }
}

function closedAs(what: 'run' | 'task', name: string, outcome: string): CaptureRefused {
  return new CaptureRefused('conflict', `the ${what} ${name} has ended as ${outcome}`, 'an end that is recorded stays as it is');
}
