import config from './jest.config.js';

/** The long forms of rules that `npm test` tries in a short one, and what needs minutes of its own: x.long.int.test.ts. */
export default {
  ...config,
  testMatch: ['**/?*.long.?(*.)test.ts'],
  testPathIgnorePatterns: config.testPathIgnorePatterns.filter((pattern) => !pattern.includes('long')),
};
