import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { statementFault } from './statement-fault.ts';
import { testNamesIn } from './test-names.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TESTS = /\.(test|contract)\.ts$|\/contract\/[^/]+\.ts$|(^|\/)tests\/test_\w+\.py$/;

/**
 * `npm run check:test-names`: names every test whose name is not a full statement; exits 1 when there is one. Arguments name
 * files.
 */
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...process.argv.slice(2)], {
  cwd: ROOT,
  encoding: 'utf8',
  maxBuffer: 1 << 26,
})
  .split('\n')
  .filter((path) => TESTS.test(path) && existsSync(`${ROOT}${path}`));
const faults = files.flatMap((path) =>
  testNamesIn(path, readFileSync(`${ROOT}${path}`, 'utf8'))
    .filter(({ kind }) => kind === 'test')
    .flatMap(({ name }) => {
      const fault = statementFault(name);
      return fault === undefined
        ? []
        : [`${path}: "${name}": ${fault}; write the rule as a full statement: subject, verb, object`];
    }),
);
for (const fault of faults) process.stderr.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;
