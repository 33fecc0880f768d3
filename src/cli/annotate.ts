import type { Command } from 'commander';
import { isUuid } from '../domain/ids.ts';
import { derivedId } from '../events/derived-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import { localPrincipal } from '../postgres/principal.ts';
import { locateSubjects, nameOf, type Subject } from '../projections/annotations/locate-subjects.ts';
import { type AnnotateReply, type AnnotateRequest, openAnnotate } from '../usecases/annotate/annotate.ts';
import { checkedId } from './collect.ts';
import { print } from './terminal.ts';
import { numberBetween, wantsJson } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

type Said = Exclude<AnnotateRequest, { kind: 'feedback' }>;

interface AnnotateFlags {
  readonly label?: string;
  readonly score?: number;
  readonly note?: string;
  readonly retract?: true;
  readonly reason?: string;
  readonly tree?: string;
}

/** `espalier annotate`: says something of steps, rollouts, revisions, trees or rows of releases, or takes it back. */
export function addAnnotate(program: Command): void {
  const command = program
    .command('annotate')
    .argument(
      '<ids...>',
      'ids of steps, rollouts, revisions or trees, rows as NAME@VERSION#LINE; with --retract, ids of annotations',
    )
    .option('--label <text>', 'a label to filter by')
    .option('--score <n>', 'a score', numberBetween('--score', -1e100, 1e100))
    .option('--note <text>', 'a comment')
    .option('--retract', 'retract annotations: they no longer count')
    .option('--reason <text>', 'with --retract: why')
    .option('--tree <id>', 'their tree, if several trees have one with that id');
  command.action((ids: readonly string[], flags: AnnotateFlags) => {
    checkFlags(flags);
    return withProjector('annotate', async ({ platform, settle }) => {
      await settle();
      const asked = await askedOf(platform, ids, flags);
      const annotated = await openAnnotate(platform)(asked, localPrincipal(platform.config.project));
      if (annotated.kind === 'refused') throw new Error(annotated.message);
      print(wantsJson(command) ? JSON.stringify(annotated) : described(asked, annotated));
    });
  });
}

function checkFlags({ label, score, note, retract, reason }: AnnotateFlags): void {
  const says = [label, score, note].some((part) => part !== undefined);
  if (retract && says) throw new Error('--retract takes annotations back: leave --label, --score and --note out');
  if (!retract && !says) throw new Error('say something: --label, --score or --note');
  if (!retract && reason !== undefined) throw new Error('--reason is of --retract; a remark on something is its --note');
}

async function askedOf(platform: Platform, ids: readonly string[], flags: AnnotateFlags): Promise<Said> {
  const of = flags.tree === undefined ? {} : { inTree: checkedId('--tree', flags.tree) };
  if (flags.retract) {
    for (const id of ids)
      if (!isUuid(id)) throw new Error(`an annotation has an id, a UUID in lower case, not ${JSON.stringify(id)}`);
    return { kind: 'retract', ids, ...of, reason: flags.reason ?? '' };
  }
  const said = { label: flags.label ?? null, score: flags.score ?? null, note: flags.note ?? '' };
  const subjects = await Promise.all(ids.map((id) => subjectOf(platform, id, of.inTree ?? null)));
  return { kind: 'add', annotations: subjects.map((subject) => ({ subject, ...of, ...said })) };
}

/** Finds out what an id names. @throws Error where nothing that can be annotated has it. */
async function subjectOf({ database: { db } }: Platform, id: string, inTree: string | null): Promise<Subject> {
  const row = /^(.+)@([1-9]\d{0,8})#([1-9]\d{0,8})$/.exec(id);
  if (row) return { kind: 'row', datasetId: derivedId('dataset', row[1] ?? '', Number(row[2])), line: Number(row[3]) };
  if (!isUuid(id)) throw new Error(`name an id, a UUID in lower case, or a row as NAME@VERSION#LINE, not ${JSON.stringify(id)}`);
  const kinds: readonly Subject[] = [
    { kind: 'step', stepId: id },
    { kind: 'rollout', rolloutId: id },
    { kind: 'revision', revisionId: id },
    { kind: 'tree', treeId: id },
  ];
  const [found] = (
    await locateSubjects(
      db,
      kinds.map((subject) => ({ subject, inTree })),
    )
  ).keys();
  const subject = found === undefined ? undefined : kinds[found];
  if (subject) return subject;
  throw new Error(`no step, rollout, revision or tree ${id} is on record; \`espalier trace ${id}\` says what an id stands for`);
}

function described(asked: Said, { ids }: Extract<AnnotateReply, { kind: 'recorded' }>): string[] {
  if (asked.kind === 'retract') return ids.map((id) => `retracted ${id}`);
  return asked.annotations.map(({ subject }, place) => `annotated ${nameOf(subject)}: ${ids[place]}`);
}
