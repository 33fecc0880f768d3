import type { Command } from 'commander';
import { replayScores, type ScoresAsked } from '../usecases/score/replay-scores.ts';
import { runReplay } from './run-replay.ts';
import { numberBetween, wholeNumber } from './with-platform.ts';

interface ScoresFlags {
  readonly run: string;
  readonly scorer?: string;
  readonly component?: string;
  readonly environment?: string;
  readonly lambda?: number;
  readonly mu?: number;
  readonly every?: number;
  readonly alpha?: number;
  readonly beta?: number;
  readonly estimator?: string;
  readonly option: readonly string[];
}

/**
 * `espalier replay scores`: the same record under the scorers it had, or under another scorer, compression, estimator or
 * thresholds, with what changes in each group.
 */
export function addReplayScores(replay: Command): void {
  const scores = replay
    .command('scores')
    .description(
      'compute rewards and returns again; or compare returns and advantages under another scorer, compression or estimator, or what would be mined by other thresholds',
    )
    .requiredOption('--run <id>', 'the run')
    .option('--scorer <name@revision>', 'score every rollout by this one')
    .option(
      '--component <name>',
      "the component that --scorer's value replaces; its own name when left out, `environment` is the outcome",
    )
    .option('--environment <name>', 'where the right answers are, in place of the environment that the run names')
    .option('--lambda <number>', 'pay for compression by this λ', numberBetween('--lambda', 0, 1_000))
    .option('--mu <number>', 'what failures pay for it', numberBetween('--mu', 0, 1_000))
    .option('--every <k>', 'pay in every k-th iteration', wholeNumber('--every', 1, 1_000_000))
    .option('--alpha <reward>', 'mine by this: what a good trajectory must reach', numberBetween('--alpha', 0, 1))
    .option('--beta <gap>', 'mine by this: by how much it must be better than the bad one', numberBetween('--beta', 0, 1))
    .option('--estimator <name>', 'estimate advantages by this one')
    .option('--option <name=value>', 'of the estimator; may be given again', (text, all: string[]) => [...all, text], []);
  scores.action((flags: ScoresFlags) => {
    const asked = askedOf(flags);
    const environment = flags.environment ?? null;
    return runReplay(scores, flags.run, { ...asked, environment }, ({ platform, ...replaying }) =>
      replayScores(platform, { ...replaying, asked, environment }),
    );
  });
}

/**
 * Reads what is to be changed in scoring. @throws Error when more than one thing is to be other: a difference would have two
 * causes.
 */
function askedOf({ scorer, component, lambda, mu, every, alpha, beta, estimator, option }: ScoresFlags): ScoresAsked {
  const compressed = lambda !== undefined || mu !== undefined || every !== undefined;
  const mined = alpha !== undefined || beta !== undefined;
  if ([scorer !== undefined, compressed, mined, estimator !== undefined].filter(Boolean).length > 1)
    throw new Error('change one thing at a time: --scorer, or --lambda, --mu and --every, or --alpha and --beta, or --estimator');
  if (option.length > 0 && estimator === undefined) throw new Error('--option is of an estimator; name it with --estimator');
  if (component !== undefined && scorer === undefined)
    throw new Error('--component is what a scorer replaces; name it with --scorer');
  if (scorer !== undefined) return { kind: 'scorer', scorer, component: component ?? null };
  if (estimator !== undefined) return { kind: 'estimator', name: estimator, options: Object.fromEntries(option.map(optionOf)) };
  if (compressed) return { kind: 'compression', compression: { lambda: lambda ?? null, mu: mu ?? null, every: every ?? null } };
  if (mined) return { kind: 'thresholds', thresholds: { alpha: alpha ?? null, beta: beta ?? null } };
  return { kind: 'as-recorded' };
}

function optionOf(text: string): [string, string | number] {
  const at = text.indexOf('=');
  if (at < 1) throw new Error(`--option takes NAME=VALUE, not ${JSON.stringify(text)}`);
  const value = text.slice(at + 1);
  return [text.slice(0, at), value !== '' && Number.isFinite(Number(value)) ? Number(value) : value];
}
