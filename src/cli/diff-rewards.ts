import type { Command } from 'commander';
import { TOPICS } from '../events/catalogue.ts';
import type { Offsets } from '../log/event-log.ts';
import { formatPosition, nameUnknown, parsePosition, reached } from '../log/position.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { type DiffOptions, diffRewards, type RewardsDiff } from '../usecases/score/diff-rewards.ts';
import { describeChange } from '../usecases/score/replay-scores-advantages.ts';
import { checkedId } from './collect.ts';
import { describeTouched } from './recall.ts';
import { type Lines, print, table } from './terminal.ts';
import { wantsJson } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

const CATCH_UP_MS = 60_000;
const SHOWN = 20; // groups; --json has all

interface DiffFlags {
  readonly run: string;
  readonly before?: string;
  readonly after?: string;
  readonly at?: string;
  readonly and?: string;
}

/** `espalier diff-rewards`: what later judgements changed, in returns, advantages, releases and batches. */
export function addDiffRewards(program: Command): void {
  const command = program
    .command('diff-rewards')
    .requiredOption('--run <id>', 'the run')
    .option('--before <name@revision>', 'the last rewards of this scorer …')
    .option('--after <name@revision>', '… compared with those of this one')
    .option('--at <position>', 'the rewards in force at this position of the log …')
    .option('--and <position>', '… compared with those at this one, as trees.0:41,trees.1:7');
  command.action((flags: DiffFlags) => {
    const [runId, asked] = [checkedId('--run', flags.run), askedOf(flags)];
    return withProjector('diff-rewards', async ({ platform, signal }) => {
      const { db } = platform.database;
      const end = await platform.log.ends(TOPICS);
      if (asked.kind === 'positions') {
        mustLieWithin('--at', asked.before, end);
        mustLieWithin('--and', asked.after, end);
      }
      await waitUntilProjected(db, end, { timeoutMs: CATCH_UP_MS, signal });
      const diff = await diffRewards(db, { runId, asked, signal });
      print(wantsJson(command) ? JSON.stringify(diff) : describeDiff(diff));
    });
  });
}

/** Reads which two states are meant; without an option the first word and the last. @throws Error for half a pair, or two. */
function askedOf({ before, after, at, and }: DiffFlags): DiffOptions {
  const scorers = before !== undefined && after !== undefined;
  const positions = at !== undefined && and !== undefined;
  const given = [before, after, at, and].filter((each) => each !== undefined).length;
  if (given === 0) return { kind: 'first-and-last' };
  if (given === 2 && scorers) return { kind: 'scorers', before, after };
  if (given === 2 && positions) return { kind: 'positions', before: parsePosition(at), after: parsePosition(and) };
  throw new Error('give --before and --after, or --at and --and');
}

/** A reward of a topic that a position misspells would count as not yet given. @throws Error that names what the log has. */
function mustLieWithin(option: string, position: Offsets, end: Offsets): void {
  const unknown = nameUnknown(position, end);
  if (unknown !== null) throw new Error(`${option} ${unknown}`);
  if (!reached(end, position)) throw new Error(`${option} lies past the end of the log, ${formatPosition(end)}`);
}

function describeDiff(diff: RewardsDiff): Lines {
  const { components, rollouts, otherReturns, otherAdvantages, groups, changes, estimator, touched } = diff;
  const rows = components.map(({ component, rewards, changed, before, after }) => [
    ...[component, rewards, changed, before.toFixed(4), after.toFixed(4)],
  ]);
  return [
    `${otherReturns} of ${rollouts} rollouts have another return, ${otherAdvantages} another advantage by ${estimator}, in ${changes.length} of ${groups} groups`,
    ...(rows.length > 0 ? ['', table(['component', 'rewards', 'changed', 'sum before', 'sum after'], rows), ''] : []),
    ...changes.slice(0, SHOWN).map(describeChange),
    ...(changes.length > SHOWN ? [`… ${changes.length - SHOWN} more groups; --json has all`] : []),
    ...(changes.length > 0 ? [describeTouched(touched)] : []),
  ];
}
