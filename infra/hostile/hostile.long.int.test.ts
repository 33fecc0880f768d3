import { openTestPlatform } from '../../src/testing/open-test-platform.ts';
import { describeHostileInput } from './hostile.contract.ts';

describeHostileInput({ open: openTestPlatform, casesOf: () => 100, seed: 1 });
