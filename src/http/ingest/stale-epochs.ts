import type { Db } from '../../postgres/database.ts';
import { may, owns, type Principal } from '../../postgres/principal.ts';
import { readHeldEpochs } from '../../postgres/run-holds.ts';
import { readOwners } from '../../projections/owners/read-owners.ts';
import type { Problem } from '../reply.ts';
import type { SentEvent } from './check-events.ts';

/**
 * Finds events of producers that were replaced: an event that names an epoch names that of the run in `correlationId`, which
 * whoever goes on with the run has raised. A key writes by the epochs of runs that are its own.
 */
export async function staleEpochs(events: readonly SentEvent[], principal: Principal, db: Db): Promise<readonly Problem[]> {
  const named = events.filter(({ event }) => event.epoch !== undefined);
  if (named.length === 0) return [];
  const runs = [...new Set(named.map(({ event }) => event.correlationId))];
  const held = await readHeldEpochs(db, runs);
  const owners = principal.keyId === null ? null : await readOwners(db, 'runs', runs);
  const isForeign = (runId: string) => {
    const owner = owners?.get(runId);
    if (owners === null) return false;
    return owner?.project !== principal.project || (!owns(principal, owner.principal) && !may(principal, 'admin'));
  };
  return named.flatMap(({ index, event }): Problem[] => {
    const { id, epoch = 0, correlationId } = event;
    const now = isForeign(correlationId) ? undefined : held.get(correlationId);
    if (now === epoch) return [];
    const about = { index, id, path: 'epoch' };
    if (now === undefined || epoch > now)
      return [{ ...about, message: `nobody was given epoch ${epoch} of run ${correlationId}`, remedy: takeIt(correlationId) }];
    return [
      {
        ...about,
        message: `epoch ${epoch} of run ${correlationId} is over: another producer took the run at epoch ${now}`,
        remedy: `let this producer end; where it is the one to go on, ${takeIt(correlationId)}`,
      },
    ];
  });
}

function takeIt(runId: string): string {
  return `take the run by POST /v1/runs/${runId}/epoch and send the epoch of the answer`;
}
