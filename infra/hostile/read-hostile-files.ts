import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { openPlatform } from '../../src/platform/open-platform.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { edited, edits } from './edits.ts';
import { openReaders } from './readers.ts';

/**
 * Gives edited files to readers, in a process of its own: it may hang, run out of memory or die, and the campaign sees that. The
 * case in progress is described in a file. Prints the number of cases, and the fault if there is one, as JSON.
 */
const [seed = '1', limitMs = '1000', caseFile = ''] = process.argv.slice(2);
const platform = await openPlatform(readConfig(), 'readers');
const folder = join(platform.config.home, 'hostile');
const readers = await openReaders();
const samples = readers.flatMap((reader) =>
  reader.samples.map((sample) => ({ name: `${reader.name} ${sample.file}`, reader, sample })),
);
const cases = fc.record({ name: fc.constantFrom(...samples.map(({ name }) => name)), edits });

const property = fc.asyncProperty(cases, async ({ name, edits: all }) => {
  const { reader, sample } = samples.find((each) => each.name === name) ?? fail(name);
  const bytes = edited(sample.bytes, all);
  await writeFile(caseFile, `${name}: ${JSON.stringify(all).slice(0, 1_000)}`);
  await mkdir(folder, { recursive: true });
  const file = join(folder, sample.file);
  await writeFile(file, bytes);
  try {
    await reader.read(file, bytes, { platform, folder });
  } catch (error) {
    const refused = reader.refusals.some((refusal) => error instanceof refusal) && !/call stack/.test(String(error));
    // any other error is a stack in place of a reason
    if (!refused) throw new Error(`${name} threw ${error instanceof Error ? error.stack : error}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
const report = await fc.check(property, {
  seed: Number(seed),
  numRuns: 1_000_000,
  interruptAfterTimeLimit: Number(limitMs),
  markInterruptAsFailure: false,
});
const fault = report.failed ? `${report.errorInstance}; case ${fc.stringify(report.counterexample).slice(0, 1_000)}` : null;
process.stdout.write(`${JSON.stringify({ cases: report.numRuns, fault })}\n`);
await platform.close();

function fail(name: string): never {
  throw new Error(`there is no sample ${name}`);
}
