/** Lets one loop wait until somebody rings. A ring while nobody waits is remembered, so none is missed. */
export class Bell {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Resolves at the next ring, after `limitMs`, or when the signal aborts. */
  async wait(limitMs: number, signal: AbortSignal): Promise<void> {
    if (!this.#rung && !signal.aborted) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, limitMs);
        this.#wake = done;
        signal.addEventListener('abort', done);
        function done(): void {
          clearTimeout(timer);
          signal.removeEventListener('abort', done);
          resolve();
        }
      });
      this.#wake = undefined;
    }
    this.#rung = false;
  }
}
