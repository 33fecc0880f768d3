import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import { describeWithKafka } from '../../src/testing/kafka-describe.ts';
import { answers } from './answers.ts';
import { startKafka } from './start-kafka.ts';

const POLL_MS = 20;
const LIMIT_MS = 10_000;

describeWithKafka('a local broker', () => {
  test('the broker answers until it is stopped, and its temporary data is removed', async () => {
    const kafka = await startKafka();
    expect(await answers(kafka.port)).toBe(true);
    await kafka.stop();
    expect(await answers(kafka.port)).toBe(false);
    expect(existsSync(kafka.folder)).toBe(false);
  });

  test('a port in use is refused with the message of the broker', async () => {
    const kafka = await startKafka();
    try {
      await expect(startKafka({ port: kafka.port })).rejects.toThrow(/ended before it answered.*Address already in use/s);
    } finally {
      await kafka.stop();
    }
  });

  test('a cancelled start leaves nothing behind', async () => {
    await expect(startKafka({ signal: AbortSignal.abort(new Error('called off')) })).rejects.toThrow('called off');
  });

  test('the broker dies with the process that started it, also when that process is killed with SIGKILL', async () => {
    const root = join(import.meta.dirname, '../..');
    const parent = spawn(process.execPath, ['--import', 'tsx', 'infra/kafka/main.ts'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const port = await portOf(parent.stdout);
    expect(await answers(port)).toBe(true);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    const end = Date.now() + LIMIT_MS;
    while ((await answers(port)) && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    expect(await answers(port)).toBe(false);
  });
});

async function portOf(output: NodeJS.ReadableStream): Promise<number> {
  for await (const line of createInterface(output)) {
    const port = /^KAFKA_BROKERS=127\.0\.0\.1:(\d+)$/.exec(line)?.[1];
    if (port !== undefined) return Number(port);
  }
  throw new Error('npm run kafka ended without naming its broker');
}
