import { type Appender, type AppenderOptions, createAppender } from '../append/appender.ts';
import { DEFAULT_STAMP } from '../events/envelope.ts';

/** Makes an appender of the producer with this name, as a program on this machine that writes the default project. */
export function appenderAs(
  name: string,
  { log, blobs }: Pick<AppenderOptions, 'log' | 'blobs'>,
  options: Partial<AppenderOptions> = {},
): Appender {
  return createAppender({ log, blobs, stamp: DEFAULT_STAMP, producer: { name, version: 'test' }, clock: Date.now, ...options });
}
