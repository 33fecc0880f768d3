import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openPlatform } from '../../src/platform/open-platform.ts';
import { readConfig } from '../../src/runtime/config.ts';
import { Broken, type Outcome } from './target.ts';
import { targets } from './targets.ts';

/**
 * The process in which the targets that are functions are tried: it may hang, run out of memory or die, and the campaign sees it.
 */
const platform = await openPlatform(readConfig(), 'inside');
const folder = join(platform.config.home, 'inside');

export type Answer =
  | { readonly kind: 'outcome'; readonly outcome: Outcome }
  | { readonly kind: 'broken'; readonly message: string };

process.on('message', (asked: { readonly target: string; readonly sent: unknown }) => {
  void answer(asked).then((answered) => process.send?.(answered));
});
process.once('disconnect', () => void platform.close().finally(() => process.exit(0)));
process.send?.('ready');

async function answer({ target, sent }: { readonly target: string; readonly sent: unknown }): Promise<Answer> {
  const way = targets.find(({ name }) => name === target)?.way;
  if (way?.process !== 'inside') return { kind: 'broken', message: `there is no target ${target} inside` };
  await mkdir(folder, { recursive: true });
  try {
    return { kind: 'outcome', outcome: await way.within({ platform, folder }, sent) };
  } catch (error) {
    // Any other error than a refusal is what an uncaught one would be in a command: a stack in place of a reason.
    const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { kind: 'broken', message: error instanceof Broken ? error.message : `threw ${words.slice(0, 1_500)}` };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
