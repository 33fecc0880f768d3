/** Lets loops wait until somebody rings. A ring while nobody waits is remembered, so none is missed. */
export class Bell {
  #rung = false;
  readonly #waiting = new Set<() => void>();

  ring(): void {
    this.#rung = true;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Resolves at the next ring, after `limitMs`, or when the signal aborts. */
  async wait(limitMs: number, signal: AbortSignal): Promise<void> {
    if (!this.#rung && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, limitMs);
        const waiting = this.#waiting.add(done);
        signal.addEventListener('abort', done);
        function done(): void {
          clearTimeout(timer);
          signal.removeEventListener('abort', done);
          waiting.delete(done);
          resolve();
        }
      });
    }
    this.#rung = false;
  }
}
