import { describe } from '@jest/globals';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { describeOneCollector } from './one-collector.contract.ts';

describe('one collector per run over the embedded log', () => {
  describeOneCollector(openTestPlatform, 'refused');
});
