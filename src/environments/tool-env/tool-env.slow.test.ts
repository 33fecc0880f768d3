import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type SandboxServer, startSandboxServer } from '../../testing/sandbox-server.ts';
import type { Environment, EnvironmentKind } from '../environment.ts';
import { openEnvironment, parseEnvironment } from '../open-environment.ts';
import type { Tool } from '../tools/tool.ts';
import { openToolbox } from '../tools/toolbox.ts';
import { openReward } from './open-reward.ts';
import { openToolEnv, type ToolEnvOptions } from './tool-env.ts';

const echo: Tool = {
  name: 'echo',
  description: 'Says it again.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  execute: ({ text }) => String(text),
  reward: () => 0.2,
};
const call = (name: string, args: object) =>
  `<think>t</think>\n<tool_call>${JSON.stringify({ name, arguments: args })}</tool_call>`;
const answer = (text: string) => `<think>t</think>\n<answer>${text}</answer>`;

async function open(own: Partial<ToolEnvOptions> = {}, tools: readonly Tool[] = [echo], reward: string | null = null) {
  const profile = own.profile ?? 'nous';
  return openToolEnv({
    profile,
    tasks: [{ alias: '1', prompt: 'Who?', groundTruth: 'Ann', dataSource: 'x', split: 'train', queries: null }],
    toolbox: openToolbox(tools, profile === 'seed' ? 'seed' : 'full'),
    reward: await openReward(reward),
    maxTurns: 3,
    maxResponse: 10,
    toolTimeoutMs: 5_000,
    parallel: false,
    paysCalls: profile === 'seed' || profile === 'v0.1',
    clock: () => 0,
    ...own,
  });
}
async function begin(kind: EnvironmentKind): Promise<Environment> {
  const environment = await kind.create();
  await environment.reset({ alias: '1', seed: 0 });
  return environment;
}

describe('the end of an episode', () => {
  test('a response without a call is the final answer: terminated and scored, with the reason', async () => {
    const environment = await begin(await open());
    expect(await environment.step(answer('Ann.'))).toMatchObject({
      observation: '',
      reward: { value: 1, raw: 1, scale: 1, kind: 'final', scorer: { name: 'exact-match', revision: '1' } },
      terminated: true,
      truncated: false,
      success: true,
      reason: 'final_answer',
      toolCalls: [],
    });
    await expect(environment.step('more')).rejects.toMatchObject({ code: 'gone' });
  });

  test('the last turn truncates the episode, and its text is scored', async () => {
    const environment = await begin(await open({ maxTurns: 2 }));
    expect(await environment.step(call('echo', { text: 'a' }))).toMatchObject({
      terminated: false,
      truncated: false,
      success: null,
    });
    expect(await environment.step(`${call('echo', { text: 'b' })}<answer>Ann</answer>`)).toMatchObject({
      terminated: false,
      truncated: true,
      success: true,
      reward: { value: 1 },
      reason: 'max_steps',
    });
  });
});

describe('results of calls', () => {
  test('a result is framed and truncated for the model, and recorded whole', async () => {
    const environment = await begin(await open());
    const result = await environment.step(call('echo', { text: '0123456789😀' }));
    expect(result.observation).toBe('<tool_response>\n0123456789...\n</tool_response>');
    expect(result.toolCalls).toEqual([
      { tool: 'echo', arguments: '{"text":"0123456789😀"}', output: '0123456789😀', outcome: 'ok', durationMs: 0 },
    ]);
    expect(result.components).toEqual([]); // nous pays no calls
  });

  test('process rewards form a component of their own, separate from the outcome', async () => {
    const environment = await begin(await open({ profile: 'v0.1' }));
    const result = await environment.step(call('echo', { text: 'a' }) + call('echo', { text: 'b' }));
    expect(result.components).toMatchObject([{ component: 'tool', value: 0.4, scorer: { name: 'tools-v0.1' } }]);
    expect(result.toolCalls?.map(({ reward }) => reward)).toEqual([0.2, 0.2]);
    expect(result.reward.value).toBe(0);
    expect(result.observation).toBe('<tool_response>\na\n</tool_response>\n<tool_response>\nb\n</tool_response>');
  });

  test.each<[string, string, number]>([
    ['a malformed call', '<tool_call>{</tool_call>', -0.1],
    ['an unknown tool', call('nope', {}), -0.05],
    ['wrong arguments', call('echo', {}), -0.05],
    ['a tool that throws', call('broken', {}), -0.05],
    ['a good call', call('echo', { text: 'x' }), 0.2],
  ])('%s earns its published reward in the seed profile', async (_what, response, value) => {
    const broken: Tool = {
      ...echo,
      name: 'broken',
      parameters: { type: 'object' },
      execute: () => Promise.reject(new Error('no')),
    };
    const environment = await begin(await open({ profile: 'seed' }, [echo, broken]));
    const result = await environment.step(response);
    expect(result.components).toMatchObject([{ component: 'tool', value }]);
    expect(result).toMatchObject({ terminated: false, truncated: false });
  });

  test('ten megabytes are truncated before they are kept', async () => {
    const big: Tool = { ...echo, execute: () => '😀'.repeat(2_500_000) };
    const environment = await begin(await open({}, [big]));
    const result = await environment.step(call('echo', { text: 'x' }));
    expect(result.observation).toBe(`<tool_response>\n${'😀'.repeat(10)}...\n</tool_response>`);
    expect(Buffer.byteLength(result.toolCalls?.[0]?.output ?? '')).toBe(16_384 * 4 + 3);
  });

  test('an unavailable tool server fails the step, and the turn is not used', async () => {
    let away = true;
    const asking: Tool = {
      ...echo,
      name: 'asking',
      execute: () => {
        if (away) throw Object.assign(new Error('cannot reach the weather'), { name: 'ToolUnavailable' });
        return 'rain';
      },
    };
    const environment = await begin(await open({ maxTurns: 1, parallel: true }, [echo, asking]));
    const response = call('echo', { text: 'x' }) + call('asking', { text: 'x' });
    await expect(environment.step(response)).rejects.toMatchObject({
      name: 'EnvironmentError',
      code: 'backend',
      retryable: true,
      message: 'the tool asking is unavailable: cannot reach the weather',
    });
    away = false;
    expect((await environment.step(response)).observation).toContain('rain');
  });

  test('a step that waits for a tool ends with the reason of its signal', async () => {
    const hanging: Tool = { ...echo, ownLimit: true, execute: () => new Promise(() => undefined) };
    const environment = await begin(await open({ toolTimeoutMs: 1 }, [hanging]));
    const stopping = new AbortController();
    const step = environment.step(call('echo', { text: 'x' }), stopping.signal);
    stopping.abort(new Error('enough'));
    await expect(step).rejects.toThrow('enough');
  });

  test('a tool that hangs is an error shown to the model and recorded', async () => {
    const hanging: Tool = { ...echo, execute: () => new Promise(() => undefined) };
    const environment = await begin(await open({ toolTimeoutMs: 30, maxResponse: 100 }, [hanging]));
    const result = await environment.step(call('echo', { text: 'x' }));
    expect(result.observation).toContain("Error executing tool 'echo': it took longer than 30 ms");
    expect(result.toolCalls).toMatchObject([
      { outcome: 'error', output: "Error executing tool 'echo': it took longer than 30 ms" },
    ]);
  });

  test('a reward that is not a number counts 0, with the reason recorded and not shown to the model', async () => {
    const paying: Tool = { ...echo, reward: () => Number.NaN };
    const environment = await begin(await open({ profile: 'v0.1' }, [paying]));
    const result = await environment.step(call('echo', { text: 'x' }));
    expect(result.observation).toBe('<tool_response>\nx\n</tool_response>');
    expect(result.components).toMatchObject([{ value: 0 }]);
    expect(result.toolCalls).toMatchObject([
      { outcome: 'error', reward: 0, output: 'x\n[reward refused: its reward NaN is no finite number]' },
    ]);
  });
});

test('a copy is independent', async () => {
  const environment = await begin(await open());
  await environment.step(call('echo', { text: 'x' }));
  const copy = await environment.clone?.();
  expect(await copy?.step(answer('Ann'))).toMatchObject({ success: true });
  expect(await environment.step(answer('Bob'))).toMatchObject({ success: false });
});

describe('rewards of one’s own', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reward-'));
  });
  afterAll(() => rm(folder, { recursive: true }));
  const scoredBy = async (source: string) => {
    const file = join(folder, `${Math.random().toString(36).slice(2)}.mjs`);
    await writeFile(file, source);
    const environment = await begin(await open({}, [echo], `${file}#mine`));
    return environment.step(answer('Ann'));
  };

  test.each([
    ['a number', 'export const mine = ({ answer, golds }) => (golds.includes(answer) ? 2 : 0);', 2, true],
    ['a number below 1', 'export const mine = () => 0.5;', 0.5, false],
    ['a promise', 'export const mine = async ({ chat }) => ({ value: chat.length > 0 ? 0.25 : 0, success: true });', 0.25, true],
  ])('%s is accepted as a reward', async (_what, source, value, success) => {
    expect(await scoredBy(source)).toMatchObject({ reward: { value }, success, reason: 'final_answer' });
  });

  test('a reward whose judge is unavailable fails the step', async () => {
    const source = `export const mine = () => { throw Object.assign(new Error('no judge'), { name: 'ToolUnavailable' }); };`;
    await expect(scoredBy(source)).rejects.toMatchObject({
      name: 'EnvironmentError',
      code: 'backend',
      message: 'the reward is unavailable: no judge',
    });
  });

  test.each([
    ['NaN', 'export const mine = () => NaN;', 'it gave NaN'],
    ['a text', 'export const mine = () => "1";', 'it gave string'],
    ['nothing', 'export const mine = () => undefined;', 'it gave undefined'],
    ['an error', 'export const mine = () => { throw new Error("no judge"); };', 'no judge'],
  ])('a reward function that returns %s counts 0, and the end of the episode explains why', async (_what, source, reason) => {
    const result = await scoredBy(source);
    expect(result).toMatchObject({ reward: { value: 0 }, success: null, terminated: true });
    expect(result.reason).toContain(`final_answer; reward refused: ${reason}`);
  });
});

describe('refused addresses', () => {
  test.each([
    ['tool-env:tools=nope', 'there is no tool "nope"; there are search, calculator, python'],
    ['tool-env:tools=./examples/count-letters.ts#nope', 'has no export "nope"; it exports honest, tool'],
    ['tool-env:tools=./examples/count-letters.ts#honest', 'the export: Invalid input: expected object'],
    ['tool-env:tools=./examples/none.ts', '(ENOENT)'],
    ['tool-env:reward=./examples/count-letters.ts#tool', 'the export must be a function, not object'],
    ['tool-env:reward=nope', 'there is no scorer "nope"; there are qa-em-format@legacy-1'],
    ['tool-env:tools=python', 'needs sandbox=URL'],
    ['tool-env:tools=python;sandbox=here', 'is no http URL'],
    ['tool-env:tools=search,search', 'two tools are called "search"'],
    ['tool-env:profile=v1', 'profile=v1 must be seed or nous or retool or v0.1'],
    ['tool-env:max-turns=0', 'max-turns=0 must be a whole number from 1'],
    ['tool-env:top=1', '"top=1" is no option of tool-env'],
    ['tool-env:tasks=./examples/count-letters.ts', 'count-letters.ts:1: is no JSON'],
  ])('the address %s is refused with the alternatives', async (name, message) => {
    await expect(openEnvironment(name)).rejects.toMatchObject({
      name: 'EnvironmentError',
      message: expect.stringContaining(message),
    });
  });
});

test('an address is read with all of its options', () => {
  expect(
    parseEnvironment(
      'tool-env:profile=seed;tools=search, ./a.ts#b;tasks=t.jsonl;retriever=http://a:1,http://b:2;process=no;max-turns=5',
    ),
  ).toMatchObject({
    profile: 'seed',
    tools: ['search', './a.ts#b'],
    tasks: 't.jsonl',
    retriever: ['http://a:1', 'http://b:2'],
    dialect: 'query',
    'max-turns': 5,
    process: 'no',
  });
});

describe('profile retool', () => {
  let sandbox: SandboxServer;
  beforeAll(async () => {
    sandbox = await startSandboxServer((code) => ({ kind: 'finished', stdout: `${code.length} characters` }));
  });
  afterAll(() => sandbox.close());

  test('the sandbox runs programs, and the model sees what they print', async () => {
    const kind = await openEnvironment(`tool-env:profile=retool;sandbox=${sandbox.url};tasks=./examples/letters.jsonl`);
    const environment = await begin(kind);
    const result = await environment.step('I count.\n<code>\nprint(1)\n</code>');
    expect(result.observation).toBe('\n<interpreter>\n21 characters\n</interpreter>\n');
    expect(sandbox.requests[0]?.code).toBe('\n# ========\nprint(1)\n');
    expect(await environment.step('<answer>\\boxed{3}</answer>')).toMatchObject({ terminated: true });
    await kind.close();
  });
});

test('the planner plays a world of questions to the end', async () => {
  const kind = await openEnvironment('tool-env');
  const environment = await kind.create();
  await environment.reset({ alias: kind.taskAliases[200] ?? '', seed: 0 });
  for (let turn = 0; turn < 10; turn++) {
    const result = await environment.step((await environment.expertAction?.()) ?? '');
    if (!result.terminated) expect(result.observation).toContain('{"results":[');
    else return expect(result).toMatchObject({ success: true, reward: { value: 1 } });
  }
  throw new Error('the task was not done in ten turns');
});
