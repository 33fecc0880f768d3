import type { Command } from 'commander';
import { listScorers } from '../domain/reward/scorers.ts';
import { REWARD_FORMS } from '../environments/tool-env/open-reward.ts';
import { score } from '../usecases/score/score.ts';
import { checkedId } from './collect.ts';
import { exitStopped } from './stoppable.ts';
import { print } from './terminal.ts';
import { throughOutages } from './through-outages.ts';
import { wantsJson } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

interface ScoreFlags {
  readonly run: string;
  readonly scorer: string;
  readonly component?: string;
  readonly environment?: string;
}

/** `espalier score`: scores the rollouts of a recorded run later, as events; the same command again does only what is missing. */
export function addScore(program: Command): void {
  const command = program
    .command('score')
    .requiredOption('--run <id>', 'the run whose finished rollouts are scored')
    .requiredOption('--scorer <name>', `NAME or NAME@REVISION: ${listScorers()}, annotation@LABEL, ${REWARD_FORMS}`)
    .option('--component <name>', "the reward that is written: the scorer's name when left out; environment revises the outcome")
    .option('--environment <name>', 'the environment with the ground truth, instead of that of the run');
  command.action(async (flags: ScoreFlags) => {
    const runId = checkedId('--run', flags.run);
    await withProjector('score', async ({ platform, signal, settle }) => {
      const counts = await throughOutages(signal, () =>
        score(platform, {
          runId,
          scorer: flags.scorer,
          component: flags.component ?? null,
          environment: flags.environment ?? null,
          signal,
        }),
      );
      const state = signal.aborted ? 'stopped' : 'completed';
      if (wantsJson(command)) print(JSON.stringify({ run: runId, state, ...counts }));
      else
        print(
          `${counts.scorer} on ${counts.trees} trees of run ${runId}, ${state}: ${counts.assigned} rewards assigned, ${counts.revised} revised, ${counts.standing} already in force${counts.forgotten > 0 ? `; ${counts.forgotten} trees left out: their payload is forgotten` : ''}${counts.unreadable > 0 ? `; ${counts.unreadable} left out, of which a text is lost` : ''}`,
        );
      if (state === 'stopped') exitStopped();
      await settle();
    });
  });
}
