/** A part of what is being closed. */
export interface ClosingPart {
  /** Names the part, as the object of "closing". */
  readonly what: string;
  readonly close: () => Promise<unknown>;
  /** Describes what the part waits for, where it is known. */
  readonly state?: () => string;
}

/** A part did not close in time. What waits for it goes on; the part is left to the end of the process. */
export class CloseStalled extends Error {
  override readonly name = 'CloseStalled';
  constructor({ what, state }: Omit<ClosingPart, 'close'>, limitMs: number) {
    super(`closing ${what} did not end within ${limitMs / 1_000} s${state ? ` (${state()})` : ''}`);
  }
}

// Above what a part may need of right: a handler at work, appends that wait for a server that restarts.
const LIMIT_MS = 60_000;

/**
 * Closes parts one after the other, the later ones also where an earlier one fails or does not end. @throws what the first of
 * them threw; CloseStalled naming the part.
 */
export async function closeInTurn(parts: readonly ClosingPart[], limitMs = LIMIT_MS): Promise<void> {
  const failures: unknown[] = [];
  for (const part of parts) await closeWithin(part, limitMs).catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

/** Closes a part. @throws CloseStalled when it does not end in time; what it threw itself. */
export async function closeWithin(part: ClosingPart, limitMs = LIMIT_MS): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new CloseStalled(part, limitMs)), limitMs);
  });
  try {
    await Promise.race([part.close(), late]);
  } finally {
    clearTimeout(timer);
  }
}
