import { expect, test } from '@jest/globals';
import { type AgentTrajTexts, agentTrajDefaults, parseAgentTrajOptions } from './agent-traj-options.ts';

test('options are read from texts, and missing ones have their defaults', () => {
  expect(parseAgentTrajOptions({})).toEqual(agentTrajDefaults);
  expect(parseAgentTrajOptions({ policy: 'expert@3', rewardScale: '100', split: 'train', recordedAt: '2024-05-06' })).toEqual({
    ...agentTrajDefaults,
    policy: { policyId: 'expert', version: 3 },
    rewardScale: 100,
    split: 'train',
    recordedAt: '2024-05-06T00:00:00.000Z',
  });
});

test.each<[AgentTrajTexts, string]>([
  [{ runId: 'mine' }, 'option runId: must be a UUID'],
  [{ environment: '' }, 'option environment: must not be empty'],
  [{ policy: 'a@b' }, 'option policy: must be a policy'],
  [{ rewardScale: '0' }, 'option rewardScale: must be a number above 0'],
  [{ rewardScale: 'NaN' }, 'option rewardScale: must be a number above 0'],
  [{ recordedAt: '1950-01-01' }, 'option recordedAt: must be a date'],
  [{ recordedAt: '2024-02-30' }, 'option recordedAt: must be a date'],
  [{ recordedAt: '2024-05-06T10:00' }, 'option recordedAt: must be a date'],
])('the options %j are refused by name', (texts, message) => {
  expect(() => parseAgentTrajOptions(texts)).toThrow(message);
});
