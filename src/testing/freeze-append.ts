import { decode } from '../events/codec.ts';
import type { LogRecord } from '../log/event-log.ts';
import type { Platform } from '../platform/open-platform.ts';

/** Work that waits in an append, as that of a process which was stopped there. */
export interface FrozenWork {
  /** Lets it go on: what it was about to append is appended now. */
  wake(): void;
  /** Resolves with what the work threw, with null where it ended. */
  readonly ended: Promise<unknown>;
}

/** Works as a process that freezes in the append of the first event of a type; resolves when it waits there. */
export async function freezeInAppend(
  platform: Platform,
  type: string,
  work: (platform: Platform) => Promise<unknown>,
): Promise<FrozenWork> {
  const { log } = platform;
  let [appending, wake] = [() => {}, () => {}];
  const held = new Promise<void>((resolve) => {
    appending = resolve;
  });
  const woken = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const append = async (records: readonly LogRecord[]) => {
    if (records.some((record) => typeOf(record) === type)) {
      appending();
      await woken;
    }
    return log.append(records);
  };
  const ended = work({ ...platform, log: { ...log, append } }).then(
    () => null,
    (error: unknown) => error,
  );
  const early = ended.then((error) => {
    throw new Error(`the work ended without an append of ${type}`, { cause: error });
  });
  await Promise.race([held, early]);
  early.catch(() => undefined);
  return { wake, ended };
}

function typeOf({ value }: LogRecord): string | null {
  const decoded = decode(value);
  return decoded.kind === 'event' ? decoded.event.type : null;
}
