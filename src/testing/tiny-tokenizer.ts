import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const SPECIAL = ['<|im_start|>', '<|im_end|>'];
const TEMPLATE =
  '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';

/** Writes a tokenizer over bytes with the chat template of Qwen, as transformers writes one. Ids of bytes are below 256. */
export async function writeTinyTokenizer(folder: string): Promise<string> {
  const vocab = Object.fromEntries(byteLetters().map((letter, id) => [letter, id]));
  const added_tokens = SPECIAL.map((content, i) => ({
    id: 256 + i,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }));
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };
  const tokenizer = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens,
    normalizer: null,
    post_processor: null,
    pre_tokenizer: byteLevel,
    decoder: byteLevel,
    model: { type: 'BPE', vocab, merges: [], dropout: null, unk_token: null, fuse_unk: false, byte_fallback: false },
  };
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  const config = { tokenizer_class: 'PreTrainedTokenizerFast', eos_token: '<|im_end|>', chat_template: TEMPLATE };
  await writeFile(join(folder, 'tokenizer_config.json'), JSON.stringify(config));
  return folder;
}

/** Ids of a text under that tokenizer, special tokens written out in it. */
export function tinyIds(text: string): readonly number[] {
  return text
    .split(/(<\|im_start\|>|<\|im_end\|>)/)
    .flatMap((part) => (SPECIAL.includes(part) ? [256 + SPECIAL.indexOf(part)] : [...Buffer.from(part, 'utf8')].map(idOfByte)));
}

/** The letter of each byte in the order of ids: printable ones are their own, the others begin at U+0100 (GPT-2). */
function byteLetters(): readonly string[] {
  return [...printable(), ...others()].map((byte, id) =>
    String.fromCodePoint(id < printable().length ? byte : 256 + id - printable().length),
  );
}

function idOfByte(byte: number): number {
  return [...printable(), ...others()].indexOf(byte);
}

function printable(): readonly number[] {
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
  return [...range(33, 126), ...range(161, 172), ...range(174, 255)];
}

function others(): readonly number[] {
  const known = new Set(printable());
  return Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => !known.has(byte));
}
