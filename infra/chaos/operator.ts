import { setTimeout as delay } from 'node:timers/promises';
import { catalogue } from '../../src/events/catalogue.ts';
import { encode } from '../../src/events/codec.ts';
import type { Envelope } from '../../src/events/envelope.ts';
import { LogError } from '../../src/log/event-log.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { CursorsDiffer } from '../../src/projections/rebuild/at-equal-cursors.ts';
import { RebuildLost } from '../../src/projections/rebuild/build.ts';
import { RebuildUnderWay } from '../../src/projections/rebuild/hold-rebuild.ts';
import { projections } from '../../src/projections/registry.ts';
import { isTransientFault } from '../../src/projections/transient-fault.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { rebuildProjection, retireVersions } from '../../src/usecases/rebuild/rebuild-projection.ts';
import { requeueEvents } from '../../src/usecases/requeue/requeue-events.ts';
import type { Check } from './check-record.ts';

/**
 * An operator during a training: events come before their parents, are requeued from quarantine, and read models are rebuilt, one
 * round after the other.
 */
export interface Operator {
  /** Ends it behind the round in progress, requeues what still waits, and checks the result. */
  close(): Promise<Check>;
}

const REBUILT = ['step-tree', 'rewards', 'journal'];
const PAUSE_MS = 500;
const NO_DATABASE = '3D000'; // for the moment in which an older copy takes its place
const LAST_TRIES = 20;
const ROUND_MS = 20_000; // a server that is away is waited for by the next round

/** Begins the rounds. @param name two of one name append the same events. */
export function startOperator(platform: Platform, name: string): Operator {
  const builder = new EventBuilder(name);
  const tree = builder.tree(builder.run());
  const rollout = builder.rollout(tree);
  const recorded: Envelope[] = [];
  const [differing, faults]: [string[], string[]] = [[], []];
  const count = { rounds: 0, requeued: 0, rebuilt: 0, putOff: 0 };
  const over = new AbortController();

  /** Numbers events in the order of the log, so that what comes early leaves no hole in the sequence of its producer. */
  function nextEvents(): readonly Envelope[] {
    if (recorded.length === 0) recorded.push(...numbered(builder.events, 0));
    const from = builder.events.length;
    const parent = builder.step(tree, rollout, tree.rootStepId, 1, { stepId: builder.id('parent', count.rounds) });
    builder.step(tree, rollout, parent, 2, { stepId: builder.id('child', count.rounds) });
    const [before, child] = builder.events.slice(from) as [Envelope, Envelope];
    const next = numbered([child, before], recorded.filter(({ stream }) => stream === tree.treeId).length);
    const first = count.rounds === 0 ? [...recorded] : [];
    recorded.push(...next);
    return [...first, ...next];
  }

  async function round(): Promise<void> {
    await passing(async () => {
      const events = nextEvents();
      count.rounds++;
      const records = events.map((event) => ({ topic: catalogue[event.type].topic, key: event.stream, value: encode(event) }));
      // Again until it is durable: what was appended without an answer is a repetition then.
      while (faults.length === 0) if (await passing(() => platform.log.append(records))) return;
    });
    await passing(requeue);
    await passing(async () => {
      const projection = projections.find((each) => each.name === REBUILT[count.rounds % REBUILT.length]);
      if (!projection) return;
      const options = { signal: AbortSignal.timeout(ROUND_MS), limitMs: ROUND_MS, progress: () => undefined };
      const rebuilt = await rebuildProjection(platform, projection, { ...options, differing: 'refuse' });
      if (rebuilt.kind === 'differs')
        differing.push(`${projection.name}: ${JSON.stringify(rebuilt.comparison.differences.slice(0, 3))}`);
      count.rebuilt++;
      await retireVersions(platform, projection);
    });
  }

  async function requeue(): Promise<void> {
    const options = { place: null, reason: 'the parent is there', clock: Date.now, timeoutMs: ROUND_MS };
    const outcomes = await requeueEvents(platform, { ...options, signal: AbortSignal.timeout(2 * ROUND_MS) });
    count.requeued += outcomes.filter(({ result }) => result.kind === 'requeued').length;
  }

  /** Does what may be put off by a fault of a server. Returns false when it was. */
  async function passing(act: () => Promise<unknown>): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      if (!isPutOff(error)) faults.push(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
      count.putOff++;
      await delay(PAUSE_MS);
      return false;
    }
  }

  const running = (async () => {
    while (!over.signal.aborted) {
      await round();
      await delay(PAUSE_MS);
    }
  })();
  return {
    async close() {
      over.abort();
      await running;
      for (let tries = 0; tries === 0 || ((await waiting()) > 0 && tries < LAST_TRIES); tries++) await passing(requeue);
      const { rows } = await platform.database.pool.query<{ steps: number }>(
        'select count(*)::int as steps from steps where tree_id = $1',
        [tree.treeId],
      );
      const missing = Math.abs((rows[0]?.steps ?? 0) - 1 - 2 * count.rounds);
      return {
        promise: 'what was requeued is folded once, and rebuilds at the same time hold the same',
        broken: missing + differing.length + faults.length,
        detail:
          [...differing, ...faults][0] ??
          `${count.rounds} events before their parents, ${count.requeued} requeues, ${count.rebuilt} rebuilds, ${count.putOff} put off by a fault`,
      };
    },
  };

  async function waiting(): Promise<number> {
    const { rows } = await platform.database.pool.query<{ waiting: number }>(
      'select count(*)::int as waiting from quarantine where requeued_at is null and projection in (select name from projections)',
    );
    return rows[0]?.waiting ?? 0;
  }
}

function numbered(events: readonly Envelope[], from: number): Envelope[] {
  const next = new Map<string, number>();
  return events.map((event) => {
    const sequence = next.get(event.stream) ?? (event.type === 'RunStarted' ? 0 : from);
    next.set(event.stream, sequence + 1);
    return { ...event, sequence };
  });
}

function isPutOff(error: unknown): boolean {
  // Also what the client of a broker that fell calls fatal: the rebuild ends with it, and the next one goes on with what was
  // built.
  if (error instanceof LogError || isTransientFault(error) || error instanceof CursorsDiffer) return true;
  // Two operators rebuild the same: the other has the right, or took it while this one was away from the database.
  if (error instanceof RebuildUnderWay || error instanceof RebuildLost) return true;
  if (typeof error === 'object' && error !== null && 'code' in error && error.code === NO_DATABASE) return true;
  return error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError');
}
