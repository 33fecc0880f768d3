import type { Command } from 'commander';
import { listKeys } from '../postgres/keys.ts';
import { readProjects } from '../projections/owners/read-owners.ts';
import { print, table } from './terminal.ts';
import { wantsJson, withPlatform } from './with-platform.ts';

/** `espalier projects`: the tenants of the installation, and what belongs to each. */
export function addProjects(program: Command): void {
  const projects = program.command('projects');
  projects.action(() =>
    withPlatform('projects', async ({ database }) => {
      const owned = new Map((await readProjects(database.db)).map((of) => [of.project, of]));
      const keys = (await listKeys(database.db)).filter(({ revokedAt }) => revokedAt === null);
      const names = [...new Set([...owned.keys(), ...keys.map(({ project }) => project)])].sort();
      const all = names.map((project) => ({
        ...(owned.get(project) ?? { project, runs: 0, trees: 0, datasets: 0, policies: 0 }),
        keys: keys.filter((key) => key.project === project).length,
      }));
      if (wantsJson(projects)) return print(JSON.stringify(all));
      print(
        table(
          ['project', 'runs', 'trees', 'datasets', 'policies', 'keys'],
          all.map((of) => [of.project, ...[of.runs, of.trees, of.datasets, of.policies, of.keys].map(String)]),
        ),
      );
    }),
  );
}
