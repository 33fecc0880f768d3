import { UpstreamFailed } from './capture-errors.ts';

/** Ends a call of which nothing is heard for too long. */
export interface Silence {
  readonly signal: AbortSignal;
  readonly reason: string;
  isOver(): boolean;
  move(): void;
  stop(): void;
}

export function watchSilence(limitMs: number, gone: AbortController): Silence {
  const reason = `the model server was silent for ${limitMs} ms`;
  let isOver = false;
  const begin = () =>
    setTimeout(() => {
      isOver = true;
      gone.abort(new UpstreamFailed('silent', reason));
    }, limitMs);
  let timer: NodeJS.Timeout | null = begin();
  return {
    signal: gone.signal,
    reason,
    isOver: () => isOver,
    move() {
      if (timer) clearTimeout(timer);
      timer = begin();
    },
    stop() {
      if (timer) clearTimeout(timer);
      timer = null;
    },
  };
}
