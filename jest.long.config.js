import config from './jest.config.js';

/** x.long.….test.ts and nothing else. */
export default { ...config, testPathIgnorePatterns: ['/node_modules/', '/\\.espalier/', '(?<!\\.long(\\.\\w+)?)\\.test\\.ts$'] };
