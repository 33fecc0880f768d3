import type { Platform } from '../platform/open-platform.ts';
import { readImageTotalsOfRuns } from '../projections/images/read-image-totals.ts';
import { printError } from './terminal.ts';

/**
 * Notes on stderr how many characters in the images of a run the published renderer may draw otherwise. The read models must hold
 * the run.
 */
export async function noteUnshaped({ database }: Platform, runId: string): Promise<void> {
  const [totals] = await readImageTotalsOfRuns(database.db, [runId]);
  const unshaped = Number(totals?.unshaped ?? 0); // a sum, which the driver may give as a string
  if (unshaped > 0)
    printError(
      `note: the images of run ${runId} show ${unshaped} characters that the published renderer may draw otherwise (unshaped of historyImage in GraphQL)`,
    );
}
