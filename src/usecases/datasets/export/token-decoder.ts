import { existsSync } from 'node:fs';
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

const REMEDY =
  'name a folder with tokenizer.json in ESPALIER_TOKENIZERS; `AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER)` writes one';

/**
 * Opens the tokenizer in a folder as transformers writes it, or tokenizer.json alone, as the library tokenizers does.
 * @throws Error that names the file and the remedy.
 */
export async function openTokenDecoder(folder: string): Promise<TokenDecoder> {
  const read = async (file: string): Promise<object> => {
    try {
      return JSON.parse(await readFile(join(folder, file), 'utf8')) as object;
    } catch (error) {
      throw unreadable(folder, file, error);
    }
  };
  const config = existsSync(join(folder, 'tokenizer_config.json')) ? await read('tokenizer_config.json') : {};
  const json = await read('tokenizer.json');
  const tokenizer = (() => {
    try {
      return new Tokenizer(json, config);
    } catch (error) {
      throw unreadable(folder, 'tokenizer.json', error);
    }
  })();
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

function unreadable(folder: string, file: string, error: unknown): Error {
  const why = error instanceof Error ? error.message : String(error);
  return new Error(`${join(folder, file)} cannot be read as a tokenizer: ${why}; ${REMEDY}`, { cause: error });
}

/** Describes, for each name whose folder holds no tokenizer, what is to be done: as a server starts, before a text is missed. */
export function missingTokenizers(folders: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(folders)
    .filter(([, folder]) => !existsSync(join(folder, 'tokenizer.json')))
    .map(
      ([name, folder]) => `the texts of tokens of ${name} stay unknown: there is no ${join(folder, 'tokenizer.json')}; ${REMEDY}`,
    );
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
