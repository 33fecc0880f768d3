import config from './jest.config.js';

/**
 * The long forms of rules that `npm test` tries in a short one, and what needs minutes of its own: x.long.int.test.ts. Tests of
 * the command line run again, each command in a process of its own.
 */
export default {
  ...config,
  globals: { long: true },
  testMatch: ['**/?*.long.?(*.)test.ts', '**/src/cli/*.int.test.ts'],
  testPathIgnorePatterns: config.testPathIgnorePatterns.filter((pattern) => !pattern.includes('long')),
};
