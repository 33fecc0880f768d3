import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';

/** Decodes tokens one by one. */
export interface TokenDecoder {
  /**
   * Returns the text of each token: one behind the other they are the text of all. A token that ends within a character has none;
   * the one that completes it has the whole.
   */
  texts(ids: readonly number[]): readonly string[];
  /** Tokenises a text of which no ids are recorded, as a chat template would between its own tokens. Returns the text of each. */
  split(text: string): readonly string[];
}

const WINDOW = 12; // tokens that are decoded together: what is before a token decides about its space, farther ones about nothing
const INCOMPLETE = '\ufffd';

/** Opens the tokenizer in a folder as transformers writes it. @throws Error that names the file. */
export async function openTokenDecoder(folder: string): Promise<TokenDecoder> {
  const read = async (file: string): Promise<object> => {
    try {
      return JSON.parse(await readFile(join(folder, file), 'utf8')) as object;
    } catch (error) {
      throw new Error(`${join(folder, file)} cannot be read as a tokenizer: ${error instanceof Error ? error.message : error}`);
    }
  };
  const tokenizer = new Tokenizer(await read('tokenizer.json'), await read('tokenizer_config.json'));
  const decode = (ids: readonly number[]) =>
    tokenizer.decode([...ids], { skip_special_tokens: false, clean_up_tokenization_spaces: false });
  const texts = (ids: readonly number[]) => {
    let [from, said] = [0, ''];
    return ids.map((_, at) => {
      const whole = decode(ids.slice(from, at + 1));
      if (whole.endsWith(INCOMPLETE)) return '';
      const text = whole.slice(said.length);
      said = whole;
      if (at - from >= WINDOW) {
        from = at;
        said = decode(ids.slice(at, at + 1));
      }
      return text;
    });
  };
  return { texts, split: (text) => texts(tokenizer.encode(text, { add_special_tokens: false }).ids) };
}

/** Finds the tokenizer of a policy or a model by one of its names; null where none is known. */
export type TokenDecoders = (names: readonly string[]) => Promise<TokenDecoder | null>;

/** Opens tokenizers when they are asked for, each once. @param folders by name of the policy or the model. */
export function tokenDecoders(folders: Readonly<Record<string, string>>): TokenDecoders {
  const opened = new Map<string, Promise<TokenDecoder>>();
  return async (names) => {
    const name = names.find((each) => Object.hasOwn(folders, each));
    const folder = name === undefined ? undefined : folders[name];
    if (folder === undefined) return null;
    const decoder = opened.get(folder) ?? openTokenDecoder(folder);
    opened.set(folder, decoder);
    decoder.catch(() => opened.delete(folder)); // it may be put there later
    return decoder;
  };
}
