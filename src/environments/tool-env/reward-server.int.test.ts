import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { goldsOf, type ScoredEpisode } from '../../domain/reward/scored-episode.ts';
import { openReward, type Reward } from './open-reward.ts';

const episode = (answer: string): ScoredEpisode => ({
  question: 'Who?',
  dataSource: 'unknown',
  chat: '',
  responses: [answer],
  answer,
  groundTruth: 'Ann',
  golds: goldsOf('Ann'),
  invalidActions: 0,
  environmentScore: null,
  success: null,
});
let opened: Reward | undefined;
afterEach(async () => {
  await opened?.close();
  opened = undefined;
});
const open = async (text: string): Promise<Reward> => {
  opened = await openReward(text);
  return opened;
};

describe('a reward in a Python file', () => {
  const SOURCE = `
from espalier_rl import ToolUnavailable


def exact(episode):
    if episode["answer"] == "away":
        raise ToolUnavailable("the judge is away")
    return {"Ann": 1, "nan": float("nan"), "half": {"value": 0.5, "success": True, "parts": {"form": 1}}}[episode["answer"]]
`;
  let folder: string;
  let file: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'python-reward-'));
    file = join(folder, 'my_reward.py');
    await writeFile(file, SOURCE);
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('the named function scores episodes under the revision of its source, and what it raises is the reason for 0', async () => {
    const reward = await open(`${file}#exact`);
    expect(reward.scorer).toEqual({ name: `${file}#exact`, revision: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(await reward.score(episode('Ann'))).toMatchObject({ value: 1, success: true, refusal: null });
    expect(await reward.score(episode('half'))).toMatchObject({ value: 0.5, success: true, parts: { form: 1 } });
    expect(await reward.score(episode('Bob'))).toMatchObject({ value: 0, success: null, refusal: "KeyError: 'Bob'" });
    expect((await reward.score(episode('nan'))).refusal).toMatch(/^ValueError: .*JSON/);
  });

  test('a function that is not defined is refused with those that are', async () => {
    await expect(open(`${file}#other`)).rejects.toThrow('defines no function other; it defines exact');
  });
});

describe('a server of a reward', () => {
  let server: Server;
  let answer: { status?: number; body: string };
  let url: string;
  beforeAll(async () => {
    server = createServer((request, response) => {
      request.resume().on('end', () => {
        const described = { protocol: 'espalier-reward/1', name: 'judge', revision: '3' };
        const { status = 200, body } = request.url === '/reward' ? { body: JSON.stringify(described) } : answer;
        response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '600' }).end(body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // a TCP server has a port
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  test.each([
    ['{"value": 0.25}', { value: 0.25, success: null, refusal: null }],
    ['{"value": "1"}', { value: 0, refusal: expect.stringContaining('it gave string') }],
  ])('an answer %s is taken for what it says', async (body, score) => {
    answer = { body };
    const reward = await open(url);
    expect(reward.scorer).toEqual({ name: 'judge', revision: '3' });
    expect(await reward.score(episode('Ann'))).toMatchObject(score);
  });

  test('a server that gives no score by status 422 has its message as the reason for 0', async () => {
    answer = { status: 422, body: '{"message": "no answer"}' };
    expect(await (await open(url)).score(episode('Ann'))).toMatchObject({ value: 0, refusal: 'no answer' });
  });

  test.each([
    [200, '{"success": 1}', 'success'],
    [200, '<html>', 'without JSON'],
    [404, '{"message": "no such path"}', '404'],
  ])('status %i with %s breaks the protocol: the rollout fails, and no episode has 0', async (status, body, reason) => {
    answer = { status, body };
    await expect((await open(url)).score(episode('Ann'))).rejects.toMatchObject({
      name: 'EnvironmentError',
      code: 'failed',
      message: expect.stringMatching(new RegExp(reason)),
    });
  });

  test('a server that puts the request off for longer than it is waited for is unavailable', async () => {
    answer = { status: 503, body: '{"message": "the judge is away"}' };
    const reward = await open(url);
    await expect(reward.score(episode('Ann'))).rejects.toMatchObject({
      name: 'EnvironmentError',
      code: 'backend',
      retryable: true,
      message: expect.stringMatching(/the reward is unavailable: .*the judge is away/),
    });
  });
});
