import { EventRefused } from '../../append/prepare-events.ts';
import { RecordTooLarge } from '../../log/event-log.ts';

/** A request about a captured rollout is refused: who sent it, what it names, or what it says. */
export class CaptureRefused extends Error {
  override readonly name = 'CaptureRefused';
  readonly kind: 'invalid' | 'forbidden' | 'unknown' | 'conflict';
  readonly remedy: string;
  constructor(kind: CaptureRefused['kind'], message: string, remedy: string) {
    super(message);
    this.kind = kind;
    this.remedy = remedy;
  }
}

/** The record cannot be appended to, or is too far behind to say what it holds. */
export class NotRecorded extends Error {
  override readonly name = 'NotRecorded';

  /** Whether the record does not take what is to be recorded: it would be refused again. */
  get isForGood(): boolean {
    return this.cause instanceof EventRefused || this.cause instanceof RecordTooLarge;
  }

  /** How many events are on record of those that could not be recorded together. */
  get appended(): number {
    return this.cause instanceof RecordTooLarge ? this.cause.appended : 0;
  }
}

/** Returns an append that could not be done as `NotRecorded`. */
export function notAppended(cause: unknown): NotRecorded {
  return new NotRecorded(`the record could not be appended to: ${cause instanceof Error ? cause.message : String(cause)}`, {
    cause,
  });
}

/** The model server gave no answer: why, and whether it was silent. */
export class UpstreamFailed extends Error {
  override readonly name = 'UpstreamFailed';
  readonly kind: 'silent' | 'unreachable' | 'protocol';
  constructor(kind: UpstreamFailed['kind'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** The refusal of a further rollout. */
export function isOver(what: 'run' | 'task'): CaptureRefused {
  return new CaptureRefused('conflict', `the ${what} has ended, and takes no further rollout`, `name another ${what}`);
}
