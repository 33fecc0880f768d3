import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { openAiPolicy } from '../../policies/openai-policy.ts';
import type { ServedVersion } from '../../policies/served/model-server.ts';
import { servedPolicy } from '../../policies/served/served-policy.ts';
import { WeightsGate } from '../../policies/served/weights-gate.ts';
import { readConfig } from '../../runtime/config.ts';
import { anActRequest } from '../../testing/act-request.ts';
import { BASE, type EngineServer, startSglang, startVllm } from '../../testing/engine-server.ts';
import { modelServerOf } from './open-model-server.ts';

const { signal } = new AbortController();
let folder: string;
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-engines-'));
});
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Writes a checkpoint whose weights are a text. */
async function version(number: number, kind: 'whole' | 'adapter'): Promise<ServedVersion> {
  const path = join(folder, `${kind}-${number}`);
  await mkdir(path, { recursive: true });
  await writeFile(join(path, kind === 'whole' ? 'model.safetensors' : 'adapter_model.safetensors'), `${kind} ${number}`);
  if (kind === 'adapter') await writeFile(join(path, 'adapter_config.json'), '{}');
  return { policyId: 'p', version: number, folder: path, tensors: `${kind}${number}`.padEnd(64, '0') };
}

function gateOf(kind: string, engine: EngineServer): WeightsGate {
  const { home, python } = readConfig();
  const gate = new WeightsGate(modelServerOf(`${kind}:${engine.root}/v1/`, { config: { home, python } }));
  open.push(gate, engine);
  return gate;
}

async function say(gate: WeightsGate, of: ServedVersion): Promise<string> {
  const [act] = await servedPolicy(gate, of).act(anActRequest(), signal);
  expect(act?.policy).toEqual({ policyId: 'p', version: of.version });
  return act?.response ?? '';
}

describe.each<[string, 'whole' | 'adapter', () => Promise<EngineServer>]>([
  ['vllm', 'whole', () => startVllm({ dev: true, named: true })],
  ['vllm', 'whole', () => startVllm({ dev: true })],
  ['vllm', 'adapter', () => startVllm({ lora: true })],
  ['sglang', 'whole', () => startSglang()],
  ['sglang', 'whole', () => startSglang({ legacy: true })],
  ['sglang', 'adapter', () => startSglang({ lora: true })],
])('the versions of a policy on %s, %s', (kind, what, start) => {
  test('each act is drawn by the weights of its version, whichever was loaded before', async () => {
    const gate = gateOf(kind, await start());
    const [one, two] = [await version(1, what), await version(2, what)];
    for (const each of [one, two, one]) expect(await say(gate, each)).toBe(`${what} ${each.version}`);
  });

  test('weights that are not there are an error with the words of the server and the remedy', async () => {
    const gate = gateOf(kind, await start());
    const lost = { ...(await version(3, what)), folder: join(folder, 'nowhere') };
    if (what === 'adapter') {
      await mkdir(lost.folder, { recursive: true });
      await writeFile(join(lost.folder, 'adapter_config.json'), '{}');
    }
    await expect(say(gate, lost)).rejects.toThrow(/does not (load|read).*nowhere.*(start it with|must be there)/s);
  });
});

test('a server that was not started for it is refused with the flags that it needs', async () => {
  const bare = await startVllm({});
  await expect(say(gateOf('vllm', bare), await version(1, 'whole'))).rejects.toThrow(/VLLM_SERVER_DEV_MODE=1/);
  await expect(say(gateOf('vllm', bare), await version(1, 'adapter'))).rejects.toThrow(/--enable-lora/);
  const without = await startSglang();
  await expect(say(gateOf('sglang', without), await version(1, 'adapter'))).rejects.toThrow(/not enabled.*--enable-lora/s);
});

test.each([0.5, 2])(
  'vLLM whose log-probabilities are from before the temperature is refused for training at temperature %s, and asked at 1',
  async (temperature) => {
    const one = await version(1, 'whole');
    const raw = servedPolicy(gateOf('vllm', await startVllm({ dev: true, logProbs: 'raw' })), one);
    await expect(raw.act(anActRequest({ temperature, trains: true }), signal)).rejects.toThrow(
      /log-probabilities from before the temperature, .*; start it with --logprobs-mode processed_logprobs/,
    );
    await expect(raw.forward({ messages: [], temperature }, signal)).rejects.toThrow(/--logprobs-mode processed_logprobs/);
    expect(await raw.act(anActRequest({ temperature: 1, trains: true }), signal)).toHaveLength(1);
    const processed = servedPolicy(gateOf('vllm', await startVllm({ dev: true, logProbs: 'processed' })), one);
    expect(await processed.act(anActRequest({ temperature, trains: true }), signal)).toHaveLength(1);
  },
);

test('a server whose answers do not tell of which distribution they are is refused for training at other temperatures than 1', async () => {
  const mute = servedPolicy(gateOf('sglang', await startSglang()), await version(1, 'whole'));
  const asked = { temperature: 0.5, trains: true } as const;
  await expect(mute.act(anActRequest(asked), signal)).rejects.toThrow(/does not show whether its log-probabilities are of what/);
  expect(await mute.act(anActRequest({ ...asked, temperature: 1 }), signal)).toHaveLength(1);
  expect(await mute.act(anActRequest({ temperature: 0.5 }), signal)).toHaveLength(1);
});

test.each([
  { logProbs: 'raw', refused: /log-probabilities from before the temperature/ },
  { logProbs: undefined, refused: /does not show whether its log-probabilities/ },
  { logProbs: 'processed', refused: null },
] as const)(
  'openai: measures a server before it trains, here one with $logProbs log-probabilities',
  async ({ logProbs, refused }) => {
    const engine = await startVllm(logProbs ? { logProbs } : {});
    const policy = openAiPolicy({ baseUrl: `${engine.root}/v1`, model: BASE });
    const act = (temperature: number) => policy.act(anActRequest({ temperature, trains: true }), signal);
    if (refused) await expect(act(0.5)).rejects.toThrow(refused);
    else for (const _ of [1, 2]) expect(await act(0.5)).toHaveLength(1);
    expect(await act(1)).toHaveLength(1);
    expect(engine.asked).toHaveLength(refused ? 3 : 5); // two to measure, once
  },
);

test('an adapter that a process before left on the server is taken as it is', async () => {
  for (const [kind, engine] of [
    ['vllm', await startVllm({ lora: true })],
    ['sglang', await startSglang({ lora: true })],
  ] as const) {
    const one = await version(1, 'adapter');
    expect(await say(gateOf(kind, engine), one)).toBe('adapter 1');
    expect(await say(gateOf(kind, engine), one)).toBe('adapter 1');
  }
});

test('a reply that carries other weights than SGLang confirmed is never a sample of the version', async () => {
  const engine = await startSglang();
  const gate = gateOf('sglang', engine);
  const [one, two] = [await version(1, 'whole'), await version(2, 'whole')];
  expect(await say(gate, one)).toBe('whole 1');
  await engine.intrude(two.folder);
  await expect(say(gate, one)).rejects.toThrow(/answered by the weights .*whole-2.* let no other program exchange its weights/s);
});

test('an address that is missing or not reached is named', async () => {
  const { home, python } = readConfig();
  const one = await version(1, 'whole');
  await expect(modelServerOf('vllm', { config: { home, python } })(one, signal)).rejects.toThrow(
    /server needs the address of vLLM; write for example vllm:http/,
  );
  const closed = await startSglang();
  await closed.close();
  await expect(modelServerOf(`sglang:${closed.root}`, { config: { home, python } })(one, signal)).rejects.toThrow(
    /SGLang at http.* is not reached/,
  );
});
