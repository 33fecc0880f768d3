import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

const DOCS = fileURLToPath(new URL('../../docs', import.meta.url));
const commands = readdirSync(DOCS, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .flatMap((name) =>
    [...readFileSync(join(DOCS, name), 'utf8').matchAll(/^```sh run\n([\s\S]*?)^```/gm)].map(([, block = '']) => ({
      name,
      block,
    })),
  )
  .flatMap(({ name, block }) =>
    block
      .trim()
      .split('\n')
      .map((line) => ({ name, line: line.replace(/\s+#.*$/, '') })),
  );

let platform: Platform & { readonly home: string };
beforeAll(async () => {
  platform = await openTestPlatform();
  const { code, stderr } = await runEspalier(
    ['collect', '--tasks', '2', '--rollouts', '2', '--policy', 'planner:0.3'],
    environmentOf(platform),
  );
  if (code !== 0) throw new Error(stderr);
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

describe('runnable commands of the documentation', () => {
  test('the documentation has runnable commands, each a command of espalier', () => {
    expect(commands.length).toBeGreaterThan(3);
    expect(commands.filter(({ line }) => !line.startsWith('npx espalier '))).toEqual([]);
  });

  test.each(commands)('$line ($name) succeeds on a record of one run', async ({ line }) => {
    const { code, stderr } = await runEspalier(line.split(/\s+/).slice(2), environmentOf(platform));
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  });
});
