import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { encodeWeights, zeroWeights } from './linear/weights.ts';
import { createPolicy, parsePolicySpec, parsePolicyText } from './policy-spec.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'policies-'));
});
afterAll(() => rm(folder, { recursive: true }));

describe('the short form of a policy', () => {
  test.each([
    ['random', { kind: 'random' }],
    ['planner', { kind: 'planner', epsilon: 0 }],
    ['planner:0.2', { kind: 'planner', epsilon: 0.2 }],
    ['planner:.5', { kind: 'planner', epsilon: 0.5 }],
    ['linear', { kind: 'linear' }],
    ['linear:C:/weights.bin', { kind: 'linear', weightsFile: 'C:/weights.bin' }],
    [
      'openai:org/model@rev@http://127.0.0.1:8000/v1',
      { kind: 'openai', model: 'org/model@rev', baseUrl: 'http://127.0.0.1:8000/v1' },
    ],
  ])('%s is read', (text, spec) => {
    expect(parsePolicyText(text)).toEqual(spec);
    expect(Object.keys(parsePolicyText(text))[0]).toBe('kind'); // plans are compared by this text with those on record
  });

  test.each([
    ['randm', 'kind "randm" is unknown; write random, planner,'],
    ['', 'kind "" is unknown'],
    ['random:1', 'takes nothing after it'],
    ['planner:1.5', 'epsilon must be a probability from 0 to 1'],
    ['planner:often', 'epsilon must be a number from 0 to 1, not "often"; write for example planner:0.2'],
    ['planner:', 'epsilon must be a number'],
    ['linear:', 'weightsFile must not be empty'],
    ['openai:qwen', 'write for example openai:qwen@http://127.0.0.1:8000/v1'],
    ['openai:@http://h/v1', 'needs a model and an address'],
    ['openai:m@http://', 'must be an http or https address'],
  ])('%s is refused with the field and what to write', (text, message) => {
    expect(() => parsePolicyText(text)).toThrow(message);
  });
});

describe('policy configurations', () => {
  test('a configuration is written with its kind first, as runs recorded it', () => {
    const texts = [
      '{"kind":"linear","weightsFile":"w.bin","policyId":"p"}',
      '{"kind":"planner","epsilon":0.5}',
      '{"kind":"openai","baseUrl":"http://h/v1","model":"m"}',
    ];
    expect(texts.map((text) => JSON.stringify(parsePolicyText(text)))).toEqual(texts);
  });

  test.each([
    [{ kind: 'oracle' }, 'kind', 'must be one of random, planner, linear, live, openai'],
    [null, 'configuration', ''],
    [{ kind: 'planner', epsilom: 0.1 }, 'epsilom', 'is not a field of this kind of policy'],
    [{ kind: 'linear', temperature: -1 }, 'temperature', 'must be a number from 0'],
    [{ kind: 'openai', model: 'm', baseUrl: 'ftp://h' }, 'baseUrl', 'must be an http or https address'],
    [{ kind: 'openai', model: 'm', baseUrl: 'http://h/v1', timeoutMs: 400_000 }, 'timeoutMs', '300000'],
    [{ kind: 'openai', model: 'm', baseUrl: 'http://h/v1', apiKey: 'secret' }, 'apiKey', 'must be the name of a key'],
  ])('the configuration %j is refused by its field', (value, field, message) => {
    let caught: unknown;
    try {
      parsePolicySpec(value);
    } catch (error) {
      caught = error;
    }
    expect(caught).toMatchObject({ name: 'PolicySpecError', field, message: expect.stringContaining(message) });
  });
});

describe('createPolicy', () => {
  test('createPolicy opens each kind with its name and version', async () => {
    const file = join(folder, 'weights.bin');
    await writeFile(file, encodeWeights({ ...zeroWeights(), version: 4 }));
    const refs = await Promise.all(
      ['random', 'planner:0.25', 'linear', `linear:${file}`, 'openai:qwen@http://127.0.0.1:1/v1'].map(
        async (text) => (await createPolicy(parsePolicyText(text))).ref,
      ),
    );
    expect(refs).toEqual([
      { policyId: 'random', version: 0 },
      { policyId: 'planner-0.25', version: 0 },
      { policyId: 'linear', version: 0 },
      { policyId: 'linear', version: 4 },
      { policyId: 'qwen', version: 0 },
    ]);
  });

  test('missing or foreign weights are refused by name', async () => {
    const other = join(folder, 'notes.txt');
    await writeFile(other, 'not weights, but longer than a header');
    await expect(createPolicy({ kind: 'linear', weightsFile: join(folder, 'none') })).rejects.toMatchObject({
      field: 'weightsFile',
      message: expect.stringContaining('ENOENT'),
    });
    await expect(createPolicy({ kind: 'linear', weightsFile: other })).rejects.toThrow('these bytes are no linear weights');
  });

  test('an API key that no header can hold is refused without being shown', async () => {
    const policy = createPolicy(parsePolicyText('openai:m@http://127.0.0.1:1/v1'), { apiKey: 'sk-sécret\n' });
    await expect(policy).rejects.toMatchObject({ field: 'apiKey', message: expect.not.stringContaining('cret') });
  });
  test.each([
    ['openai:m@https://me:word@host/v1', 'a user name or a password'],
    ['openai:m@https://host/v1?api_key=sk-word', 'the parameter api_key'],
    ['{"kind":"openai","model":"m","baseUrl":"https://host/v1?token=word"}', 'the parameter token'],
  ])('an address that holds a secret is refused without the secret: %s', (text, part) => {
    expect(() => parsePolicyText(text)).toThrow(part);
    expect(() => parsePolicyText(text)).toThrow(/OPENAI_API_KEY(?!.*word)/);
  });
});
