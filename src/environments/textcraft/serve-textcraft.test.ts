import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { EnvironmentKind } from '../environment.ts';
import { serveTextCraft, type TextCraftServer } from './serve-textcraft.ts';
import { openTextCraft } from './textcraft.ts';

let kind: EnvironmentKind;
let server: TextCraftServer;
beforeAll(async () => {
  kind = await openTextCraft();
  server = await serveTextCraft(kind, { host: '127.0.0.1', port: 0 });
});
afterAll(() => server.close());

interface Answered {
  readonly id: number;
  readonly observation: string;
  readonly opening: object;
  readonly steps: readonly { readonly observation: string }[];
}

async function ask(path: string, body?: unknown, type = 'application/json') {
  const sent = body === undefined ? {} : { method: 'POST', headers: { 'content-type': type }, body: JSON.stringify(body) };
  const response = await fetch(`${server.url}${path}`, sent);
  return { status: response.status, answer: (await response.json()) as Answered }; // as the routes answer
}
const answerOf = async (path: string, body?: unknown) => (await ask(path, body)).answer;

/** Plays the planner's way to a goal in this process. */
async function solved(alias: string) {
  const episode = await kind.create();
  const { observation } = await episode.reset({ alias, seed: 0 });
  const actions: string[] = [];
  const seen: string[] = [];
  for (let next = await episode.expertAction?.(); next; next = seen.length < 50 ? await episode.expertAction?.() : null) {
    const { observation: shown, terminated } = await episode.step(next);
    actions.push(next);
    seen.push(shown);
    if (terminated) break;
  }
  return { observation, actions, seen };
}

describe("TextCraft behind the protocol of AgentGym's server", () => {
  test('an episode shows what it shows in this process, and earns 1 with the goal', async () => {
    const { observation, actions, seen } = await solved('40');
    const { id } = await answerOf('/create', {});
    expect(await answerOf('/reset', { id, data_idx: 40 })).toEqual({ id, observation, done: false, reward: 0 });
    const steps = [];
    for (const action of actions) steps.push(await answerOf('/step', { id, action }));
    expect(steps.map((step) => step.observation)).toEqual(seen);
    expect(steps.at(-1)).toMatchObject({ done: true, reward: 1 });
    expect(await answerOf(`/detail?id=${id}`)).toEqual(steps.at(-1));
    expect(await answerOf(`/observation?id=${id}`)).toBe(seen.at(-1));
    expect(await answerOf('/close', { id })).toBe(true);
    expect(await answerOf('/close', { id })).toBe(false);
  });

  test('the actions of an episode in one request are answered as one by one, up to its end', async () => {
    const { observation, actions, seen } = await solved('40');
    const played = await answerOf('/replay', { data_idx: 40, actions: [...actions, 'inventory'] });
    expect(played.opening).toMatchObject({ id: played.id, observation, done: false });
    expect(played.steps.map((step) => step.observation)).toEqual(seen);
  });

  test('a copy and its original go on by themselves', async () => {
    const { actions } = await solved('40');
    const { id } = await answerOf('/replay', { data_idx: 40, actions: actions.slice(0, 1) });
    const before = (await answerOf('/step', { id, action: 'inventory' })).observation;
    const copy = (await answerOf('/fork', { id })).id;
    expect(copy).not.toBe(id);
    await answerOf('/step', { id: copy, action: actions[0] });
    expect((await answerOf('/step', { id, action: 'inventory' })).observation).toBe(before);
    expect((await answerOf('/step', { id: copy, action: 'inventory' })).observation).not.toBe(before);
  });

  test.each<[string, string, unknown, number, unknown]>([
    ['a number that nobody has', '/step', { id: 9_999, action: 'inventory' }, 200, { error: 'The id 9999 is not valid.' }],
    ['a step without an action', '/step', { id: 0 }, 422, expect.anything()],
    ['a negative task', '/replay', { data_idx: -1, actions: [] }, 422, expect.anything()],
    ['an unknown request', '/nothing', {}, 404, { detail: 'Not Found' }],
  ])('%s is answered with what is wrong', async (_what, path, body, status, wanted) => {
    expect(await ask(path, body)).toEqual({ status, answer: wanted });
  });

  test('a page of another site cannot act: a request that a browser sends without asking is refused', async () => {
    expect((await ask('/create', {}, 'text/plain')).status).toBe(415);
  });
});
