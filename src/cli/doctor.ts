import type { Command } from 'commander';
import { diagnose } from '../platform/diagnose.ts';
import { listSettings, readConfig } from '../runtime/config.ts';
import { print, table } from './terminal.ts';
import { wantsJson } from './with-platform.ts';

/** `espalier doctor`: which step of a start fails with these settings. */
export function addDoctor(program: Command): void {
  const command = program.command('doctor');
  command.action(async () => {
    const findings = await diagnose(readConfig(), listSettings());
    if (findings.some(({ state }) => state === 'failed')) process.exitCode = 1;
    if (wantsJson(command)) return print(JSON.stringify(findings));
    print(
      table(
        ['part', 'step', 'state', 'detail'],
        findings.map(({ part, step, state, detail }) => [part, step, state, detail]),
      ),
    );
  });
}
