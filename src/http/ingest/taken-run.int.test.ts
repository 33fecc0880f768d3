import { describe } from '@jest/globals';
import { openTestApi } from '../http-testing.ts';
import { describeTakenRuns } from './taken-run.contract.ts';

describe('producers over HTTP that take a run, over the embedded log', () => {
  describeTakenRuns(() => openTestApi({ api: { catchUpMs: 60_000 } }), 'refused');
});
