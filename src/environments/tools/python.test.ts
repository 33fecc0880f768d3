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
])('the program %j shows what it did', async (code, result) => {
  expect(await run(code)).toEqual(result);
  expect(server.requests.at(-1)).toEqual({ code, language: 'python', run_timeout: 10, compile_timeout: 10 });
});

describe('a server in trouble', () => {
  test('is asked again after what may pass, five times in all', async () => {
    server.fail({ kind: 'status', status: 503 }, { kind: 'sandbox-error' }, { kind: 'cut' }, { kind: 'status', status: 429 });
    expect(await run('print(2 + 2)')).toEqual({ content: '4\n', success: true });
    server.fail(...Array.from({ length: 5 }, () => ({ kind: 'sandbox-error' as const })));
    await expect(run('print(2 + 2)')).rejects.toThrow('the sandbox failed: no sandbox is free (tried 5 times)');
  });

  test('is believed at once when it refuses or is no sandbox', async () => {
    server.fail({ kind: 'status', status: 404 });
    await expect(run('print(1)')).rejects.toThrow('HTTP 404');
    server.fail({ kind: 'body', body: '<html>' });
    await expect(run('print(1)')).rejects.toThrow('answered something else: <html>');
  });

  test('that is silent is given up in time', async () => {
    server.fail({ kind: 'silent' }, { kind: 'silent' });
    await expect(run('print(1)', { requestTimeoutMs: 50, attempts: 2 })).rejects.toThrow(
      'has not answered within 50 ms (tried 2 times)',
    );
  });
});

test('no more programs run at a time than allowed, and all do in the end', async () => {
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

test('an address that is no URL is refused', () => {
  expect(() => python({ url: 'here' })).toThrow(ToolError);
});
