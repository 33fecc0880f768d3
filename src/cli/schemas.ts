import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { protocolSchemas } from '../environments/server/protocol-schemas.ts';
import { jsonSchemas } from '../events/json-schema.ts';
import { makeFolder } from '../runtime/make-folder.ts';
import { experimentSchema } from '../usecases/experiment/declaration/experiment.ts';
import { declarationSchema } from '../usecases/train/declaration/declaration-schema.ts';
import { print } from './terminal.ts';
import { wantsJson } from './with-platform.ts';

/** What is no event, and is described by a JSON Schema too. */
const OTHERS: Readonly<Record<string, () => object>> = {
  declaration: declarationSchema,
  experiment: experimentSchema,
  environment: protocolSchemas,
};

/**
 * `espalier schemas`: the JSON Schema of every event type, for producers in other languages, of the declarations of trainings and
 * experiments, and of the protocol of environments.
 */
export function addSchemas(program: Command): void {
  const command = program
    .command('schemas')
    .argument(
      '[type]',
      'one event type (default: all); or declaration (how a policy is trained), experiment (the file of an experiment), environment (the protocol of environment servers)',
    )
    .option('--out <folder>', 'write <type>.schema.json files into this folder');
  command.action(async (type: string | undefined, options: { out?: string }) => {
    const other = type === undefined || !Object.hasOwn(OTHERS, type) ? undefined : OTHERS[type];
    const schemas: Readonly<Record<string, object>> = type !== undefined && other ? { [type]: other() } : jsonSchemas();
    if (type !== undefined && !schemas[type])
      throw new Error(
        `there is no event type ${type}; there are ${Object.keys(schemas).join(', ')}; or name ${Object.keys(OTHERS).join(', ')}`,
      );
    const chosen = type === undefined ? schemas : { [type]: schemas[type] };
    if (options.out === undefined) return print(JSON.stringify(type === undefined ? chosen : chosen[type], null, 2).split('\n'));
    await makeFolder(resolve(options.out)).catch((error: Error) => {
      throw new Error(`cannot write to ${options.out} (${error.message}); name a folder that is writable`);
    });
    for (const [name, schema] of Object.entries(chosen))
      await writeFile(join(options.out, `${name}.schema.json`), `${JSON.stringify(schema, null, 2)}\n`);
    const schemasWritten = Object.keys(chosen).length;
    print(
      wantsJson(command)
        ? JSON.stringify({ schemas: schemasWritten, out: options.out })
        : `${schemasWritten} schemas written to ${options.out}`,
    );
  });
}
