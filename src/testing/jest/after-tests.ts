type Step = () => unknown;

// On globalThis: jest loads the setup and the teardown each on its own, so a module's variable need not be the same in both.
const holder = globalThis as { espalierAfterTests?: Step[] };

/** Puts a step on the list of what to undo when the run is over; the last one in is the first to go. */
export function afterTests(step: Step): void {
  holder.espalierAfterTests ??= [];
  holder.espalierAfterTests.push(step);
}

/** Does every step, also after one failed, and then throws what the first failing one threw. */
export async function undoAll(): Promise<void> {
  const errors: unknown[] = [];
  for (const step of holder.espalierAfterTests?.splice(0).reverse() ?? []) {
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
