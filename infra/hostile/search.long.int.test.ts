import { expect, test } from '@jest/globals';
import { useTestPlatform } from '../../src/testing/use-test-platform.ts';
import { trySearch } from './search.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
const SECONDS = 120;

test('every rollout is accounted for in environments that die, hang, lie late and answer odd things', async () => {
  expect(await trySearch(platform, 1, SECONDS)).toBeGreaterThan(0);
}, 600_000);
