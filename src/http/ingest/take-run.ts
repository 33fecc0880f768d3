import { z } from 'zod';
import type { BlobStore } from '../../blobs/blob-store.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { id } from '../../events/schemas/values.ts';
import type { EventLog } from '../../log/event-log.ts';
import { formatPosition } from '../../log/position.ts';
import type { Db } from '../../postgres/database.ts';
import { may, owns, type Principal } from '../../postgres/principal.ts';
import { giveRunBack, takeRun } from '../../postgres/run-holds.ts';
import { readRecordedEpoch } from '../../projections/epochs/mark-superseded.ts';
import { readOwners } from '../../projections/owners/read-owners.ts';
import { readTreesOfRun } from '../../projections/step-tree/read-trees-of-run.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { hasEnded, inWords } from '../../runtime/this-process.ts';
import { DEAD_AFTER_MS, openFences } from '../../usecases/collect/hold-run.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { refusals } from '../openapi.ts';
import { json, type Reply, refuse } from '../reply.ts';

interface TakeRunWorld {
  readonly db: Db;
  readonly log: EventLog;
  readonly blobs: BlobStore;
  readonly catchUpMs?: number;
}

const CATCH_UP_MS = 10_000;

const taken = z.object({
  runId: id,
  epoch: z.int().describe('What events of this producer name as `epoch` from now on.'),
  position: z.string().describe('Next offsets behind which earlier producers have no effect, as `runs.0:3`; empty at the first.'),
});

/**
 * Makes the endpoint by which a producer takes a run: what producers before it send afterwards under their epochs is refused, or
 * has no effect where it is in the log already. It answers when the read models hold all that they will ever have said.
 */
export function takeRunEndpoint(world: TakeRunWorld): Endpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/runs/{id}/epoch',
    needs: ['ingest'],
    summary: 'Takes a run for one producer: events of those before it are refused from now on.',
    description:
      'Raises the epoch of a run that is on record. A producer that names the epoch in its events (`epoch`, with the run as `correlationId`) is the only one to add to the run; a producer that goes on with the run takes it again, and reads the record behind the position of the answer. Events without an epoch are never fenced.',
    params: z.object({ id: id.describe('Id of the run.') }),
    answers: {
      200: { description: 'The run is taken.', content: { 'application/json': taken } },
      ...refusals({
        403: 'The run belongs to another key.',
        404: 'No such run is on record.',
        409: 'A collector of the platform holds the run.',
        503: 'The projections are too far behind to say what the producers before it appended: ask again.',
      }),
    },
    handle: ({ params, principal }) => take(params.id, principal, world),
  });
}

async function take(
  runId: string,
  principal: Principal,
  { db, log, blobs, catchUpMs = CATCH_UP_MS }: TakeRunWorld,
): Promise<Reply> {
  await waitUntilProjected(db, await log.ends(TOPICS), { timeoutMs: catchUpMs });
  const owner = (await readOwners(db, 'runs', [runId])).get(runId);
  if (!owner || (principal.keyId !== null && owner.project !== principal.project))
    return refuse(404, `there is no run ${runId}`, 'append its RunStarted first');
  if (principal.keyId !== null && !owns(principal, owner.principal) && !may(principal, 'admin'))
    return refuse(
      403,
      `the run ${runId} belongs to another key`,
      'take it with the key that opened it, or with one of the scope admin',
    );
  const held = await hold(db, runId, principal);
  if (held.kind === 'busy')
    return refuse(
      409,
      `run ${runId} is being collected by another process (${inWords(held.process)})`,
      'stop that process first, or wait until it has not been heard from for 15 s',
    );
  const { epoch } = held;
  const stamp = { principal: principal.principal, project: principal.project };
  const { signal } = new AbortController();
  const fences = openFences({ database: { db }, log, blobs, stamp }, { runId, epoch, signal });
  const behind = await fences.run();
  await fences.trees((await readTreesOfRun(db, runId)).map(({ treeId }) => treeId));
  await giveRunBack(db, runId, epoch);
  return json(200, { runId, epoch, position: behind ? formatPosition(behind) : '' });
}

async function hold(db: Db, runId: string, { principal }: Principal): ReturnType<typeof takeRun> {
  const asking = { runId, holder: newId(), process: `a producer over HTTP (${principal})` };
  const options = { deadAfterMs: DEAD_AFTER_MS, above: await readRecordedEpoch(db, runId) };
  const asked = await takeRun(db, asking, options);
  return asked.kind === 'busy' && hasEnded(asked.process) ? takeRun(db, asking, { ...options, ended: asked.epoch }) : asked;
}
