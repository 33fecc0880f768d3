import { stat } from 'node:fs/promises';
import type { Command } from 'commander';
import { conformanceMain } from '../conformance/run-conformance.ts';
import { print } from './terminal.ts';
import { wantsJson } from './with-platform.ts';

/** `espalier conformance DIR`: runs vector files through the public functions; exit code 1 when one fails. */
export function addConformance(program: Command): void {
  const command = program.command('conformance').argument('<dir>', 'a folder of vector files');
  command.action(async (dir: string) => {
    const json = wantsJson(command);
    await stat(dir).catch((error: Error) => {
      throw new Error(`cannot read ${dir} (${error.message}); name a folder of vector files`);
    });
    const counts = await conformanceMain(dir, json ? () => undefined : print);
    if (json) print(JSON.stringify(counts));
    if (counts.failed > 0) process.exitCode = 1;
  });
}
