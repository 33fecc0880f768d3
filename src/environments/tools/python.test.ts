import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type Ran, type SandboxServer, startSandboxServer } from '../../testing/sandbox-server.ts';
import { NO_OUTPUT, python } from './python.ts';
import { ToolError } from './tool.ts';

let server: SandboxServer;
let gates: (() => void)[] = [];
beforeAll(async () => {
  server = await startSandboxServer(async (code): Promise<Ran> => {
    if (code === 'wait') await new Promise<void>((resolve) => gates.push(resolve));
    if (code === 'while True: pass') return { kind: 'too-long' };
    if (code === '1/0') return { kind: 'raised', stdout: 'before', stderr: 'ZeroDivisionError: division by zero' };
    return { kind: 'finished', stdout: code.startsWith('print') ? '4\n' : '' };
  });
});
beforeEach(() => {
  gates = [];
});
afterAll(() => server.close());
const signal = new AbortController().signal;
const tool = (options: object = {}) => python({ url: server.url, pauseMs: 1, ...options });
const run = async (code: string, options: object = {}) => tool(options).execute({ code }, signal);

test.each<[string, { content: string; success: boolean }]>([
  ['print(2 + 2)', { content: '4\n', success: true }],
  ['x = 1', { content: NO_OUTPUT, success: true }],
  ['1/0', { content: 'before\nZeroDivisionError: division by zero', success: false }],
  ['while True: pass', { content: 'The program took longer than 10 s.', success: false }],
])('the program %j shows its output', async (code, result) => {
  expect(await run(code)).toEqual(result);
  expect(server.requests.at(-1)).toEqual({ code, language: 'python', run_timeout: 10, compile_timeout: 10 });
});

describe('failing sandbox servers', () => {
  test('a transient failure is retried, up to five attempts in all', async () => {
    server.fail({ kind: 'status', status: 503 }, { kind: 'sandbox-error' }, { kind: 'cut' }, { kind: 'status', status: 429 });
    expect(await run('print(2 + 2)')).toEqual({ content: '4\n', success: true });
    server.fail(...Array.from({ length: 5 }, () => ({ kind: 'sandbox-error' as const })));
    await expect(run('print(2 + 2)')).rejects.toThrow('the sandbox failed: no sandbox is free (tried 5 times)');
  });

  test('a refused program is shown at once, and a server that is not a sandbox makes the tool unavailable at once', async () => {
    server.fail({ kind: 'status', status: 413 });
    expect(await run('print(1)')).toEqual({ content: expect.stringContaining('HTTP 413'), success: false });
    server.fail({ kind: 'status', status: 404 });
    await expect(run('print(1)')).rejects.toMatchObject({
      name: 'ToolUnavailable',
      message: expect.stringContaining('HTTP 404'),
    });
    server.fail({ kind: 'body', body: '<html>' });
    await expect(run('print(1)')).rejects.toThrow('answered something else: <html>');
  });

  test('a pause is waited out before the retry, unless it is longer than two minutes', async () => {
    const waits: number[] = [];
    const sleep = async (ms: number) => void waits.push(ms);
    server.fail({ kind: 'status', status: 429, headers: { 'retry-after': '20' } }, { kind: 'status', status: 425 });
    expect(await run('print(2 + 2)', { sleep })).toEqual({ content: '4\n', success: true });
    server.fail({ kind: 'status', status: 503, headers: { 'retry-after': '600' } });
    await expect(run('print(2 + 2)', { sleep })).rejects.toMatchObject({ name: 'ToolUnavailable' });
    expect(waits).toEqual([20_000, 2]);
  });

  test('a silent server is given up after the time limit', async () => {
    server.fail({ kind: 'silent' }, { kind: 'silent' });
    await expect(run('print(1)', { requestTimeoutMs: 50, attempts: 2 })).rejects.toThrow(
      'has not answered within 50 ms (tried 2 times)',
    );
  });
});

test('the number of concurrent programs is bounded, and all of them run in the end', async () => {
  const one = tool({ concurrency: 2 });
  const runs = Array.from({ length: 5 }, () => one.execute({ code: 'wait' }, signal));
  for (let open = 0; open < 5; ) {
    await new Promise((resolve) => setImmediate(resolve));
    const gate = gates.shift();
    if (gate) open++;
    gate?.();
  }
  expect(await Promise.all(runs)).toHaveLength(5);
  expect(server.most()).toBe(2);
});

test('an address that is not a URL is refused', () => {
  expect(() => python({ url: 'here' })).toThrow(ToolError);
});
