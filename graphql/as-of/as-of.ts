import type { GraphQLResolveInfo } from 'graphql';
import type { Offsets } from '../../src/log/event-log.ts';
import { formatPosition } from '../../src/log/position.ts';
import { countedRows } from '../../src/postgres/counted-rows.ts';
import { AsOfError } from '../../src/projections/as-of/as-of-error.ts';
import type { Moment } from '../../src/projections/as-of/moment.ts';
import type { Snapshot } from '../../src/projections/as-of/snapshots.ts';
import { visibleTo } from '../../src/projections/visible-to.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import { argumentPosition } from '../live/log-end.ts';
import { createLoaders } from '../loaders/create-loaders.ts';
import type { Root } from '../models.ts';
import { requestedEntities } from './requested-entities.ts';

export interface AsOfArguments {
  readonly position?: string | null | undefined;
  readonly time?: Date | null | undefined;
}

/**
 * Lets everything below the field be read as of a position or time. @throws BAD_USER_INPUT, LIMIT_EXCEEDED where too much would
 * be folded.
 */
export async function asOf(args: AsOfArguments, context: Context, info: GraphQLResolveInfo): Promise<Root> {
  if (context.moment !== null)
    throw refusal('BAD_USER_INPUT', `this is read as of ${context.moment}; ask asOf next to it, not within it`, {
      argument: 'position',
    });
  const moment = momentOf(args);
  const snapshot = await context.turn.whileAway(() => take(moment, context, info));
  context.moments.open(info.path, contextAt(context, snapshot), snapshot.release);
  return {};
}

function momentOf({ position, time }: AsOfArguments): Moment {
  if (position != null && time == null) return { kind: 'position', position: argumentPosition('position', position) };
  if (time != null && position == null) return { kind: 'time', time };
  throw refusal('BAD_USER_INPUT', 'asOf takes a position or a time, one of them', { argument: 'position, time' });
}

async function take(moment: Moment, { sources, signal }: Context, info: GraphQLResolveInfo): Promise<Snapshot> {
  try {
    return await sources.snapshots.at(moment, requestedEntities(info), signal);
  } catch (error) {
    if (!(error instanceof AsOfError)) throw error;
    if (error.code === 'too-large') throw refusal('LIMIT_EXCEEDED', error.message, { limit: 'asOf' });
    throw refusal('BAD_USER_INPUT', `position: ${error.message}`, { argument: 'position' });
  }
}

/** The context of now, over other read models and a log that ends there. What one request may spend stays one budget. */
function contextAt(context: Context, snapshot: Snapshot): Context {
  const { sources, texts, loaders, limits, principal } = context;
  const { position } = snapshot;
  const db = visibleTo(countedRows(snapshot.db, limits.countRows), principal);
  const log = {
    ends: async (topics: readonly string[]): Promise<Offsets> =>
      new Map([...position].filter(([topic]) => topics.includes(topic))),
  };
  return {
    ...context,
    sources: { ...sources, db, log },
    loaders: { ...createLoaders(db, texts, sources.blobs, loaders), segmentBudget: loaders.segmentBudget },
    moment: formatPosition(position) || 'the beginning',
  };
}
