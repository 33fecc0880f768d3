import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import type { Place } from '../place.ts';

/** A release that no record of the log holds: a version before this one made it, in the tables of that time alone. */
export interface UnrecordedRelease extends Place {
  readonly projection: string;
}

/**
 * Lists the releases of live projections that the log does not hold, of one projection or of all, in log order. Not those of
 * records that could not be read: a fold by this program, which can, has them at their first place.
 */
export async function readUnrecordedReleases(db: Db, projection?: string): Promise<readonly UnrecordedRelease[]> {
  const { rows } = await sql<UnrecordedRelease>`
    select projection, topic, partition, "offset" from public.quarantine
    where released_at is not null and released_offset is null and event_id is not null
      and projection in (select name from public.projections)
      and (${projection ?? null}::text is null or projection = ${projection ?? null})
    order by topic, partition, "offset", projection`.execute(db);
  return rows;
}

/** A fold of the log would lack events that the live version has. */
export class ReleasesUnrecorded extends Error {
  override readonly name = 'ReleasesUnrecorded';
  constructor(releases: readonly UnrecordedRelease[]) {
    const [first] = releases;
    const where = first ? `${first.projection} at ${first.topic}.${first.partition}:${first.offset}` : '';
    super(
      `an earlier version made ${releases.length} ${releases.length === 1 ? 'release' : 'releases'} from quarantine, the first of ${where}, and kept that in the database, not in the log: a fold of the log would lack those events; \`espalier quarantine record-releases\` appends them`,
    );
  }
}

/** @throws ReleasesUnrecorded when a fold of the log would lack what the live version of the projection has. */
export async function refuseUnrecordedReleases(db: Db, projection: string): Promise<void> {
  const releases = await readUnrecordedReleases(db, projection);
  if (releases.length > 0) throw new ReleasesUnrecorded(releases);
}
