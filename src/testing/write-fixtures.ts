import { writeFile } from 'node:fs/promises';
import { everyEvent, fixtureName } from './every-event.ts';

/**
 * Writes the frozen fixture of every event type and version that has none yet: `npx tsx src/testing/write-fixtures.ts`, after the
 * new type was recorded in every-event.ts. What is frozen is never written again.
 */
for (const event of everyEvent()) {
  const file = new URL(`../events/fixtures/${fixtureName(event)}`, import.meta.url);
  await writeFile(file, `${JSON.stringify(event, null, 2)}\n`, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}
