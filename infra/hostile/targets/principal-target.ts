import fc from 'fast-check';
import { derivedId } from '../../../src/events/derived-id.ts';
import type { Envelope } from '../../../src/events/envelope.ts';
import { newId } from '../../../src/events/new-id.ts';
import { type Held, headerOf, QUOTA } from '../attack-keys.ts';
import { outcomeOf, request } from '../request.ts';
import type { Stage } from '../stage.ts';
import { Broken, type Outcome, target } from '../target.ts';

/** What the holder of a key of the project tries in the streams that another principal opened, and in its own. */
const ACTS = [
  ...(['own run', 'end', 'metric', 'tree', 'derived tree', 'step', 'reward', 'revision', 'judged prompt'] as const),
  ...(['training', 'resumed', 'forgotten', 'query', 'measurements', 'lease'] as const),
] as const;
type Act = (typeof ACTS)[number];
/** Fields of an envelope that the platform alone writes. */
const FORGED = ['none', 'principal', 'project', 'epoch', 'released', 'sealed'] as const;

interface Tried {
  readonly held: Held;
  readonly act: Act;
  readonly forged: (typeof FORGED)[number];
  /** The header espalier-project; null leaves it out. */
  readonly project: string | null;
}

const HELD: readonly Held[] = ['ingest', 'judge', 'read', 'train', 'quota', 'expired', 'revoked', 'unknown', 'malformed'];
const PROJECTS = ['other', 'DEFAULT', '*', '', 'default,other', '../default', '__proto__', `${'a'.repeat(200)}`];
const tried = (held: Held, act: Act, more: Partial<Tried> = {}): Tried => ({ held, act, forged: 'none', project: null, ...more });

/**
 * An attacker with a good key of one scope, or one that was good once: nobody else's stream is added to, nobody else is named as
 * who wrote an event, and each scope opens its own endpoints alone.
 */
export const principalTarget = target<Tried>({
  name: 'principal',
  always: [
    ...HELD.flatMap((held) => ACTS.map((act) => tried(held, act))),
    ...FORGED.map((forged) => tried('ingest', 'own run', { forged })),
    ...PROJECTS.map((project) => tried('ingest', 'own run', { project })),
  ],
  cases: fc.record({
    held: fc.constantFrom(...HELD),
    act: fc.constantFrom(...ACTS),
    forged: fc.oneof({ weight: 3, arbitrary: fc.constant('none' as const) }, fc.constantFrom(...FORGED)),
    project: fc.oneof({ weight: 5, arbitrary: fc.constantFrom(null, 'default') }, fc.constantFrom(...PROJECTS)),
  }),
  way: {
    process: 'api',
    async send(stage, each) {
      const outcome = each.held === 'quota' ? await exhaust(stage, each) : await send(stage, each);
      const allowed = isAllowed(each);
      if (allowed === null || (outcome.kind === 'accepted') === allowed) return outcome;
      throw new Broken(allowed ? `refused what its scope is for: ${said(outcome)}` : 'accepted what is not its own to do');
    },
  },
});

/** Whether a case is to be accepted; null where the quota of the key decides. */
function isAllowed({ held, act, forged, project }: Tried): boolean | null {
  if (held === 'expired' || held === 'revoked' || held === 'unknown' || held === 'malformed') return false;
  if (project !== null && project !== 'default') return false;
  if (held === 'quota') return act === 'query' ? null : false;
  if (act === 'query') return held === 'read';
  if (act === 'measurements') return false; // they are of all projects
  if (act === 'lease') return held === 'train';
  if (forged !== 'none') return false;
  if (act === 'own run') return held === 'ingest';
  return held === 'judge' && (act === 'reward' || act === 'revision');
}

/** Asks for more than the quota of a key: a minute fills it up again, and a case takes some seconds. */
async function exhaust(stage: Stage, each: Tried): Promise<Outcome> {
  let answered = 0;
  let last = await send(stage, each);
  for (let i = 0; i < 4 * QUOTA; i++) {
    if (last.kind === 'accepted') answered++;
    last = await send(stage, each);
  }
  if (answered > 2 * QUOTA) throw new Broken(`a key with a quota of ${QUOTA} requests had ${answered} answered`);
  return last;
}

async function send(stage: Stage, { held, act, forged, project }: Tried): Promise<Outcome> {
  const headers = { ...(await headerOf(stage, held, 'default')), ...(project === null ? {} : { 'espalier-project': project }) };
  const asked = askedFor(stage, act, forged);
  for (let left = RETRIES; ; left--) {
    const answered = await request(`${stage.url.api}${asked.path}`, { ...asked, type: 'application/json', headers });
    // who owns a stream waits for the projector, and answers so for a while on a busy machine
    if (answered.status === 503 && left > 0 && /behind the log/.test(answered.text)) continue;
    return outcomeOf(answered);
  }
}
const RETRIES = 10; // 2 s each

function askedFor(stage: Stage, act: Act, forged: Tried['forged']) {
  if (act === 'query') return { method: 'POST', path: '/graphql', body: JSON.stringify({ query: '{ viewer { principal } }' }) };
  if (act === 'measurements') return { method: 'GET', path: '/metrics' };
  if (act === 'lease') {
    const { policyId } = stage.recorded;
    const body = { policyId: `${policyId} of the attacker`, backend: 'test', weights: 'a'.repeat(64), kept: null };
    return { method: 'POST', path: '/v1/training/policies', body: JSON.stringify(body) };
  }
  return { method: 'POST', path: '/v1/events', body: JSON.stringify({ ...eventOf(stage, act), ...FORGERIES[forged] }) };
}

const FORGERIES: Readonly<Record<Tried['forged'], object>> = {
  none: {},
  principal: { principal: 'local' },
  project: { project: 'default' },
  epoch: { epoch: 3 },
  released: { released: { offset: 0, at: '2026-01-01T00:00:00.000Z', reason: null } },
  sealed: { sealed: { key: newId(), iv: 'AAAAAAAAAAAAAAAA', text: 'AAAA' } },
};

/** An event of the attacker's, which names what the stage recorded as `local`. */
function eventOf({ recorded: { builder, runId, lineageId, policyId, batchIds } }: Stage, act: Act): object {
  const find = <Type extends Envelope['type']>(type: Type) => {
    const event = builder.events.find((each): each is Extract<Envelope, { type: Type }> => each.type === type);
    if (!event) throw new Error(`the stage records a ${type}`);
    return event;
  };
  const opened = find('TreeOpened');
  const { treeId } = opened.data;
  const assigned = find('RewardAssigned');
  const as = (like: Envelope, type: string, stream: string, data: object) => ({
    ...like,
    type,
    stream,
    data,
    id: newId(),
    sequence: 0,
  });
  const own = newId();
  const forgedTree = derivedId('tree', runId, 0, 'future');
  switch (act) {
    case 'own run':
      return as(find('RunStarted'), 'RunStarted', own, { ...find('RunStarted').data, runId: own, config: {} });
    case 'end':
      return as(opened, 'RunFinished', runId, { runId, outcome: 'cancelled', trees: 0, rollouts: 0, steps: 0 });
    case 'metric':
      return as(opened, 'MetricRecorded', runId, { runId, metric: 'forged', value: 1, at: 1 });
    case 'tree':
      return as(opened, 'TreeOpened', own, { ...opened.data, treeId: own, rootStepId: newId() });
    case 'derived tree':
      return as(opened, 'TreeOpened', forgedTree, { ...opened.data, treeId: forgedTree, rootStepId: newId() });
    case 'step':
      return as(find('StepTaken'), 'StepTaken', find('StepTaken').stream, { ...find('StepTaken').data, stepId: newId() });
    case 'reward':
      return as(assigned, 'RewardAssigned', assigned.stream, { ...assigned.data, rewardId: newId(), component: 'judged' });
    case 'revision': {
      const { rewardId } = assigned.data;
      const data = { rewardId, treeId: assigned.data.treeId, value: 0.5, scorer: { name: 'x', revision: '1' }, reason: '' };
      return as(assigned, 'RewardRevised', assigned.stream, data);
    }
    case 'judged prompt':
      return as(opened, 'PromptShown', treeId, { treeId, judgementId: derivedId('StepJudged', treeId, 0) });
    case 'training': {
      const lease = { lineageId, policyId, batchId: batchIds[0], leaseId: newId(), fence: 1 };
      return as(opened, 'BatchAcked', lineageId, { ...lease, version: 1, checkpointId: newId() });
    }
    case 'resumed':
      return as(opened, 'RunResumed', runId, { runId, epoch: 2 });
    case 'forgotten':
      return as(opened, 'PayloadForgotten', runId, { runId });
    case 'query':
    case 'measurements':
    case 'lease':
      throw new Error(`${act} is no event`);
    default:
      return act satisfies never;
  }
}

function said(outcome: Outcome): string {
  return outcome.kind === 'refused' ? outcome.code : 'accepted';
}
