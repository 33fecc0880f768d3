/**
 * Tests are next to what they test: x.test.ts needs nothing but Node, x.slow.test.ts neither, but takes a second or more,
 * x.int.test.ts needs a real Postgres, x.e2e.test.ts a real Kafka broker as well, x.torch.test.ts a Python with torch.
 * `npm test`, which .ci/run calls, leaves out x.long.….test.ts and x.cluster.….test.ts; `npm run test:long` and `npm run test:cluster`
 * run nothing else.
 */
export default {
  testMatch: ['**/?(*.)test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/\\.espalier/', '\\.(long|cluster)\\.(\\w+\\.)?test\\.ts$'],
  modulePathIgnorePatterns: ['/\\.espalier/'],
  transform: {}, // src/testing/jest/native.mjs does it
  reporters: ['default', './src/testing/jest/slowest-files.mjs', './src/testing/jest/unrun-statements.mjs'],
  runner: './src/testing/jest/test-runner.mjs',
  testSequencer: './src/testing/jest/test-sequencer.mjs',
  testRunner: './src/testing/jest/run-test-file.mjs',
  globalSetup: './src/testing/jest/global-setup.mts',
  globalTeardown: './src/testing/jest/global-teardown.mts',
  testTimeout: 300_000,
  maxWorkers: 3, // tests with servers wait about half of their time
  workerIdleMemoryLimit: '1200MB', // what tests leave behind stays in a worker
};
