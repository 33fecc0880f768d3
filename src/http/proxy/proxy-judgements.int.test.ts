import { describe, expect, test } from '@jest/globals';
import { createKey } from '../../postgres/keys.ts';
import { completion } from '../../testing/upstream.ts';
import { assistant, proxyForTests, textOfTokens, user } from './proxy-testing.ts';

const { proxy, post, chat, end } = proxyForTests();

describe('rewards and ends', () => {
  test('they are recorded once however often they are sent, and another value or end is refused', async () => {
    proxy.answer((body) => completion('a', body));
    expect(await end()).toMatchObject({ status: 404 });
    await chat([user('q')]);
    const give = (body: object) => post('/run/task/0/reward', body);
    expect(await give({ value: 1, of: 'step' })).toMatchObject({ status: 409 });
    expect((await give({ value: 0.5, of: 'step', observation: 'seen' })).json()).toMatchObject({ appended: true });
    expect((await give({ value: 0.5, of: 'step', observation: 'seen' })).json()).toMatchObject({ appended: false });
    expect((await give({ value: 2, component: 'style' })).json()).toMatchObject({ appended: true });
    expect(await give({ value: 3, component: 'style' })).toMatchObject({ status: 409 });
    expect((await end({ outcome: 'truncated' })).json()).toMatchObject({ appended: true });
    expect((await end({ outcome: 'truncated' })).json()).toMatchObject({ appended: false });
    expect(await end({ outcome: 'failed' })).toMatchObject({ status: 409 });
    expect(await chat([user('q'), assistant('a'), user('on')])).toMatchObject({ status: 409 });
    const { steps, rewards, rollouts } = await proxy.recorded();
    expect(steps[1]).toMatchObject({ observation: 'seen' });
    expect(rewards).toHaveLength(2);
    expect(rewards).toContainEqual(expect.objectContaining({ stepId: steps[1]?.stepId, value: 0.5 }));
    expect(rollouts).toMatchObject([{ outcome: 'truncated', success: null, steps: 1 }]);
  });

  test('a server that was restarted goes on from the record', async () => {
    proxy.answer((body) => completion(`reply ${body.messages?.length}`, body));
    await chat([user('q')]);
    const base = await proxy.restart();
    await post('/run/task/0/chat/completions', { messages: [user('q'), assistant('reply 1'), user('on')] }, { base });
    await post('/run/task/0/end', {}, { base: await proxy.restart() });
    const { steps, rollouts, quarantined } = await proxy.recorded();
    expect(quarantined).toEqual([]);
    expect(steps.map(({ response, observation }) => [response, observation])).toEqual([
      ['', 'q'],
      ['reply 1', 'on'],
      ['reply 3', ''],
    ]);
    expect(steps.slice(1).map(({ tokens }) => textOfTokens(tokens))).toEqual(['reply 1', 'reply 3']);
    expect(rollouts).toMatchObject([{ steps: 2, outcome: 'terminated' }]);
  });

  test('rollouts of one task that begin at once are one group with an ordinal each', async () => {
    proxy.answer((body) => completion('a', body));
    await Promise.all(['0', 'one', 'two'].map((name) => chat([user('q')], {}, `/run/task/${name}`)));
    const headers = {
      'x-espalier-run': 'run',
      'x-espalier-task': 'task',
      'x-espalier-rollout': '7',
      'x-espalier-policy': 'mine@3',
    };
    await post('/chat/completions', { messages: [user('q')] }, { headers });
    const { rollouts, trees, runs, quarantined } = await proxy.recorded();
    expect(quarantined).toEqual([]);
    expect([runs.length, trees.length]).toEqual([1, 1]);
    expect(new Set(rollouts.map(({ ordinal }) => ordinal)).size).toBe(4);
    expect(rollouts.find(({ ordinal }) => ordinal === 7)).toMatchObject({ policyId: 'mine', policyVersion: 3 });
  });
});

describe('closing', () => {
  test('a run that is closed is completed: rollouts without an end get one, trees are closed, nothing more is taken', async () => {
    proxy.answer((body) => completion('a', body));
    await chat([user('q')]);
    await chat([user('q')], {}, '/run/task/1');
    await chat([user('other')], {}, '/run/other/0');
    await end({ success: true, reward: 1 });
    expect((await post('/run/task/close', { rollouts: 'truncated' })).json()).toMatchObject({ appended: true });
    expect((await post('/run/task/close', {})).json()).toMatchObject({ appended: false });
    expect(await post('/run/task/close', { outcome: 'failed' })).toMatchObject({ status: 409 });
    expect(await chat([user('q')], {}, '/run/task/2')).toMatchObject({ status: 409 });
    expect(await chat([user('other'), assistant('a'), user('on')], {}, '/run/other/0')).toMatchObject({ status: 200 });
    const base = await proxy.restart(); // which knows nothing but the record
    expect((await post('/run/close', { message: 'done' }, { base })).json()).toMatchObject({ appended: true });
    expect((await post('/close', {}, { base, headers: { 'x-espalier-run': 'run' } })).json()).toMatchObject({ appended: false });
    const late = await post('/run/third/0/chat/completions', { messages: [user('q')] }, { base });
    expect([late.status, late.json().error.message]).toEqual([409, 'the run has ended, and takes no further rollout']);
    const { runs, trees, rollouts, steps, quarantined } = await proxy.recorded();
    expect(quarantined).toEqual([]);
    expect(runs).toMatchObject([{ outcome: 'completed', message: 'done' }]);
    expect(trees.map(({ alias, closeReason }) => [alias, closeReason]).sort()).toEqual([
      ['other', 'completed'],
      ['task', 'completed'],
    ]);
    expect(rollouts.map(({ outcome }) => outcome).sort()).toEqual(['terminated', 'terminated', 'truncated']);
    expect(steps.filter(({ depth }) => depth > 0)).toHaveLength(4);
  });

  test('what is not on record, or another key opened, is not closed', async () => {
    proxy.answer((body) => completion('a', body));
    expect(await post('/none/close', {})).toMatchObject({ status: 404 });
    expect(await post('/close', {})).toMatchObject({ status: 400 });
    await chat([user('q')]);
    expect(await post('/run/none/close', {})).toMatchObject({ status: 404 });
    expect(await post('/run/close', { outcome: 'fine' })).toMatchObject({ status: 400 });
    const { key } = await createKey(proxy.api.database.db, { name: 'other', scopes: ['ingest'], projects: ['default'] });
    expect(await post('/run/close', {}, { headers: { authorization: `Bearer ${key}` } })).toMatchObject({ status: 403 });
    expect((await proxy.recorded()).runs).toMatchObject([{ outcome: null }]);
  });
});

describe('who may', () => {
  const bearer = async (project: string, scopes: readonly ('ingest' | 'read')[] = ['ingest']) => ({
    authorization: `Bearer ${(await createKey(proxy.api.database.db, { name: project, scopes, projects: [project] })).key}`,
  });

  test('a run of another project is taken, the same name in two projects is two runs, and a key needs the scope ingest', async () => {
    proxy.answer((body) => completion('a', body));
    const [mine, theirs] = [await bearer('mine'), await bearer('theirs')];
    const body = { messages: [user('q')] };
    const id = '0b6f1c2e-7d3a-4f5b-8c9d-0a1b2c3d4e5f';
    expect(await post(`/${id}/task/0/chat/completions`, body, { headers: theirs })).toMatchObject({ status: 200 });
    const refused = await post(`/${id}/task/0/chat/completions`, body, { headers: mine });
    expect([refused.status, refused.json().error.message]).toEqual([403, `the id ${id} is taken`]);
    expect(await post(`/${id}/task/0/end`, {}, { headers: mine })).toMatchObject({ status: 403 });
    expect(await post('/run/task/0/chat/completions', body, { headers: theirs })).toMatchObject({ status: 200 });
    expect(await post('/run/task/0/chat/completions', body, { headers: mine })).toMatchObject({ status: 200 });
    expect(await post('/run/task/0/chat/completions', body, { headers: await bearer('mine', ['read']) })).toMatchObject({
      status: 403,
    });
    expect((await proxy.recorded()).runs).toHaveLength(3);
    expect(proxy.upstream.requests.map(({ headers }) => headers.authorization)).toEqual(Array(3).fill('Bearer sk-of-upstream'));
  });

  test('a tree of another run that is named by its id is not gone on with', async () => {
    proxy.answer((body) => completion('a', body));
    await chat([user('q')]);
    const [tree] = (await proxy.recorded()).trees;
    await chat([user('q')], {}, `/other/${tree?.treeId}/0`);
    expect((await proxy.recorded()).trees).toHaveLength(2);
  });

  test('names, bodies and headers that do not fit are refused before anything is asked', async () => {
    expect(await post('/chat/completions', { messages: [] })).toMatchObject({ status: 400 });
    expect((await post('/chat/completions', { messages: [] })).json().error.message).toBe(
      'x-espalier-run: is missing: send the request to /v1/proxy/RUN/TASK/ROLLOUT/…, or send this header',
    );
    expect(await post(`/${'x'.repeat(201)}/t/0/chat/completions`, { messages: [] })).toMatchObject({ status: 400 });
    expect(
      await post('/run/task/0/chat/completions', { messages: [] }, { headers: { 'x-espalier-policy': 'mine' } }),
    ).toMatchObject({ status: 400 });
    expect(await post('/run/task/0/reward', { value: 'much' })).toMatchObject({ status: 400 });
    const twice = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"value": 1, "value": 2}' };
    expect(await fetch(`${proxy.url}/v1/proxy/run/task/0/reward`, twice)).toMatchObject({ status: 422 });
    expect(await post('/run/task/0/chat/completions', { stream: 'x'.repeat(40_000_000) })).toMatchObject({ status: 413 });
    expect(proxy.upstream.requests).toEqual([]);
  });
});
