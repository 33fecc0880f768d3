import { describe, expect, test } from '@jest/globals';
import { pack } from '../../events/packed.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { checkEvents, dropRepetitions } from './check-events.ts';

const builder = new EventBuilder();
builder.run();
const [started] = builder.events;
if (!started) throw new Error('a run is one event');
const STAMP = { principal: 'key:1', project: 'gauges' };
const NOW = Date.parse(started.occurredAt);

function problemsOf(values: readonly unknown[]): unknown[] {
  const checked = checkEvents(values, NOW, STAMP);
  if (checked.kind === 'events') throw new Error('nothing was refused');
  expect(checked.reply.status).toBe(400);
  return JSON.parse(String(checked.reply.body)).error.problems;
}

describe('checkEvents', () => {
  test('valid events keep their place', () => {
    const checked = checkEvents([started, { ...started, data: { ...started.data, name: 'a\0b' } }], NOW, STAMP);
    expect(checked).toMatchObject({ kind: 'events', events: [{ index: 0, event: started }, { index: 1 }] });
  });

  test('a time far ahead of the clock of the server is refused, and one a little ahead is accepted', () => {
    const at = (ahead: number) => ({ ...started, occurredAt: new Date(NOW + ahead).toISOString() });
    expect(checkEvents([at(300_000)], NOW, STAMP)).toMatchObject({ kind: 'events' });
    expect(problemsOf([at(300_001), { ...started, occurredAt: '9999-12-31T23:59:59.999Z' }])).toMatchObject([
      { index: 0, path: 'occurredAt', message: "is 301 s ahead of the server's clock; at most 300 s are allowed" },
      { index: 1, path: 'occurredAt' },
    ]);
  });

  test.each([
    [{ training: { policyId: 'p', channel: 'training' } }, 'data.config.training.channel', /train/],
    [{ training: { policy: 'p', channel: 'train' } }, 'data.config.training.policyId', /; policy is not read$/],
    [{ training: { policy_id: 'p' } }, 'data.config.training.policyId', /; policy_id is not read$/],
    [{ training: { policyId: 'p' } }, 'data.config.training.channel', /train/],
    [{ training: { policyId: 'p', chanel: 'train' } }, 'data.config.training.channel', /; chanel is not read$/],
    [{ traning: { policyId: 'p', channel: 'train' } }, 'data.config.traning', /is not read$/],
  ])('a run of the configuration %j means to feed a training, and is refused', (config, path, message) => {
    const run = { ...started, data: { ...started.data, config } };
    expect(problemsOf([run])).toMatchObject([{ path, message: expect.stringMatching(message) }]);
  });

  test.each([
    { training: { rate: 1 } },
    { training: 'yes' },
    { training: { policyId: 'p', channel: 'train', more: 1 } },
    { training: { policy: 'ppo', lr: 1e-5 } },
    { training: { policy_lr: 1e-5, policy_kl: 0.1, policy_net: 'mlp' } },
    { training: { channels: 3 } },
    { training: { policy: 'ppo', channel: 'slack' } },
  ])('a run of the configuration %j is accepted', (config) => {
    const run = { ...started, data: { ...started.data, config } };
    expect(checkEvents([run], NOW, STAMP)).toMatchObject({ kind: 'events' });
  });

  test.each([
    ['a number', 7, { path: '' }],
    ['an unknown type', { ...started, type: 'RunBegan' }, { path: 'type', remedy: 'GET /v1/schemas lists types and versions' }],
    ['a type of the prototype', { ...started, type: 'constructor' }, { path: 'type' }],
    ['an unknown version', { ...started, schemaVersion: 99 }, { path: 'schemaVersion' }],
    ['a field that is no field', { ...started, extra: 1 }, { path: '' }],
    ['a stream that is not its own', { ...started, stream: started.id }, { path: 'stream' }],
    ['an id in upper case', { ...started, id: started.id.toUpperCase() }, { path: 'id' }],
    ['a NUL in its producer', { ...started, producer: { name: 'a\0', version: '1' } }, { path: 'producer.name' }],
    ['a key __proto__', JSON.parse(`{"id":"${started.id}","data":{"config":{"__proto__":1}}}`), { path: 'data.config' }],
    ['a release', { ...started, released: { offset: 0, at: '2026-01-01T00:00:00.000Z', reason: null } }, { path: 'released' }],
    ['a principal', { ...started, principal: 'local' }, { path: 'principal', message: 'is written by the platform alone' }],
    ['a project', { ...started, project: 'default' }, { path: 'project', message: 'is written by the platform alone' }],
    [
      'a take-over',
      { ...started, type: 'RunResumed', data: { runId: started.stream, epoch: 9, codeVersion: '1' } },
      { path: 'type' },
    ],
    ['a seed beyond 2^53', { ...started, data: { ...started.data, seed: 2 ** 60 } }, { path: 'data.seed' }],
  ])('%s is refused by index and field', (_name, value, problem) => {
    expect(problemsOf([started, value])).toEqual([expect.objectContaining({ index: 1, ...problem })]);
  });

  test('at most twenty problems are listed', () => {
    expect(problemsOf(Array.from({ length: 50 }, (_, i) => i))).toHaveLength(20);
  });
});

describe('token arrays', () => {
  const tree = builder.tree(builder.run('tokens'));
  const rollout = builder.rollout(tree);
  const ids = pack('int32', [5, 6]);
  const step = (tokens: object): unknown => {
    builder.step(tree, rollout, tree.rootStepId, 1, { tokens: { ids, logProbs: null, mask: null, ...tokens } });
    return builder.events.at(-1);
  };

  test.each<[string, object, string]>([
    ['log-probabilities of another count than the ids', { logProbs: pack('float32', [-1]) }, 'data.tokens.logProbs'],
    ['a log-probability that is no number', { logProbs: pack('float32', [-1, Number.NaN]) }, 'data.tokens.logProbs'],
    ['a log-probability above 0', { logProbs: pack('float32', [0.25, -1]) }, 'data.tokens.logProbs'],
    ['ends of another count than the ids', { ends: pack('int32', [1]) }, 'data.tokens.ends'],
    ['an end before the one before it', { ends: pack('int32', [2, 1]) }, 'data.tokens.ends'],
    ['entropies of another type', { entropies: pack('int32', [1, 2]) }, 'data.tokens.entropies'],
    ['a mask of another length', { mask: pack('uint8', [1]) }, 'data.tokens.mask'],
    ['an id below 0', { ids: pack('int32', [-1]) }, 'data.tokens.ids'],
    ['fewer bytes than ids', { ids: { ...ids, length: 3 } }, 'data.tokens.ids'],
  ])('%s is refused by its field, and the step is named', (_, tokens, path) => {
    expect(problemsOf([step(tokens)])).toEqual([
      expect.objectContaining({ index: 0, path, message: expect.stringMatching(/^step [0-9a-f-]{36}/) }),
    ]);
  });

  test('log-probabilities of shown tokens and a rounding above 0 are accepted', () => {
    const logProbs = pack('float32', [1e-7, Number.NaN]);
    expect(checkEvents([step({ logProbs, mask: pack('uint8', [1, 0]) })], NOW, STAMP)).toMatchObject({ kind: 'events' });
  });
});

describe('dropRepetitions', () => {
  test('a repeated event is dropped', () => {
    const sent = [0, 1].map((index) => ({ index, event: structuredClone(started) }));
    expect(dropRepetitions(sent)).toEqual({ kind: 'distinct', events: [sent[0]] });
  });

  test('different content under one id is refused with both places', () => {
    const other = checkEvents([{ ...started, data: { ...started.data, name: 'other' } }], NOW, STAMP);
    if (other.kind === 'refused') throw new Error('it fits');
    const result = dropRepetitions([{ index: 0, event: started }, ...other.events.map(({ event }) => ({ index: 1, event }))]);
    expect(result).toEqual({
      kind: 'conflict',
      problems: [
        expect.objectContaining({ index: 1, id: started.id, message: expect.stringContaining('event 0 of this request') }),
      ],
    });
  });
});
