import type { Command } from 'commander';
import { openLeaseService } from '../usecases/train/open-lease-service.ts';
import { print } from './terminal.ts';
import { wantsJson } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

/** `espalier abandon`: gives up a batch that cannot be trained, so that its policy goes on with the next one. */
export function addAbandon(program: Command): void {
  const command = program
    .command('abandon')
    .argument('<batch>', 'the id of the batch, as shown by its trainer, its lease or GraphQL')
    .requiredOption('--reason <text>', 'why it cannot be trained; recorded');
  command.action((batchId: string, { reason }: { reason: string }) =>
    withProjector('abandon', async ({ platform, settle }) => {
      await settle();
      const answer = await openLeaseService(platform).abandon({ batchId, reason });
      if (answer.kind === 'refused') throw new Error(`${answer.message}; ${answer.remedy}`);
      if (wantsJson(command)) return print(JSON.stringify(answer));
      print(`batch ${answer.ordinal} is abandoned; \`espalier ledger\` counts its samples`);
    }),
  );
}
