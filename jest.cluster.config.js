import config from './jest.config.js';

/** x.cluster.….test.ts and nothing else. */
export default {
  ...config,
  testPathIgnorePatterns: ['/node_modules/', '/\\.espalier/', '(?<!\\.cluster(\\.\\w+)?)\\.test\\.ts$'],
};
