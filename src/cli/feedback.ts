import type { Command } from 'commander';
import { derivedId } from '../events/derived-id.ts';
import { localPrincipal } from '../postgres/principal.ts';
import { openAnnotate } from '../usecases/annotate/annotate.ts';
import type { NewFeedback } from '../usecases/annotate/feedback.ts';
import { checkedId } from './collect.ts';
import { print } from './terminal.ts';
import { numberBetween, wantsJson } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

interface FeedbackFlags extends Pick<NewFeedback, 'value' | 'component' | 'by' | 'comment'> {
  readonly tree?: string;
}

/** `espalier feedback`: records what was found of steps, rollouts or rows after they were recorded. */
export function addFeedback(program: Command): void {
  const command = program
    .command('feedback')
    .argument('<ids...>', 'steps, rollouts, ids that model servers gave replies, ids of traces, rows as NAME@VERSION#LINE')
    .requiredOption('--value <n>', 'what the reward adds to the return', numberBetween('--value', -1e100, 1e100))
    .option('--component <name>', 'the component of the reward; an earlier value of it is revised', 'feedback')
    .option('--by <who>', 'person:NAME, program:NAME@REVISION or judge:NAME@REVISION', 'person:local')
    .option('--comment <text>', 'a comment', '')
    .option('--tree <id>', 'their tree, if several trees have one with that id');
  command.action((ids: readonly string[], { tree, value, component, by, comment }: FeedbackFlags) =>
    withProjector('feedback', async ({ platform, settle }) => {
      await settle();
      const within = tree === undefined ? {} : { inTree: checkedId('--tree', tree) };
      const feedback = ids.map((id) => ({ of: namedBy(id), ...within, value, component, by, comment }));
      const recorded = await openAnnotate(platform)({ kind: 'feedback', feedback }, localPrincipal(platform.config.project));
      if (recorded.kind === 'refused') throw new Error(recorded.message);
      if (wantsJson(command)) return print(JSON.stringify(recorded));
      const done = recorded.position === '' ? 'is in force already' : 'is recorded';
      print(ids.map((id) => `${component} ${value} of ${id} by ${by} ${done}`));
    }),
  );
}

function namedBy(id: string): NewFeedback['of'] {
  const row = /^(.+)@([1-9]\d{0,8})#([1-9]\d{0,8})$/.exec(id);
  return row ? { datasetId: derivedId('dataset', row[1] ?? '', Number(row[2])), line: Number(row[3]) } : id;
}
