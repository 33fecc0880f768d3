import { readdirSync, readFileSync } from 'node:fs';
import config from './jest.config.js';

// A test with a long form asks src/testing/long-run.ts which one to take, or is one of src/testing/long-test.ts.
const withLongForm = ['src', 'graphql', 'workers', 'infra']
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`))
  .filter((file) => file.endsWith('.test.ts') && /\/testing\/long-(run|test)\.ts'/.test(readFileSync(file, 'utf8')));

/**
 * The long forms of rules that `npm test` tries in a short one, and what needs minutes of its own: x.long.int.test.ts. Tests of
 * the command line run again, each command in a process of its own.
 */
export default {
  ...config,
  globals: { long: true },
  testMatch: ['**/?*.long.?(*.)test.ts', '**/src/cli/*.int.test.ts', ...withLongForm.map((file) => `**/${file}`)],
  testPathIgnorePatterns: config.testPathIgnorePatterns.filter((pattern) => !pattern.includes('long')),
};
