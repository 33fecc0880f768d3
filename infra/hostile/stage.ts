import { TOPICS } from '../../src/events/catalogue.ts';
import type { Offsets } from '../../src/log/event-log.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { environmentOf } from '../../src/testing/crashing-run.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { appendRecorded, type RecordedBatches, recordBatches } from '../../src/testing/record-batches.ts';
import { type ChildProcess, startProcess } from '../../src/testing/worker-process.ts';
import { type Inside, startInside } from './inside-process.ts';
import { type Answered, request } from './request.ts';
import { Broken } from './target.ts';

export type Process = 'api' | 'policy' | 'projector' | 'inside';

/** A platform whose servers are processes of their own, with a little on record. */
export interface Stage {
  readonly platform: Platform & { readonly home: string };
  readonly url: Readonly<Record<'api' | 'policy', string>>;
  /** The process of the targets that are functions. @throws Error before it was revived for the first time. */
  readonly inside: () => Inside;
  readonly recorded: RecordedBatches & { readonly policyId: string; readonly builder: EventBuilder };
  /** The process ids as they are now; one that ended by itself has none. */
  pid(process: Process): number | undefined;
  stderr(process: Process): string;
  /**
   * Counts the records of the log, but the good events of the stage, and those of the topic `training`: the lease service records
   * them behind its answers.
   */
  records(): Promise<number>;
  /** Sends one good event and a good query; returns how long they took together, ms. @throws Broken when one is refused. */
  good(): Promise<number>;
  /** Starts the process of the targets that are functions, where there is none or it was ended. */
  revive(): Promise<void>;
  close(): Promise<void>;
}

const CLOSE_MS = 15_000; // one that hangs does not hear that it is to end

/**
 * Starts the servers on a platform and records two batches to be leased. The process of the targets that are functions loads
 * sources, which takes longer than all the others: `left` starts it when it is revived.
 */
export async function openStage(
  platform: Platform & { readonly home: string },
  { inside: starting = 'started' }: { readonly inside?: 'started' | 'left' } = {},
): Promise<Stage> {
  const env = environmentOf(platform);
  const policyId = 'hostile';
  const builder = new EventBuilder('stage');
  const recorded = recordBatches(builder, { policyId, batches: 3 });
  await appendRecorded(platform.log, builder.events);
  const children: Readonly<Record<Exclude<Process, 'inside'>, ChildProcess>> = {
    api: startProcess('workers/api.ts', [], env),
    policy: startProcess('workers/policy.ts', ['random'], env),
    projector: startProcess('workers/project.ts', [], env),
  };
  const ended = new Set<Process>();
  for (const name of ['api', 'policy', 'projector'] as const) void children[name].ended.then(() => ended.add(name));
  const serving = async (name: 'api' | 'policy') =>
    (await children[name].saying(/"serving".*"url":"(http:[^"]*?)(?:\/v1)?"/))[1] ?? '';
  const [api, policy, first] = await Promise.all([
    ...([serving('api'), serving('policy')] as const),
    starting === 'started' ? startInside(env) : undefined,
    children.projector.saying(/"projecting"/),
  ]);
  let inside = first;
  const metric = builder.events.find(({ type }) => type === 'RunStarted');
  if (!metric) throw new Error('batches are recorded with a run');
  let [sent, taken] = [0, 0];

  return {
    platform,
    url: { api, policy },
    inside: () => {
      if (inside === undefined) throw new Error('the process that is tried from inside was not started');
      return inside;
    },
    recorded: { ...recorded, policyId, builder },
    pid: (name) =>
      name === 'inside' ? (inside?.alive() ? inside.pid : undefined) : ended.has(name) ? undefined : children[name].pid,
    stderr: (name) => (name === 'inside' ? (inside?.stderr() ?? '') : children[name].stderr()),
    records: async () => countOf(await platform.log.ends(TOPICS.filter((topic) => topic !== 'training'))) - taken,
    async good() {
      const began = performance.now();
      const event = builder.record(
        'MetricRecorded',
        { runId: recorded.runId, metric: 'good', value: sent, at: sent++ },
        recorded.runId,
      );
      const put = await request(`${api}/v1/events`, { method: 'POST', body: JSON.stringify(event), type: 'application/json' });
      refuseUnless(put, put.status === 200 && put.json?.appended === 1, 'a good event');
      taken++;
      const query = JSON.stringify({ query: '{ runs(first: 2) { edges { node { id name } } } }' });
      const got = await request(`${api}/graphql`, { method: 'POST', body: query, type: 'application/json' });
      refuseUnless(got, got.status === 200 && got.json?.errors === undefined, 'a good query');
      return performance.now() - began;
    },
    async revive() {
      if (!inside?.alive()) inside = await startInside(env);
    },
    async close() {
      await inside?.close();
      for (const child of Object.values(children)) child.kill('SIGTERM');
      const timer = setTimeout(() => {
        for (const child of Object.values(children)) child.kill('SIGKILL');
      }, CLOSE_MS);
      await Promise.all(Object.values(children).map((child) => child.ended));
      clearTimeout(timer);
    },
  };
}

/** Counts the records below the ends of partitions. */
export function countOf(ends: Offsets): number {
  return [...ends.values()].flatMap((partitions) => [...partitions.values()]).reduce((sum, end) => sum + end, 0);
}

function refuseUnless({ status, text }: Answered, fine: boolean, what: string): void {
  if (!fine) throw new Broken(`${what} was answered ${status}: ${text.slice(0, 300)}`);
}
