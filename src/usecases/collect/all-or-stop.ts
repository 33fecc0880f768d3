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
        if (signal.aborted && error === signal.reason) return;
        first ??= { error };
        failed.abort(error);
      }),
    ),
  );
  if (first) throw first.error;
}
