import { readFile, writeFile } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { HistoryRenderer } from '../images/history-renderer.ts';
import { encodePng } from '../images/png.ts';
import { splitSegments } from '../images/prepare-text.ts';
import { renderSpec } from '../images/render-profiles.ts';
import { RENDER_PROFILES, type RenderProfile, renderSpecId } from '../images/render-spec.ts';
import { textTokens } from '../images/text-tokens.ts';
import { VISION_PRESETS, visionTokens } from '../images/vision-tokens.ts';
import { presetOf } from '../usecases/score/sweep-compression.ts';
import { print } from './terminal.ts';
import { numberBetween, wantsJson } from './with-platform.ts';

interface RenderFlags {
  readonly profile: RenderProfile;
  readonly cf: number;
  readonly vision: string;
  readonly out?: string;
}

const INPUT_LIMIT = 16 * 2 ** 20; // bytes

/** `espalier render`: draws a text as the history image that a model would be shown. */
export function addRender(program: Command): void {
  const command = program
    .command('render')
    .argument('[file]', 'the text, in UTF-8 (default: standard input)', '-')
    .addOption(new Option('--profile <name>', 'the render profile').choices([...RENDER_PROFILES]).default('crisp'))
    .option('--cf <factor>', 'compression factor, from 1 up', numberBetween('--cf', 1, 1e12), 1)
    .addOption(new Option('--vision <name>', 'the vision processor').choices(Object.keys(VISION_PRESETS)).default('qwen2.5-vl'))
    .option('--out <file>', 'write the image as a PNG');
  command.action(async (file: string, flags: RenderFlags) => {
    const text = await readText(file);
    const spec = renderSpec(flags.profile);
    const segments = splitSegments(text, spec);
    const empty = text === '' ? 'absent' : 'blank';
    const { image } = new HistoryRenderer(spec).render({ segments, factor: flags.cf, ...(segments.length > 0 ? {} : { empty }) });
    const vision = visionTokens(image.width, image.height, presetOf(flags.vision));
    const asText = await textTokens(text);
    if (flags.out !== undefined) await writeFile(flags.out, await encodePng(image));
    const facts = {
      imageId: image.imageId,
      renderSpecId: renderSpecId(spec),
      width: image.width,
      height: image.height,
      segments: segments.length,
      visionTokens: vision.tokens,
      textTokens: asText.count,
      tokenizer: asText.tokenizer,
      cut: image.cut,
      outside: image.outside,
      unshaped: image.unshaped,
    };
    if (wantsJson(command)) return print(JSON.stringify(facts));
    print(`${image.width}x${image.height} px, ${segments.length} records, image ${image.imageId.slice(0, 16)}…`);
    print(`${vision.tokens} vision tokens (${vision.preset}); as text ${asText.count} (${asText.tokenizer})`);
    if (image.cut.segments + image.cut.lines > 0) print(`cut: ${image.cut.segments} records, ${image.cut.lines} lines`);
    if (image.outside > 0) print(`${image.outside} characters outside the font`);
    if (image.unshaped > 0) print(`${image.unshaped} characters that the published renderer may draw otherwise`);
    if (flags.out !== undefined) print(`written to ${flags.out}`);
  });
}

async function readText(file: string): Promise<string> {
  const bytes = file === '-' ? await readInput() : await readFile(file);
  if (bytes.byteLength > INPUT_LIMIT) throw new Error(`the text has ${bytes.byteLength} bytes; at most ${INPUT_LIMIT} are drawn`);
  return bytes.toString('utf8');
}

async function readInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > INPUT_LIMIT) throw new Error(`the text has more than ${INPUT_LIMIT} bytes; at most that many are drawn`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
