/**
 * Tests stand beside what they test: x.test.ts needs nothing, x.int.test.ts a real Postgres, x.e2e.test.ts a real Kafka broker.
 */
export default {
  testMatch: ['**/?(*.)test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/\\.espalier/'],
  modulePathIgnorePatterns: ['/\\.espalier/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2023' }, module: { type: 'es6' } }],
  },
  globalSetup: './src/testing/jest/global-setup.ts',
  globalTeardown: './src/testing/jest/global-teardown.ts',
  testTimeout: 120_000,
  maxWorkers: 2,
  workerIdleMemoryLimit: '1200MB', // modules of a test file are never let go of: a worker came to 3.3 GB, and to long collections
};
