import { Argument, type Command } from 'commander';
import { readPayloadPolicies, setPayloadPolicy } from '../postgres/payload-policies.ts';
import { print, table } from './terminal.ts';
import { wantsJson, withPlatform } from './with-platform.ts';

const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** `espalier seal [on|off]`: says whether the payload of a project is sealed, or shows what projects say. */
export function addSeal(program: Command): void {
  const command = program
    .command('seal')
    .addArgument(
      new Argument('[state]', 'whether what is appended from now on is sealed; left out, shows what is set').choices([
        'on',
        'off',
      ]),
    )
    .option('--project <name>', 'the project (default: ESPALIER_PROJECT)');
  command.action((state: 'on' | 'off' | undefined, flags: { readonly project?: string }) =>
    withPlatform('seal', async ({ database: { db }, stamp, config }) => {
      const project = flags.project ?? stamp.project;
      if (!NAME.test(project))
        throw new Error(`--project ${JSON.stringify(project)} takes lower-case letters, digits and dashes, 63 at most`);
      if (state !== undefined) await setPayloadPolicy(db, project, { seal: state === 'on' });
      const policies = await readPayloadPolicies(db);
      if (wantsJson(command)) return print(JSON.stringify({ otherwise: config.seal, projects: policies }));
      const others = `projects without a line: ${config.seal ? 'on' : 'off'} (ESPALIER_SEAL)`;
      const rows = policies.map(({ project: name, seal }) => [name, seal === null ? '' : seal ? 'on' : 'off']);
      print([...(rows.length > 0 ? table(['project', 'sealing'], rows) : []), others]);
      if (state !== undefined) print('processes that append obey within 10 s; what was appended before stays as it is');
    }),
  );
}
