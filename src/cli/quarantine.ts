import type { Command } from 'commander';
import { type Released, releaseFromQuarantine } from '../projections/quarantine.ts';
import { projections } from '../projections/registry.ts';
import { say, table } from './terminal.ts';
import { wantsJson, withPlatform } from './with-platform.ts';

/** `espalier quarantine`: what no projection could fold, and why; `release` offers it again. */
export function addQuarantine(program: Command): void {
  const quarantine = program.command('quarantine');
  const list = quarantine.command('list').description('list what waits, oldest first');
  list.action(() =>
    withPlatform('quarantine', async ({ database }) => {
      const rows = await database.db
        .selectFrom('quarantine')
        .select(['projection', 'topic', 'partition', 'offset', 'type', 'code', 'field', 'reason'])
        .where('released_at', 'is', null)
        .orderBy('quarantined_at')
        .orderBy('offset')
        .limit(1_000)
        .execute();
      if (wantsJson(list)) return say(JSON.stringify(rows));
      say(
        rows.length === 0
          ? 'nothing is quarantined'
          : table(
              ['projection', 'place', 'type', 'code', 'field', 'reason'],
              rows.map((r) => [r.projection, place(r), r.type ?? '?', r.code, r.field, r.reason]),
            ),
      );
    }),
  );
  const release = quarantine
    .command('release')
    .description('offer quarantined events again, in log order: after their parent arrived or after an upgrade')
    .argument('[place]', 'topic.partition:offset; all when left out');
  release.action((wanted: string | undefined) =>
    withPlatform('quarantine', async ({ database: { db } }) => {
      const rows = await db
        .selectFrom('quarantine')
        .select(['projection', 'topic', 'partition', 'offset'])
        .where('released_at', 'is', null)
        .orderBy('topic')
        .orderBy('partition')
        .orderBy('offset')
        .execute();
      const chosen = wanted === undefined ? rows : rows.filter((row) => place(row) === wanted);
      if (wanted !== undefined && chosen.length === 0)
        throw new Error(`nothing is quarantined at ${wanted}; \`espalier quarantine list\` shows the places`);
      const results: { projection: string; place: string; result: Released }[] = [];
      for (const row of chosen) {
        const projection = projections.find((candidate) => candidate.name === row.projection);
        if (projection)
          results.push({
            projection: row.projection,
            place: place(row),
            result: await releaseFromQuarantine(db, projection, row),
          });
      }
      const refused = results.filter(({ result }) => result.kind === 'refused');
      if (wantsJson(release)) say(JSON.stringify(results));
      else {
        for (const { projection, place: at, result } of refused)
          if (result.kind === 'refused') say(`${projection} ${at} stays: ${result.reason}`);
        say(`${results.length - refused.length} released, ${refused.length} stay`);
      }
      if (refused.length > 0) process.exitCode = 1;
    }),
  );
}

function place(row: { topic: string; partition: number; offset: number }): string {
  return `${row.topic}.${row.partition}:${row.offset}`;
}
