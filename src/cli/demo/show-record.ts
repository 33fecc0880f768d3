import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { textReader } from '../../blobs/read-text.ts';
import { THRESHOLD_DEFAULTS } from '../../domain/revision/thresholds.ts';
import type { SearchedStep } from '../../domain/search/search-tree.ts';
import { pathTo, type Tree } from '../../domain/tree/grow-tree.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { encodePng } from '../../images/png.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { readHistoryImagesOfRun } from '../../projections/images/read-history-images.ts';
import { readImageTotalsOfRuns } from '../../projections/images/read-image-totals.ts';
import { readHistory, readSegments } from '../../projections/images/read-segments.ts';
import { rebuildImage } from '../../projections/images/rebuild-image.ts';
import { type RevisionRecord, readRevisions } from '../../projections/revisions/read-revisions.ts';
import { readSearchedTree, readTreeIds } from '../../projections/revisions/read-searched-trees.ts';
import { readStatistics } from '../../projections/search-statistics/read-statistics.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { revise } from '../../usecases/revise/revise.ts';
import { pageLink } from '../page-link.ts';
import { print } from '../terminal.ts';
import { drawRecorded, readTree } from '../tree.ts';

const WIDTH = 110; // characters of a record

/**
 * Draws the longest history image of a run again from the record, writes it as a PNG, and shows its text with what it saves.
 */
export async function showImages(platform: Platform, runId: string, url: string): Promise<void> {
  const { db } = platform.database;
  const images = await readHistoryImagesOfRun(db, runId);
  const longest = [...images].sort((a, b) => b.textTokens - a.textTokens || (a.stepId < b.stepId ? -1 : 1))[0];
  const [totals] = await readImageTotalsOfRuns(db, [runId]);
  if (!longest || !totals) return;
  const rebuilt = await rebuildImage({ db, blobs: platform.blobs }, longest);
  if (rebuilt.kind !== 'image') throw new Error(`the image ${longest.id} cannot be drawn again: ${rebuilt.detail}`);
  const folder = join(platform.config.home, 'exports');
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${runId}.history.png`);
  await writeFile(file, await encodePng(rebuilt.image));
  const history = await readHistory(db, longest);
  const texts = new Map((await readSegments(db, history)).map(({ id, text }) => [id, text]));
  const share = ((100 * totals.saved) / totals.textTokens).toFixed(0);
  print();
  print(
    `A question searched with its history shown as an image (AgentOCR): ${totals.steps} images of up to ${history.length} records,`,
  );
  print(
    `${totals.visionTokens} vision tokens in place of ${totals.textTokens} as text (${share} % saved at factor 1.2); ${totals.misses} records drawn, ${totals.hits} taken from the cache.`,
  );
  print(`The longest, ${longest.width}x${longest.height} px, drawn again from the record: ${shownPath(file)}`);
  for (const id of history) print(`  ${shorten(texts.get(id) ?? '')}`);
  print(`  ${await pageLink(platform.config, url, `/images/${longest.id}.png`)}`);
}

function shorten(text: string): string {
  return text.length > WIDTH ? `${text.slice(0, WIDTH - 1)}…` : text;
}

/** Shows a path from here when it lies below. */
export function shownPath(path: string): string {
  const from = relative('', path);
  return from.startsWith('..') ? path : from;
}

const CATCH_UP_MS = 60_000;
const LINES = 16; // of the tree

/**
 * Mines a search of one task, then shows its tree with visits and values, what the mining found, and one revision next to its
 * parents.
 */
export async function showSearch(platform: Platform, runId: string, signal: AbortSignal): Promise<void> {
  const { db } = platform.database;
  const { pairs, revisions, verified, rejected } = await revise(platform, {
    runId,
    judge: 'planner',
    checking: 'execute',
    environment: null,
    concurrency: 1,
    signal,
    plan: { ...THRESHOLD_DEFAULTS, seed: 1, signal: 'thought', unparsed: 'continue', beforeBranch: 'clamp' },
  });
  if (signal.aborted) return;
  await waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
  const [treeId = ''] = await readTreeIds(db, runId);
  const tree = await readTree(db, treeId);
  if (!tree) return;
  const size = `${tree.rollouts.size} trajectories in ${tree.tree.nodes.size - 1} steps`;
  print();
  print(`Its task searched (MCTS): ${size} (espalier tree ${treeId}):`);
  print(drawRecorded(tree, await readStatistics(db, [treeId]), { lines: LINES }));
  print();
  const refused = rejected.diverged + rejected.impossible + rejected.below;
  print(
    `${pairs} pairs of a good and a bad trajectory gave ${revisions} revisions; executed, ${verified} held and ${refused} did not.`,
  );
  const shown = await showRevision(platform, treeId);
  if (shown.length > 0) print(['The shortest that held (· context, ✓ trained on):', ...shown]);
}

/** Describes the shortest verified revision of a tree next to its parents; nothing when none was verified. */
async function showRevision({ database, blobs }: Platform, treeId: string): Promise<readonly string[]> {
  const { db } = database;
  const verified = (await readRevisions(db, [treeId])).filter(({ state }) => state === 'verified');
  const text = textReader(blobs);
  const searched = await readSearchedTree(db, treeId, text);
  if (!searched) return [];
  const { tree } = searched;
  const compared = verified.map((revision) => partsOf(tree, revision));
  // By their actions last: ids and reflections differ from run to run, what a run of a seed shows does not.
  const [shortest] = compared.sort((a, b) => lengthOf(a) - lengthOf(b) || (actionsOf(a) < actionsOf(b) ? -1 : 1));
  return shortest ? compareWithParents(shortest) : [];
}

function actionsOf({ bad, good }: RevisionParts): string {
  return JSON.stringify([bad, good]);
}

function lengthOf({ good, branch, transition }: RevisionParts): number {
  return transition + 1 + good.length - branch;
}

function partsOf(tree: Tree<SearchedStep>, revision: RevisionRecord): RevisionParts {
  const bad = pathTo(tree, revision.badLeafStepId).slice(1);
  const good = pathTo(tree, revision.goodLeafStepId).slice(1);
  const place = (stepId: string) => bad.findIndex((step) => step.stepId === stepId);
  const actions = (steps: readonly SearchedStep[]) => steps.map(({ action }) => action);
  return {
    bad: actions(bad),
    good: actions(good),
    reflection: revision.reflection,
    branch: place(revision.branchStepId) + 1,
    transition: place(revision.transitionStepId), // the root is no step: -1
  };
}

/**
 * A revision by its parts: the actions of both parents, how many first ones they share, and the place of the last bad one
 * that is kept.
 */
interface RevisionParts {
  readonly bad: readonly string[];
  readonly good: readonly string[];
  readonly branch: number;
  readonly transition: number;
  readonly reflection: string;
}

const COLUMN_WIDTH = 34; // of a column: three fit in a terminal of 110

/**
 * Writes a revision between its parents, a line for each action and each action of it next to the one that it was taken from: the
 * bad prefix, the reflection, the good suffix. `·` marks what is context only, `✓` what a trainer learns from.
 */
export function compareWithParents({ bad, good, branch, transition, reflection }: RevisionParts): readonly string[] {
  const kept = bad.slice(0, transition + 1).map((action, i) => row(action, '·', action, i < branch ? good[i] : undefined));
  const [first = '', ...rest] = wrap(`“${reflection}”`);
  const said = [row('', '✓', first, ''), ...rest.map((line) => row('', ' ', line, ''))];
  const left = bad.slice(transition + 1);
  const taken = good.slice(branch).map((action, i) => row(left[i], '✓', action, action));
  const beyond = left.slice(good.length - branch).map((action) => row(action, ' ', '', ''));
  const header = [
    row('bad trajectory', ' ', 'revision', 'good trajectory'),
    row('─'.repeat(COLUMN_WIDTH), ' ', '─'.repeat(COLUMN_WIDTH), '─'.repeat(COLUMN_WIDTH)),
  ];
  return [...header, ...kept, ...said, ...taken, ...beyond];
}

function row(bad: string | undefined, mark: string, revision: string, good: string | undefined): string {
  return `${cell(bad)}  ${mark} ${cell(revision)}  ${cell(good)}`.trimEnd();
}

function cell(text = ''): string {
  return (text.length > COLUMN_WIDTH ? `${text.slice(0, COLUMN_WIDTH - 1)}…` : text).padEnd(COLUMN_WIDTH);
}

function wrap(text: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= COLUMN_WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
