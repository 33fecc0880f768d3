import type { Command } from 'commander';
import { ENVIRONMENT_FORMS } from '../environments/open-environment.ts';
import { replayEnvironment } from '../usecases/replay/replay-environment.ts';
import { replayImages } from '../usecases/replay/replay-images.ts';
import { addReplayFork } from './replay-fork.ts';
import { addReplayProjections } from './replay-projections.ts';
import { addReplayScores } from './replay-scores.ts';
import { addReplayTraining } from './replay-training.ts';
import { runReplay } from './run-replay.ts';

/**
 * `espalier replay MODE`: does something of a run over from the record and says whether it comes out the same; exit code 1 when
 * it does not.
 */
export function addReplay(program: Command): void {
  const replay = program.command('replay');
  addReplayProjections(replay);
  addReplayScores(replay);
  addReplayTraining(replay);
  addReplayFork(replay);
  const environment = replay
    .command('environment')
    .description('execute every recorded action again and compare observations, rewards, ends and state hashes')
    .requiredOption('--run <id>', 'the run')
    .option('--environment <name>', `in place of the one that the run names: ${ENVIRONMENT_FORMS}`);
  environment.action((flags: { run: string; environment?: string }) =>
    runReplay(environment, flags.run, { environment: flags.environment ?? null }, ({ platform, runId, signal, progress }) =>
      replayEnvironment(platform, { runId, environment: flags.environment ?? null, signal, progress }),
    ),
  );
  const images = replay
    .command('images')
    .description('draw every history image of a run again and compare the SHA-256 of its pixels')
    .requiredOption('--run <id>', 'the run');
  images.action((flags: { run: string }) =>
    runReplay(images, flags.run, {}, ({ platform, runId, signal, progress }) =>
      replayImages({ db: platform.database.db, blobs: platform.blobs }, runId, { signal, progress }),
    ),
  );
}
