import { type Command, Option } from 'commander';
import { TEMPLATE_VERSIONS } from '../domain/prompts/compose-prompt.ts';
import type { TemplateName } from '../domain/prompts/prompt-template.ts';
import { renderSpec } from '../images/render-profiles.ts';
import { RENDER_PROFILES, type RenderProfile } from '../images/render-spec.ts';
import { VISION_PRESETS } from '../images/vision-tokens.ts';
import type { Platform } from '../platform/open-platform.ts';
import { readTreesOfRun } from '../projections/step-tree/read-trees-of-run.ts';
import { emptyHistoryOf } from '../usecases/collect/prompting/prompt-plan.ts';
import {
  type HistoryToShow,
  presetOf,
  type SweepRow,
  shownHistories,
  sweepFactors,
  wouldBeHistories,
} from '../usecases/score/sweep-compression.ts';
import { checkedId } from './collect.ts';
import { templateOf } from './prompt-flags.ts';
import { print, table } from './terminal.ts';
import { wantsJson, wholeNumber, withPlatform } from './with-platform.ts';

interface SweepFlags {
  readonly run: string;
  readonly cf: readonly number[];
  readonly template?: TemplateName;
  readonly profile: RenderProfile;
  readonly vision: string;
  readonly history: number;
}

const FACTORS = '1,1.1,1.2,1.28,1.5,2,3,4,5';

/** `espalier compression-sweep`: what the histories of a run cost as images at every factor, without a model. */
export function addCompressionSweep(program: Command): void {
  const command = program
    .command('compression-sweep')
    .requiredOption('--run <id>', 'the run; if its histories are text, they are counted as if they were images')
    .option('--cf <list>', 'factors from 1 up', factors, factors(FACTORS))
    .addOption(
      new Option('--template <name>', 'of a run in text: the wording of its records').choices(Object.keys(TEMPLATE_VERSIONS)),
    )
    .addOption(
      new Option('--profile <name>', 'of a run in text: the render profile').choices([...RENDER_PROFILES]).default('crisp'),
    )
    .addOption(
      new Option('--vision <name>', 'of a run in text: the vision processor')
        .choices(Object.keys(VISION_PRESETS))
        .default('qwen2.5-vl'),
    )
    .option('--history <n>', 'of a run in text: number of last steps shown', wholeNumber('--history', 1, 10_000), 50);
  command.action((flags: SweepFlags) =>
    withPlatform('compression-sweep', async (platform) => {
      const runId = checkedId('--run', flags.run);
      const histories = await historiesOf(platform, runId, flags);
      if (histories.length === 0) throw new Error(`run ${runId} has no step behind a first one: there is no history to show`);
      const rows = sweepFactors(histories, flags.cf);
      if (wantsJson(command)) return print(JSON.stringify({ run: runId, images: histories.length, rows }));
      const text = histories.reduce((sum, history) => sum + history.textTokens, 0);
      print(`${histories.length} histories, ${text} tokens as text (${(text / histories.length).toFixed(1)} each)`);
      print(table(['cf', 'vision tokens', 'each', 'saved of text', 'saved of cf 1'], rows.map(cells)));
    }),
  );
}

async function historiesOf({ database }: Platform, runId: string, flags: SweepFlags): Promise<readonly HistoryToShow[]> {
  const shown = await shownHistories(database.db, runId);
  if (shown.length > 0) return shown;
  const trees = await readTreesOfRun(database.db, runId);
  const [first] = trees;
  if (!first) throw new Error(`there are no trees of a run ${runId}; \`espalier status\` lists the runs`);
  const template = flags.template ?? templateOf(first.environment);
  const options = {
    template,
    historyLength: flags.history,
    emptyHistory: emptyHistoryOf(flags.profile),
    spec: renderSpec(flags.profile),
    vision: presetOf(flags.vision),
  };
  return wouldBeHistories(
    database.db,
    trees.map(({ treeId }) => treeId),
    options,
  );
}

function factors(text: string): number[] {
  const list = text.split(',').map(Number);
  const wrong = list.findIndex((factor) => !Number.isFinite(factor) || factor < 1);
  if (wrong >= 0)
    throw new Error(`--cf takes numbers from 1 up with commas between, not ${JSON.stringify(text.split(',')[wrong])}`);
  return list;
}

function cells({ factor, tokens, mean, savedOfText, savedOfWhole }: SweepRow): string[] {
  return [String(factor), String(tokens), mean.toFixed(1), percent(savedOfText), percent(savedOfWhole)];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
