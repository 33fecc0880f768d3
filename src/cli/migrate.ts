import type { Command } from 'commander';
import { codeVersionOf } from '../projections/projection.ts';
import { readProjectionStatuses } from '../projections/projection-statuses.ts';
import { projections } from '../projections/registry.ts';
import { print } from './terminal.ts';
import { wantsJson, withPlatform } from './with-platform.ts';

/** `espalier migrate`: brings database and log to this version before its first process starts, and ends. */
export function addMigrate(program: Command): void {
  const command = program.command('migrate');
  command.action(() =>
    withPlatform('migrate', async ({ database, notes }) => {
      const live = new Map(
        (await readProjectionStatuses(database.db)).map(({ name, version }) => [name, codeVersionOf(version)]),
      );
      const rebuild = projections.filter(({ name, version }) => (live.get(name) ?? version) < version).map(({ name }) => name);
      if (wantsJson(command)) return print(JSON.stringify({ state: 'ready', rebuild, notes }));
      print(['database and log are ready for this version', ...notes]);
      for (const name of rebuild) print(`the read model ${name} is live in an earlier version; run \`espalier rebuild ${name}\``);
    }),
  );
}
