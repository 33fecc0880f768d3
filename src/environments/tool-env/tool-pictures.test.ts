import { expect, test } from '@jest/globals';
import { imageId } from '../../images/image-id.ts';
import { encodePng } from '../../images/png.ts';
import type { Tool, ToolResult } from '../tools/tool.ts';
import { openToolbox } from '../tools/toolbox.ts';
import { answerTurn } from './answer-turn.ts';

const dot = async (shade: number) => {
  const image = { width: 1, height: 1, rgb: Uint8Array.of(shade, shade, shade) };
  return { id: imageId(1, 1, image.rgb), png: await encodePng(image) };
};

/** A tool that returns what the function says for its argument. */
const draw = (result: (what: string) => ToolResult): Tool => ({
  name: 'draw',
  description: 'Draws.',
  parameters: { type: 'object', properties: { what: { type: 'string' } }, required: [] },
  execute: ({ what }) => result(String(what)),
});

const call = (what: string) => `<tool_call>{"name": "draw", "arguments": {"what": "${what}"}}</tool_call>`;

async function answered(tool: Tool, ...calls: readonly string[]) {
  const rules = { profile: 'v0.1', parallel: true, paysCalls: false, toolbox: openToolbox([tool], 'full') } as const;
  const limits = { timeoutMs: 60_000, signal: new AbortController().signal, clock: () => 0 };
  return answerTurn(rules, calls.map(call).join('\n'), limits);
}

test('pictures of the calls of a turn are in the order of the calls', async () => {
  const [dark, light] = [await dot(1), await dot(200)];
  const turn = await answered(
    draw((what) => ({ content: what, pictures: [what === 'dark' ? dark.png : Buffer.from(light.png).toString('base64')] })),
    ...['light', 'dark'],
  );
  expect(turn.pictures.map((each) => each.imageId)).toEqual([light.id, dark.id]);
  expect(turn.calls.map(({ outcome }) => outcome)).toEqual(['ok', 'ok']);
});

test('a call whose picture is none has failed, with the reason for the model, and keeps the others', async () => {
  const { id, png } = await dot(9);
  const turn = await answered(
    draw((what) => ({ content: what, pictures: [what === 'bad' ? 'GIF89a' : png] })),
    ...['bad', 'good'],
  );
  expect(turn.pictures.map((each) => each.imageId)).toEqual([id]);
  expect(turn.calls.map(({ outcome }) => outcome)).toEqual(['error', 'ok']);
  expect(turn.results[0]).toContain('picture 1 is neither a PNG nor a JPEG');
});
