import { type Command, Option } from 'commander';
import { VISION_PRESETS, visionTokens } from '../images/vision-tokens.ts';
import { presetOf } from '../usecases/score/sweep-compression.ts';
import { print } from './terminal.ts';
import { wantsJson } from './with-platform.ts';

/** `espalier tokens --image WxH`: what an image of that size costs a model. */
export function addTokens(program: Command): void {
  const command = program
    .command('tokens')
    .requiredOption('--image <size>', 'width and height in pixels, such as 402x178', sizeOf)
    .addOption(new Option('--vision <name>', 'the vision processor').choices(Object.keys(VISION_PRESETS)).default('qwen2.5-vl'));
  command.action(({ image, vision }: { image: { width: number; height: number }; vision: string }) => {
    const { tokens, model, preset } = visionTokens(image.width, image.height, presetOf(vision));
    if (wantsJson(command)) return print(JSON.stringify({ ...image, tokens, model, preset }));
    print(`${image.width}x${image.height}: ${tokens} tokens of ${preset}, which sees ${model.width}x${model.height}`);
  });
}

function sizeOf(text: string): { width: number; height: number } {
  const [, width, height] = /^([1-9][0-9]{0,6})x([1-9][0-9]{0,6})$/i.exec(text) ?? [];
  if (!width || !height) throw new Error(`--image takes a size in pixels such as 402x178, not ${JSON.stringify(text)}`);
  return { width: Number(width), height: Number(height) };
}
