import { relative } from 'node:path';

const SHOWN = 10;

/** Ends a run with the files that took longest: where the time of the whole goes, and where a new test made it worse. */
export default class SlowestFiles {
  onRunComplete(_contexts, { testResults }) {
    if (testResults.length <= SHOWN) return;
    const slowest = testResults
      .map(({ testFilePath, perfStats }) => ({ file: testFilePath, ms: perfStats.runtime }))
      .sort((one, other) => other.ms - one.ms)
      .slice(0, SHOWN);
    const lines = slowest.map(({ file, ms }) => `${(ms / 1_000).toFixed(1).padStart(7)} s  ${relative(process.cwd(), file)}`);
    process.stderr.write(`\nSlowest files:\n${lines.join('\n')}\n`);
  }
}
