import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { type LifecycleOptions, type Running, runUntilStopped } from './lifecycle.ts';
import { createLogger } from './logger.ts';

describe('runUntilStopped', () => {
  test('a worker that ends by itself is closed with exit code 0', async () => {
    const world = given();
    await world.run(async () => ({ finished: Promise.resolve(), close: world.close }));
    expect(world).toMatchObject({ exits: [0], closed: 1, lines: [] });
  });

  test('a signal aborts and closes the worker with exit code 0', async () => {
    const world = given();
    let aborted = false;
    const ended = world.run(async (signal) => {
      signal.addEventListener('abort', () => {
        aborted = true;
      });
      return { finished: new Promise(() => undefined), close: world.close };
    });
    world.source.emit('SIGTERM', 'SIGTERM');
    await ended;
    expect(aborted).toBe(true);
    expect(world).toMatchObject({ exits: [0], closed: 1 });
    expect(world.lines).toEqual([expect.objectContaining({ level: 'info', message: 'stopping', signal: 'SIGTERM' })]);
  });

  test('a signal that interrupts work that ends gives 128 plus its number, also during the start; the end of the work gives 0', async () => {
    for (const start of [
      async () => ({ finished: new Promise(() => undefined), close: async () => undefined }),
      () => Promise.reject(new Error('aborted')),
    ]) {
      const world = given();
      const ended = world.run((signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve(start()))), {
        ends: true,
      });
      world.source.emit('SIGTERM', 'SIGTERM');
      await ended;
      expect(world.exits).toEqual([143]);
    }
    const world = given();
    await world.run(async () => ({ finished: Promise.resolve(), close: world.close }), { ends: true });
    expect(world.exits).toEqual([0]);
  });

  test('a rejected `finished` is logged once and closes the worker with exit code 1', async () => {
    const world = given();
    await world.run(async () => ({ finished: Promise.reject(new Error('the broker said no')), close: world.close }));
    expect(world).toMatchObject({ exits: [1], closed: 1 });
    expect(world.lines).toEqual([expect.objectContaining({ level: 'error', message: 'the broker said no' })]);
  });

  test('a failing start is logged once, with exit code 1', async () => {
    const world = given();
    await world.run(() => Promise.reject(new Error('port 4000 is in use')));
    expect(world).toMatchObject({ exits: [1], closed: 0 });
    expect(world.lines).toEqual([expect.objectContaining({ message: 'port 4000 is in use' })]);
  });

  test.each(['unhandledRejection', 'uncaughtException'])(
    'an %s is logged once and closes the worker with exit code 1',
    async (event) => {
      const world = given();
      const ended = world.run(async () => ({ finished: new Promise(() => undefined), close: world.close }));
      world.source.emit(event, new Error('a bug'));
      world.source.emit(event, new Error('its echo'));
      await ended;
      expect(world).toMatchObject({ exits: [1], closed: 1 });
      expect(world.lines).toEqual([expect.objectContaining({ message: 'a bug' })]);
    },
  );

  test('a close that fails or exceeds its limit ends the process with exit code 1', async () => {
    const failing = given();
    await failing.run(async () => ({ finished: Promise.resolve(), close: () => Promise.reject(new Error('stuck')) }));
    expect(failing.exits).toEqual([1]);
    const slow = given();
    await slow.run(async () => ({ finished: Promise.resolve(), close: () => new Promise(() => undefined) }), { closeMs: 10 });
    expect(slow.exits).toEqual([1]);
    expect(slow.lines).toEqual([expect.objectContaining({ message: 'did not close within 0.01 s; ending anyway' })]);
  });

  test('a second signal ends the process at once with 128 plus its number', async () => {
    const world = given();
    const ended = world.run(async () => ({ finished: new Promise(() => undefined), close: () => new Promise(() => undefined) }), {
      closeMs: 50,
    });
    world.source.emit('SIGINT', 'SIGINT');
    world.source.emit('SIGINT', 'SIGINT');
    expect(world.exits).toEqual([130]);
    await ended;
  });

  test('a signal during the start closes what the start opened', async () => {
    const world = given();
    let opened: (running: Running) => void = () => undefined;
    const ended = world.run(
      () =>
        new Promise<Running>((resolve) => {
          opened = resolve;
        }),
    );
    world.source.emit('SIGINT', 'SIGINT');
    opened({ finished: new Promise(() => undefined), close: world.close });
    await ended;
    expect(world).toMatchObject({ exits: [0], closed: 1 });
  });

  test('runUntilStopped leaves no listener behind', async () => {
    const world = given();
    await world.run(async () => ({ finished: Promise.resolve(), close: world.close }));
    expect(world.source.eventNames()).toEqual([]);
  });

  test('a real process stops on SIGTERM with exit code 0 although a timer still runs', async () => {
    const script = `
      import { runUntilStopped } from ${JSON.stringify(new URL('./lifecycle.ts', import.meta.url).href)};
      setInterval(() => undefined, 1_000);
      await runUntilStopped(async () => { console.log('ready'); return { finished: new Promise(() => undefined), close: async () => undefined }; });
    `;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

function given() {
  const source = new EventEmitter();
  const lines: unknown[] = [];
  const world = {
    source,
    lines,
    exits: [] as number[],
    closed: 0,
    close: async () => {
      world.closed++;
    },
    run: (start: (signal: AbortSignal) => Promise<Running>, options: LifecycleOptions = {}) =>
      runUntilStopped(start, {
        logger: createLogger({ form: 'json', write: (line) => void lines.push(JSON.parse(line)) }),
        closeMs: 5_000,
        ...options,
        process: source,
        exit: (code) => void world.exits.push(code),
      }),
  };
  return world;
}
