import { AtomicFile, type Existing, type Sealed } from '../datasets/export/atomic-file.ts';

/** A file that becomes one JSON array, value by value, in the form of `json.dump(values, file, ensure_ascii=False, indent=4)`. */
export interface ArrayFile {
  add(value: object): Promise<void>;
  /** As those of `AtomicFile`. */
  seal(): Promise<Sealed>;
  publish(): Promise<void>;
  discard(): Promise<void>;
}

const INDENT = 4;

/**
 * Opens an array file. Values hold no numbers, which Python may write in another way. @throws DatasetError as `AtomicFile.open`.
 */
export async function openArrayFile(path: string, existing: Existing): Promise<ArrayFile> {
  const file = await AtomicFile.open(path, existing);
  let count = 0;
  return {
    async add(value) {
      // line ends within texts are escaped
      const text = JSON.stringify(value, null, INDENT).replaceAll('\n', `\n${' '.repeat(INDENT)}`);
      await file.write(`${count++ === 0 ? '[' : ','}\n${' '.repeat(INDENT)}${text}`);
    },
    async seal() {
      await file.write(count === 0 ? '[]' : '\n]');
      return file.seal();
    },
    publish: () => file.publish(),
    discard: () => file.discard(),
  };
}
