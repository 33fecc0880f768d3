import type { Platform } from '../platform/open-platform.ts';
import { ensureProjector } from './ensure-projector.ts';
import { type ProgressLine, progressLine } from './terminal.ts';
import { withPlatform } from './with-platform.ts';

/** What a command works with that reads what the log holds, or appends and reads that. */
export interface Working {
  readonly platform: Platform;
  readonly signal: AbortSignal;
  /** Waits until the read models hold everything that is in the log now, through outages. */
  readonly settle: (timeoutMs?: number) => Promise<void>;
  /** A line of progress on stderr; it ends with the command. */
  readonly line: ProgressLine;
}

/** Opens the platform for one command, with projections that fold the log meanwhile, and closes both, however the command ends. */
export function withProjector<T>(name: string, use: (working: Working) => Promise<T>): Promise<T> {
  return withPlatform(name, async (platform, signal) => {
    const projector = await ensureProjector(platform, signal);
    const line = progressLine();
    try {
      return await use({ platform, signal, settle: (timeoutMs) => projector.settle(timeoutMs), line });
    } finally {
      line.end();
      await projector.close();
    }
  });
}
