import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { imageId } from '../images/image-id.ts';
import { decodePng } from '../images/png.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

afterEach(killRunning);
const platform = useTestPlatform({ opened: 'before-each', projector: 'none' });
let env: Readonly<Record<string, string>>;
beforeEach(() => {
  env = environmentOf(platform);
});

const COLLECT = ['--json', 'collect', '--environment', 'search-qa', '--policy', 'planner', '--tasks', '4', '--rollouts', '2'];
const IMAGES = ['--prompt', 'image', '--profile', 'agentocr-search', '--compression', 'tokens-saved'];

async function collect(...more: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runEspalier([...COLLECT, ...more], env);
  if (code !== 0) throw new Error(stderr);
  return (JSON.parse(stdout) as { run: string }).run; // as the command prints it
}

test('two processes and two runs that show the same histories record each segment once', async () => {
  const runs = [await collect(...IMAGES), await collect(...IMAGES)];
  const { db } = platform.database;
  const shown = await db.selectFrom('historyImages').select(['runId', 'imageId']).execute();
  const imagesOf = (run: string) => new Set(shown.filter((one) => one.runId === run).map((one) => one.imageId));
  expect(imagesOf(runs[0] as string).size).toBeGreaterThan(3);
  expect(imagesOf(runs[1] as string)).toEqual(imagesOf(runs[0] as string));
  const segments = await db.selectFrom('segments').select('segmentId').execute();
  const recorded = await db.selectFrom('events').select('eventId').where('type', '=', 'SegmentRendered').execute();
  expect(recorded).toHaveLength(segments.length);
  const drawn = await db
    .selectFrom('historyImages')
    .select('missed')
    .where('runId', '=', runs[1] as string)
    .execute();
  expect(drawn.flatMap(({ missed }) => missed)).toEqual([]); // the second process took them from the shared folder
});

test('a collection ends with the number of characters that the published renderer may draw otherwise', async () => {
  const world = join(platform.home, 'arabic.mjs');
  await writeFile(
    world,
    `const shown = { observation: 'مرحبا', admissibleActions: ['go'], stateHash: null };
    const reward = { value: 0, raw: 0, scale: 1, kind: 'delta' };
    const ended = { terminated: false, truncated: false, success: null, executable: true };
    const world = {
      reset: async () => ({ ...shown, instruction: 'walk', goal: 'walk', depth: null, split: null }),
      step: async () => ({ ...shown, ...ended, reward }),
      parse: (response) => ({ thought: '', action: response, wellFormatted: true }),
      close: async () => undefined,
    };
    const kind = { name: 'arabic', fingerprint: 'arabic 1', taskAliases: ['1'], create: async () => world, close: async () => undefined };
    export const environment = { name: 'arabic', open: async () => kind };`,
  );
  const prompt = ['--prompt', 'image', '--template', 'textcraft', '--profile', 'agentocr-alfworld'];
  const args = [
    'collect',
    '--environment',
    world,
    '--policy',
    'random',
    '--tasks',
    '1',
    '--rollouts',
    '1',
    '--max-steps',
    '3',
    ...prompt,
  ];
  const { stderr } = await runEspalier(args, env);
  expect(stderr).toMatch(/note: the images of run \S+ show 15 characters that the published renderer may draw otherwise/);
});

describe('espalier compression-sweep', () => {
  test('the sweep counts a text run as if its histories were images, and an image run the same way', async () => {
    const rowsOf = async (run: string, ...more: readonly string[]) => {
      const { stdout } = await runEspalier(['--json', 'compression-sweep', '--run', run, '--cf', '1,1.2,2,5', ...more], env);
      return (JSON.parse(stdout) as { rows: { factor: number; tokens: number }[] }).rows; // as the command prints it
    };
    const inText = await rowsOf(await collect('--prompt', 'text'), '--profile', 'agentocr-search');
    const shown = await rowsOf(await collect(...IMAGES, '--factor', '3'));
    expect(inText.map(({ factor }) => factor)).toEqual([1, 1.2, 2, 5]);
    expect(shown.map(({ tokens }) => tokens)).toEqual(inText.map(({ tokens }) => tokens));
    for (const [i, row] of inText.entries()) if (i > 0) expect(row.tokens).toBeLessThan((inText[i - 1] as typeof row).tokens);
  });
});

describe('espalier render', () => {
  test('render draws a text, and its PNG holds the pixels that the image id names', async () => {
    const [text, out] = [join(platform.home, 'h.txt'), join(platform.home, 'h.png')];
    await writeFile(text, '[Observation]: A room. 木 \u0007 \u200f [Action]: look\n\n[Observation]: A desk. [Action]: open it\n');
    const { stdout } = await runEspalier(['--json', 'render', '--cf', '1.2', '--out', out, text], env);
    const facts = JSON.parse(stdout) as { imageId: string; segments: number; outside: number }; // as the command prints it
    const { width, height, rgb } = await decodePng(await readFile(out));
    expect(imageId(width, height, rgb)).toBe(facts.imageId);
    expect(facts).toMatchObject({ segments: 2, outside: 3, unshaped: 0 });
  });

  test.each([
    ['0', '--cf takes a number from 1 to 1000000000000, not "0"'],
    ['NaN', '--cf takes a number from 1 to 1000000000000, not "NaN"'],
  ])('render refuses the factor %s', async (cf, words) => {
    const text = join(platform.home, 'h.txt');
    await writeFile(text, 'a');
    const { code, stderr } = await runEspalier(['render', '--cf', cf, text], env);
    expect([code, stderr]).toEqual([1, `espalier: ${words}\n`]);
  });

  test('a line of a megabyte at a factor of a billion becomes a small image that shows what it left out', async () => {
    const text = join(platform.home, 'h.txt');
    await writeFile(text, 'word '.repeat(200_000));
    const { stdout } = await runEspalier(['--json', 'render', '--cf', '1e9', text], env);
    const { width, height, cut } = JSON.parse(stdout) as { width: number; height: number; cut: { lines: number } }; // as printed
    expect([width <= 392, height <= 392, cut.lines > 1_000]).toEqual([true, true, true]);
  });
});
