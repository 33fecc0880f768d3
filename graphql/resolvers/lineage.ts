import type { Db } from '../../src/postgres/database.ts';
import { AmbiguousId } from '../../src/projections/ambiguous-id.ts';
import { readBodiesAt } from '../../src/projections/journal/read-bodies.ts';
import { RecallRefused, type RecallRequest, seedOf } from '../../src/projections/lineage/recall-seeds.ts';
import { readTouched } from '../../src/projections/lineage/recall-touched.ts';
import type { Touched as TouchedModel } from '../../src/projections/lineage/touched.ts';
import { NotOnRecord, type Trace, traceRecord } from '../../src/usecases/lineage/trace-record.ts';
import { argumentId, optionalId } from '../argument-id.ts';
import { refusal } from '../errors.ts';
import type { RecallInput, TouchedResolvers, TraceEventResolvers } from '../generated/types.ts';
import { mapped } from '../loaders/batch.ts';
import { loadedBy } from '../loaders/loaded-by.ts';

const bodies = loadedBy((db) => mapped((places) => readBodiesAt(db, places)));

export const TraceEvent: TraceEventResolvers = {
  envelope: async ({ place }, _, context) => {
    const body = await bodies(context).load(place);
    if (body === null) throw new Error(`the journal holds no record at ${place}: it named the event`);
    return JSON.parse(body);
  },
};

export const Touched: TouchedResolvers = {
  runsTotal: ({ runs }) => runs.length,
  runs: ({ runs }, { first }) => cut(runs, first),
  datasetsTotal: ({ datasets }) => datasets.length,
  datasets: ({ datasets }, { first }) => cut(datasets, first),
  batchesTotal: ({ batches }) => batches.length,
  batches: ({ batches }, { first }) => cut(batches, first),
  versionsTotal: ({ versions }) => versions.length,
  versions: ({ versions }, { first }) => cut(versions, first),
  evaluationsTotal: ({ evaluations }) => evaluations.length,
  evaluations: ({ evaluations }, { first }) => cut(evaluations, first),
};

/** Traces an id in either case; null when nothing on record has it. */
export async function trace(db: Db, id: string, treeId: string | null): Promise<Trace | null> {
  try {
    return await traceRecord(db, /^([0-9a-f-]{36}|[0-9a-f]{64})$/i.test(id) ? id.toLowerCase() : id, treeId);
  } catch (error) {
    if (error instanceof NotOnRecord) return null;
    throw error instanceof AmbiguousId ? refusal('BAD_USER_INPUT', error.message) : error;
  }
}

/** Lists what something of the record went into. @throws BAD_USER_INPUT unless one thing is named that the record knows. */
export async function recall(db: Db, what: RecallInput): Promise<TouchedModel> {
  try {
    return await readTouched(db, await seedOf(db, askedOf(what)));
  } catch (error) {
    if (error instanceof RecallRefused || error instanceof AmbiguousId)
      throw refusal('BAD_USER_INPUT', error.message, { argument: 'what' });
    throw error;
  }
}

function askedOf({ scorer, trajectory, step, tree, task, run, label }: RecallInput): RecallRequest {
  const treeId = optionalId('what.tree', tree);
  const of = treeId === undefined ? {} : { treeId };
  const given: RecallRequest[] = [];
  if (typeof scorer === 'string') {
    const [, name = scorer, revision = null] = /^(.+)@([^@]*)$/s.exec(scorer) ?? [];
    given.push({ kind: 'scorer', name, revision });
  }
  if (typeof trajectory === 'string')
    given.push({ kind: 'trajectory', rolloutId: argumentId('what.trajectory', trajectory), ...of });
  if (typeof step === 'string') given.push({ kind: 'step', stepId: argumentId('what.step', step), ...of });
  if (typeof task === 'string') given.push({ kind: 'task', taskId: argumentId('what.task', task) });
  if (typeof run === 'string') given.push({ kind: 'run', runId: argumentId('what.run', run) });
  if (typeof label === 'string') given.push({ kind: 'label', label });
  const [asked, ...more] = given;
  if (!asked || more.length > 0)
    throw refusal('BAD_USER_INPUT', 'what must name exactly one of scorer, trajectory, step, task, run and label', {
      argument: 'what',
    });
  return asked;
}

const MOST = 500; // as in every list

function cut<Item>(items: readonly Item[], first: number): readonly Item[] {
  if (first >= 0 && first <= MOST) return items.slice(0, first);
  throw refusal('BAD_USER_INPUT', `first must be from 0 to ${MOST}, not ${first}`, { argument: 'first' });
}
