import { describe, expect, test } from '@jest/globals';
import type { ModelServer, ServedVersion } from './model-server.ts';
import { WeightsGate } from './weights-gate.ts';

const { signal } = new AbortController();
const version = (number: number): ServedVersion => ({
  policyId: 'p',
  version: number,
  folder: `/checkpoints/${number}`,
  tensors: `tensors ${number}`,
});

/** A model server that notes what it is asked, and that a test can end. */
function servers() {
  const log: string[] = [];
  const ends: AbortController[] = [];
  return {
    log,
    end: () => ends.at(-1)?.abort(new Error('it was killed')),
    async open(): Promise<ModelServer> {
      log.push('open');
      const gone = new AbortController();
      ends.push(gone);
      return {
        baseUrl: `http://server-${ends.length}/v1`,
        gone: gone.signal,
        async load({ version: number }) {
          log.push(`load ${number}`);
          if (number === 13) throw new Error('there is no such checkpoint');
          return { model: 'policy', fingerprint: `tensors ${number}` };
        },
        close: async () => void log.push('close'),
      };
    },
  };
}

/** A piece of work that goes on until the test lets it end. */
function work() {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let held = '';
  return {
    end: () => end(),
    held: () => held,
    run: async ({ fingerprint }: { readonly fingerprint: string | null }) => {
      held = fingerprint ?? '';
      await ended;
      return held;
    },
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('the gate of a model server', () => {
  test('requests of one version go on side by side, and one of another version waits until they are answered', async () => {
    const { open, log } = servers();
    const gate = new WeightsGate(open);
    const [one, two, other] = [work(), work(), work()];
    const first = gate.use(version(0), signal, one.run);
    const second = gate.use(version(0), signal, two.run);
    await settled();
    expect([one.held(), two.held()]).toEqual(['tensors 0', 'tensors 0']);
    const third = gate.use(version(1), signal, other.run);
    one.end();
    await first;
    await settled();
    expect(other.held()).toBe('');
    two.end();
    await second;
    await settled();
    expect(other.held()).toBe('tensors 1');
    other.end();
    expect(await third).toBe('tensors 1');
    expect(log).toEqual(['open', 'load 0', 'load 1']);
  });

  test('requests behind one that waits for other weights wait as well, so that none waits for ever', async () => {
    const { open, log } = servers();
    const gate = new WeightsGate(open);
    const [one, other, late] = [work(), work(), work()];
    const all = [gate.use(version(0), signal, one.run)];
    await settled();
    all.push(gate.use(version(1), signal, other.run), gate.use(version(0), signal, late.run));
    await settled();
    expect(late.held()).toBe('');
    for (const each of [one, other, late]) each.end();
    expect(await Promise.all(all)).toEqual(['tensors 0', 'tensors 1', 'tensors 0']);
    expect(log).toEqual(['open', 'load 0', 'load 1', 'load 0']);
  });

  test('weights that cannot be loaded are an error for who asked for them, and others go on', async () => {
    const gate = new WeightsGate(servers().open);
    const failed = gate.use(version(13), signal, async () => 'never');
    const fine = gate.use(version(1), signal, async ({ fingerprint }) => fingerprint);
    await expect(failed).rejects.toThrow('there is no such checkpoint');
    expect(await fine).toBe('tensors 1');
  });

  test('a server that has gone is opened again by the next request', async () => {
    const { open, end, log } = servers();
    const gate = new WeightsGate(open);
    const urlOf = () => gate.use(version(2), signal, async ({ server }) => server.baseUrl);
    expect(await urlOf()).toBe('http://server-1/v1');
    end();
    expect(await urlOf()).toBe('http://server-2/v1');
    await gate.close();
    expect(log).toEqual(['open', 'load 2', 'close', 'open', 'load 2', 'close']);
  });

  test('a server that goes while it loads weights is opened again, and loads them', async () => {
    const { open, end, log } = servers();
    let loads = 0;
    const gate = new WeightsGate(async () => {
      const server = await open();
      return {
        ...server,
        async load(asked, either) {
          if (++loads === 2) {
            end();
            throw new Error('the connection was cut');
          }
          return server.load(asked, either);
        },
      };
    });
    const urlOf = (number: number) => gate.use(version(number), signal, async ({ server }) => server.baseUrl);
    expect([await urlOf(0), await urlOf(1)]).toEqual(['http://server-1/v1', 'http://server-2/v1']);
    expect(log).toEqual(['open', 'load 0', 'close', 'open', 'load 1']);
  });

  test('a request that is given up while it waits leaves its place', async () => {
    const gate = new WeightsGate(servers().open);
    const [one, next] = [work(), work()];
    const stopping = new AbortController();
    const first = gate.use(version(0), signal, one.run);
    await settled();
    const given = gate.use(version(1), stopping.signal, async () => 'never');
    const behind = gate.use(version(0), signal, next.run);
    stopping.abort(new Error('not wanted any more'));
    await expect(given).rejects.toThrow('not wanted any more');
    await settled();
    expect(next.held()).toBe('tensors 0');
    one.end();
    next.end();
    await Promise.all([first, behind]);
  });
});
