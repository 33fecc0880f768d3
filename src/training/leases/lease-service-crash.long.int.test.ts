import { describe } from '@jest/globals';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { leaseServiceCrashContract } from './lease-service-crash.contract.ts';

describe('the lease service over the embedded log', () => {
  // all of them
  leaseServiceCrashContract(() => openTestPlatform(), { seed: 5, kills: 1_000, leastPoints: 20 });
});
