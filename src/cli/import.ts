import { type Command, Option } from 'commander';
import { positionAfter } from '../log/position.ts';
import { openAppender } from '../platform/open-appender.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { type AgentTrajTexts, parseAgentTrajOptions } from '../usecases/datasets/import/agent-traj-options.ts';
import { followFile } from '../usecases/datasets/import/follow-file.ts';
import { ITEM_FORMS, type ItemFormName } from '../usecases/datasets/import/forms/item-form.ts';
import { importTrajectories } from '../usecases/datasets/import/import-trajectories.ts';
import { print, printError } from './terminal.ts';
import { throughOutages } from './through-outages.ts';
import { numberBetween, wantsJson } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

type ImportFlags = AgentTrajTexts & {
  readonly run?: string;
  readonly fingerprint?: string;
  readonly agentR?: boolean;
  readonly skipBad?: boolean;
  readonly follow?: true | number;
  readonly format: 'auto' | ItemFormName;
};

const WAIT_MS = 120_000;

/**
 * `espalier import FILE|DIR`: our own JSONL, trajectories of others (chats, ShareGPT, ATIF, …), or Agent-R's search trees. One
 * with a fault imports nothing; one that is stopped leaves the events that it had appended, says how many, and the same command
 * goes on.
 */
export function addImport(program: Command): void {
  const command = program
    .command('import')
    .argument('<file or folder>')
    .addOption(new Option('--format <format>', 'its format').choices(['auto', ...ITEM_FORMS]).default('auto'))
    .option('--agent-r', 'read search trees of Agent-R regardless of the file name')
    .option('--skip-bad', 'files of others: skip and list unreadable rows; otherwise the file is refused')
    .option(
      '--follow [seconds]',
      'traces.jsonl that grows: read on, and end the run when nothing came for so long (default: until Ctrl-C)',
      numberBetween('--follow', 1, 1e6),
    )
    .option('--run <id>', 'files of others: the run to import into (default: derived from the content)')
    .option('--environment <name>', 'the environment (default: from item_id (AgentTraj) or mcts_result/<task>/ (Agent-R))')
    .option('--fingerprint <text>', 'files of others: the server that numbered the tasks')
    .option('--split <name>', 'files of others: train, test, …')
    .option('--policy <id>', 'files of others: the policy, as id or id@version')
    .option('--reward-scale <n>', 'files of others: the full reward in the file (SciWorld: 100)')
    .option('--recorded-at <time>', 'files of others: when it happened, if known');
  command.action((file: string, flags: ImportFlags) => {
    const { run, fingerprint, agentR, skipBad, follow, format, ...texts } = flags;
    if (agentR && format !== 'auto') throw new Error('--agent-r and --format each say how to read the file; give one of them');
    if (follow !== undefined && (agentR || (format !== 'auto' && format !== 'verifiers-traces')))
      throw new Error('--follow reads traces.jsonl of verifiers, --format verifiers-traces');
    const agentTraj = parseAgentTrajOptions({ ...texts, runId: run, serverFingerprint: fingerprint });
    return withProjector('import', async ({ platform, signal, settle, line }) => {
      const { blobs, database } = platform;
      let appended: string | undefined;
      const badRows = skipBad ? 'skip' : 'refuse';
      const report = await throughOutages(signal, async () => {
        // what an import that ended just before appended is known to be there once it is folded
        await settle(WAIT_MS);
        const appender = openAppender(platform, 'importer', { numbers: 'begin' });
        const given = { source: file, db: database.db, appender, badRows, agentTraj, signal } as const;
        if (follow !== undefined)
          return followFile({
            ...given,
            idleMs: follow === true ? null : follow * 1_000,
            onProgress: ({ lines, rollouts }) => {
              appended = `${rollouts} rollouts of ${lines} lines are on record, in a run that is open`;
              line.show(`following: ${rollouts} rollouts of ${lines} lines`);
            },
          });
        return importTrajectories({
          ...given,
          form: agentR ? 'agent-r' : format === 'auto' ? 'detect' : format,
          blobs,
          onProgress: (p) => {
            if (p.kind === 'appending') appended = `${p.done} of ${p.total} events were appended`;
            line.show(p.kind === 'checking' ? `checking: ${p.events} events` : `importing: ${p.done}/${p.total} events`);
          },
        });
      }).catch((error: unknown) => {
        if (appended) line.end(`${appended}; the same command goes on behind them`);
        throw error;
      });
      const end = positionAfter(report.receipts);
      await throughOutages(signal, () => waitUntilProjected(database.db, end, { timeoutMs: WAIT_MS, signal }));
      line.end();
      const { receipts, ...summary } = report;
      if (wantsJson(command)) return print(JSON.stringify(summary));
      const again = report.alreadyThere > 0 ? `, ${report.alreadyThere} of them already there` : '';
      print(
        `${file}: ${report.trees} trees, ${report.rollouts} rollouts, ${report.steps} steps in ${report.events} events${again}`,
      );
      print(`run ${report.runs.join(', ')}`);
      if (report.withoutConversation > 0)
        printError(`note: ${report.withoutConversation} items name a task and hold no conversation; they are passed over`);
      const { rows, first } = report.skipped;
      for (const { line, reason } of first) printError(`skipped line ${line}: ${reason}`);
      if (rows > 0)
        printError(`note: ${rows} ${rows === 1 ? 'row that cannot be read is' : 'rows that cannot be read are'} left out`);
      for (const { message } of report.notes) printError(`note: ${message}`);
      if (report.notKept !== null)
        printError(`note: not kept, where the file was made of a record: ${report.notKept}; events (jsonl) hold everything`);
    });
  });
}
