import { describe } from '@jest/globals';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { leaseServiceCrashContract } from './lease-service-crash.contract.ts';

describe('the lease service over the embedded log', () => {
  // 24 of 182 points; all of them hold as well (25 s on two quiet cores)
  leaseServiceCrashContract(() => openTestPlatform(), { seed: 5, kills: 24 });
});
