import { isAbort } from '../../runtime/is-abort.ts';

/**
 * Works on items in their order, `concurrency` at a time, as `allOrStop`. Where work returns `stop`, no further item is begun in
 * its place.
 */
export function forEachOf<T>(
  items: Iterable<T>,
  { signal, concurrency }: { readonly signal: AbortSignal; readonly concurrency: number },
  work: (item: T, signal: AbortSignal) => Promise<'stop' | undefined>,
): Promise<void> {
  const queue = items[Symbol.iterator]();
  const worker = async (either: AbortSignal): Promise<void> => {
    for (let next = queue.next(); !next.done && !either.aborted; next = queue.next())
      if ((await work(next.value, either)) === 'stop') return;
  };
  return allOrStop(signal, Array<typeof worker>(concurrency).fill(worker));
}

/**
 * Runs tasks at the same time. When one fails, the signal that all were given is aborted, the others are waited for, and the
 * first failure is thrown: nobody is left running behind a caller who believes that it is over.
 */
export async function allOrStop(signal: AbortSignal, tasks: readonly ((signal: AbortSignal) => Promise<void>)[]): Promise<void> {
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  let first: { readonly error: unknown } | undefined;
  await Promise.all(
    tasks.map((task) =>
      task(either).catch((error: unknown) => {
        if (isAbort(error, signal)) return;
        first ??= { error };
        failed.abort(error);
      }),
    ),
  );
  if (first) throw first.error;
}
