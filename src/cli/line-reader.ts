import { createInterface } from 'node:readline';

/** Lines that are typed or piped, one at a time. */
export interface LineReader {
  /** Null behind the last line. @throws the signal's reason. */
  next(signal: AbortSignal | undefined): Promise<string | null>;
  close(): void;
}

/** Opens a reader of lines, with a prompt where it is a terminal. Who opens it closes it. */
export function openLineReader(input: NodeJS.ReadableStream & { readonly isTTY?: boolean }): LineReader {
  const isTerminal = input.isTTY === true;
  const reader = createInterface({ input, ...(isTerminal ? { output: process.stderr, prompt: 'you> ' } : {}) });
  const read: string[] = [];
  let isOver = false;
  let look: () => void = () => undefined;
  reader.on('line', (line) => {
    read.push(line);
    look();
  });
  reader.on('close', () => {
    isOver = true;
    look();
  });
  reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT')); // a terminal that edits lines keeps Ctrl-C to itself
  return {
    next: (signal) =>
      new Promise((resolve, reject) => {
        const stop = () => reject(signal?.reason as Error); // what a signal is aborted with is an error here
        const end = (line: string | null) => {
          signal?.removeEventListener('abort', stop);
          look = () => undefined;
          resolve(line);
        };
        look = () => {
          const line = read.shift();
          if (line !== undefined) end(line);
          else if (isOver) end(null);
        };
        if (signal?.aborted) return stop();
        signal?.addEventListener('abort', stop, { once: true });
        if (isTerminal && read.length === 0 && !isOver) reader.prompt();
        look();
      }),
    close: () => reader.close(),
  };
}
