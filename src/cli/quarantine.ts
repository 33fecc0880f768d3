import { type Command, Option } from 'commander';
import { describePlace, type LogPlace, parsePlace } from '../projections/place.ts';
import { readWaiting } from '../projections/read-waiting.ts';
import { type RequeueOutcome, requeueEvents } from '../usecases/requeue/requeue-events.ts';
import { print, table } from './terminal.ts';
import { wantsJson, wholeNumber, withPlatform } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

/** `espalier quarantine`: what no projection could fold, and why; `requeue` offers it again. */
export function addQuarantine(program: Command): void {
  const quarantine = program.command('quarantine');
  addList(quarantine);
  addRequeue(quarantine);
}

function addList(quarantine: Command): void {
  const list = quarantine.command('list').description('list quarantined events, oldest first');
  list.action(() =>
    withPlatform('quarantine', async ({ database: { db } }) => {
      const rows = await readWaiting(db, 1_000);
      if (wantsJson(list)) return print(JSON.stringify(rows));
      print(
        rows.length === 0
          ? 'nothing is quarantined'
          : table(
              ['projection', 'place', 'type', 'code', 'field', 'reason'],
              rows.map((r) => [r.projection, describePlace(r), r.type ?? '?', r.code, r.field, r.reason]),
            ),
      );
    }),
  );
}

function addRequeue(quarantine: Command): void {
  const requeue = quarantine
    .command('requeue')
    .description('append quarantined events again, in log order')
    .argument('[place]', 'topic.partition:offset (default: all)')
    .addOption(new Option('--reason <text>', 'the reason; recorded').argParser(reasonOf))
    .option('--wait <seconds>', 'how long to wait for the projections to fold them', wholeNumber('--wait', 1, 86_400), 60);
  requeue.action((wanted: string | undefined, { reason, wait }: { readonly reason?: string; readonly wait: number }) =>
    withProjector('quarantine', async ({ platform, signal }) => {
      const place = wanted === undefined ? null : placeOf(wanted);
      const options = { place, reason: reason ?? null, clock: Date.now, timeoutMs: wait * 1_000, signal };
      const outcomes = await requeueEvents(platform, options);
      if (wanted !== undefined && outcomes.length === 0)
        throw new Error(`nothing is quarantined at ${wanted}; \`espalier quarantine list\` shows the places`);
      if (wantsJson(requeue)) print(JSON.stringify(outcomes.map(shown)));
      else for (const line of describe(outcomes)) print(line);
      if (outcomes.some(({ result }) => result.kind !== 'requeued')) process.exitCode = 1;
    }),
  );
}

function placeOf(text: string): LogPlace {
  const place = parsePlace(text);
  if (place) return place;
  throw new Error(`${JSON.stringify(text)} is no place; a place looks like trees.0:41, \`espalier quarantine list\` shows them`);
}

function reasonOf(text: string): string {
  if (text !== '' && text.length <= 2_000 && text.isWellFormed() && !text.includes('\0')) return text;
  throw new Error('--reason takes a text of 1 to 2000 characters');
}

function shown({ projection, place, appended, result }: RequeueOutcome) {
  return { projection, place: describePlace(place), appended: appended && describePlace(appended), result };
}

function describe(outcomes: readonly RequeueOutcome[]): readonly string[] {
  const count = (kind: RequeueOutcome['result']['kind']) => outcomes.filter(({ result }) => result.kind === kind).length;
  const lines = outcomes.flatMap(({ projection, place, appended, result }) => {
    if (result.kind !== 'refused') return [];
    const now = appended ? ` at ${describePlace(appended)}` : '';
    return [`${projection} ${describePlace(place)} stays${now}: ${result.reason}`];
  });
  const pending = outcomes.find(({ result }) => result.kind === 'pending')?.result;
  const late = pending?.kind === 'pending' ? [`${count('pending')} appended and not folded yet: ${pending.reason}`] : [];
  return [...lines, ...late, `${count('requeued')} requeued, ${count('refused')} stay`];
}
