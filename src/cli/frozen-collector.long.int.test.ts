import { describe } from '@jest/globals';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { describeFrozenCollector } from './frozen-collector.contract.ts';

describe('a collector over the embedded log that is stopped by SIGSTOP', () => describeFrozenCollector(() => openTestPlatform()));
