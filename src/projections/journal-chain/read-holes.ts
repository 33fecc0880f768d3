import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** Offsets of a partition, [from, to), that were passed without a trace: no event was chained there, and nothing set aside. */
export interface Hole {
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

/** Finds the offsets below the cursor of the chain of which it holds nothing. The log numbers its records without a hole. */
export async function readHoles(db: Db): Promise<readonly Hole[]> {
  const { rows } = await sql<Hole>`
    with ends as (
      select c.topic, c.partition, c.next_offset as "end"
      from cursors c join projections p on p.name = c.projection and p.version = c.version where c.projection = 'journal-chain'
    ), passed as (
      select topic, partition, unnest(offsets) as "offset" from chain_blocks
      union select topic, partition, "offset" from quarantine where projection in (select name from projections)
      union all select topic, partition, "end" from ends
    ), steps as (
      select topic, partition, "offset", lag("offset", 1, -1::bigint) over (partition by topic, partition order by "offset") + 1 as due
      from passed join ends using (topic, partition) where "offset" <= "end"
    )
    select topic, partition, due as "from", "offset" as "to" from steps where "offset" > due order by topic, partition, due`.execute(
    db,
  );
  return rows;
}
