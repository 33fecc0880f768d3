import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DataOf } from '../events/catalogue.ts';
import { imageId } from '../images/image-id.ts';
import { encodePng } from '../images/png.ts';

/** A picture of the world, as a test names it and a request holds it. */
export interface TestPicture {
  readonly id: string;
  readonly base64: string;
  /** The part of a chat message that shows it. */
  readonly part: object;
  /** As events hold it. */
  readonly data: NonNullable<DataOf<'StepTaken'>['pictures']>[number];
}

export interface TestPictures {
  readonly dot: TestPicture;
  /** More than 64 KiB as a PNG. */
  readonly noise: TestPicture;
  readonly red: TestPicture;
}

export interface PaintedWorld extends TestPictures {
  /** The environment as a plan names it. */
  readonly environment: string;
}

/**
 * Writes an environment that shows pictures into a folder: a dot with its opening; noise with the first step, or red where the
 * action was `right`; none with the second step, which ends the episode, a success unless it began by `right`. What it is given
 * as the task `broken` is no picture; `PAINTED=other` in the process makes it show red in the place of noise.
 */
export async function paintedWorld(folder: string): Promise<PaintedWorld> {
  const pictures = await testPictures();
  const { dot, noise, red } = pictures;
  const file = join(folder, 'painted.mjs');
  await writeFile(file, moduleOf({ dot: dot.base64, noise: noise.base64, red: red.base64 }));
  return { environment: `module:${file}`, ...pictures };
}

/** Draws the pictures of the world. */
export async function testPictures(): Promise<TestPictures> {
  let state = 1;
  const noisy = Uint8Array.from({ length: 200 * 200 * 3 }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return state & 255;
  });
  const [dot, noise, red] = await Promise.all([
    picture(1, 1, Uint8Array.of(1, 2, 3)),
    picture(200, 200, noisy),
    picture(2, 1, Uint8Array.of(255, 0, 0, 255, 0, 0)),
  ]);
  return { dot, noise, red };
}

async function picture(width: number, height: number, rgb: Uint8Array): Promise<TestPicture> {
  const png = await encodePng({ width, height, rgb });
  const base64 = Buffer.from(png).toString('base64');
  const part = { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } };
  const id = imageId(width, height, rgb);
  const data = { imageId: id, width, height, png: { dtype: 'uint8' as const, length: png.length, bytes: base64 } };
  return { id, base64, part, data };
}

const moduleOf = (pictures: object): string => `
const { dot, noise, red } = ${JSON.stringify(pictures)};
const nothing = { depth: null, split: null, admissibleActions: null, stateHash: null };
const play = () => {
  let actions = [];
  const open = (alias) => {
    actions = [];
    const pictures = [alias === 'broken' ? 'R0lGODlh' : Uint8Array.from(Buffer.from(dot, 'base64'))];
    return { instruction: '', observation: 'a dot', pictures, goal: 'look', ...nothing };
  };
  const take = (action) => {
    actions.push(action);
    const done = actions.length === 2;
    const right = done && actions[0] !== 'right';
    const seen = action === 'right' || process.env.PAINTED === 'other' ? red : noise;
    return {
      observation: 'step ' + actions.length, ...(done ? {} : { pictures: ['data:image/png;base64,' + seen] }),
      reward: { value: right ? 1 : 0, raw: right ? 1 : 0, scale: 1, kind: 'final' }, terminated: done, truncated: false,
      success: done ? right : null, executable: true, ...nothing,
    };
  };
  return {
    reset: async ({ alias }) => open(alias),
    step: async (action) => take(action),
    replay: async ({ alias }, taken) => ({ opening: open(alias), steps: taken.map(take) }),
    parse: (response) => ({ thought: '', action: /Action: (.*)/.exec(response)?.[1] ?? response, wellFormatted: true }),
    close: async () => undefined,
  };
};
export const environment = { name: 'painted', open: async () => ({
  name: 'painted', fingerprint: '1', taskAliases: ['1', '2', 'broken'], create: async () => play(), close: async () => undefined,
}) };
`;
