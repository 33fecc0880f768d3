import { promptMessages } from '../../src/domain/history/prompt.ts';
import { seedFrom } from '../../src/domain/random/seed-from.ts';
import type { EnvironmentKind } from '../../src/environments/environment.ts';
import { openEnvironment } from '../../src/environments/open-environment.ts';
import { openAiPolicy } from '../../src/policies/openai-policy.ts';
import type { PastStep, Policy } from '../../src/policies/policy.ts';
import type { StepRow } from '../../src/training/backends/step-row.ts';
import { serveModel } from '../../src/training/backends/torch/serve-model.ts';
import { openTorchBackend } from '../../src/training/backends/torch/torch-backend.ts';
import { decodeTorchCheckpoint } from '../../src/training/backends/torch/torch-checkpoint.ts';
import type { TrainingSettings } from '../../src/training/backends/training-settings.ts';

export interface Loop {
  readonly python: string;
  readonly environment: string;
  /** The task of every group. */
  readonly alias: string;
  /** The folder of the model, and one for checkpoints. */
  readonly model: string;
  readonly folder: string;
  readonly updates: number;
  readonly groups: number;
  /** Rollouts of a group. */
  readonly group: number;
  readonly maxSteps: number;
  /** How the rollouts of a group are walked; `espalier train` walks them one after another. */
  readonly members: 'in turn' | 'at once';
  /** Tokens of a reply at most. */
  readonly maxTokens: number;
  readonly settings: TrainingSettings;
}

/**
 * Trains a language model without a record: the rollouts of a batch, an update, the new weights to the model server. The same
 * server, backend and settings as `espalier train`. Returns the steps that were taken.
 */
export async function trainUnrecorded(loop: Loop): Promise<number> {
  const { python, model, folder, updates, settings } = loop;
  const { signal } = new AbortController();
  const kind = await openEnvironment(loop.environment);
  const backend = await openTorchBackend({ python, folder, model: { kind: 'folder', path: model } }, signal);
  let steps = 0;
  try {
    let checkpoint = await backend.initial(1);
    const nameOf = (bytes: Uint8Array) => decodeTorchCheckpoint(bytes).checkpoint;
    const server = await serveModel({ python, folder, checkpoint: nameOf(checkpoint), name: 'loop' });
    const policy = openAiPolicy({ baseUrl: server.url, model: 'loop', maxTokens: loop.maxTokens });
    try {
      for (let update = 1; update <= updates; update++) {
        const rows = await walkAll(kind, policy, loop, update);
        steps += rows.length;
        const updated = await backend.update({ checkpoint, reference: null, rows, settings, seed: update }, signal);
        if (updated.kind === 'refused') throw new Error(`update ${update}: ${updated.reason}`);
        checkpoint = updated.checkpoint;
        await server.load(nameOf(checkpoint));
      }
    } finally {
      await policy.close();
      await server.close();
    }
  } finally {
    await backend.close();
    await kind.close();
  }
  return steps;
}

/** Walks the rollouts of a batch: groups next to each other, and their members one after another or all at once. */
async function walkAll(kind: EnvironmentKind, policy: Policy, loop: Loop, update: number): Promise<readonly StepRow[]> {
  const { groups, group, members } = loop;
  const walkGroup = async (first: number) => {
    const rows: StepRow[][] = [];
    const one = async (i: number) => void rows.push([...(await walk(kind, policy, loop, update, i))]);
    const ordinals = Array.from({ length: group }, (_, k) => first * group + k);
    if (members === 'at once') await Promise.all(ordinals.map(one));
    else for (const i of ordinals) await one(i);
    return rows.flat();
  };
  return (await Promise.all(Array.from({ length: groups }, (_, first) => walkGroup(first)))).flat();
}

async function walk(
  kind: EnvironmentKind,
  policy: Policy,
  { groups, group, maxSteps, alias }: Loop,
  update: number,
  i: number,
): Promise<readonly StepRow[]> {
  const task = (update - 1) * groups + Math.floor(i / group);
  const environment = await kind.create();
  const { signal } = new AbortController();
  const rows: StepRow[] = [];
  try {
    const opening = await environment.reset({ alias, seed: 0 });
    let [admissible, stateHash] = [opening.admissibleActions, opening.stateHash];
    const history: PastStep[] = [];
    while (rows.length < maxSteps && rows.at(-1)?.end !== 'terminated') {
      const shown = { instruction: opening.instruction, firstObservation: opening.observation, history: [...history] };
      const [act] = await policy.act(
        {
          goal: opening.goal,
          ...shown,
          admissibleActions: admissible,
          expertAction: async () => null,
          seed: seedFrom('walk', update, i, rows.length),
          n: 1,
          temperature: 1,
        },
        signal,
      );
      if (!act) throw new Error('the policy gave no act');
      const { action } = environment.parse(act.response);
      const answer = await environment.step(action);
      rows.push({
        groupId: `${update}/${task}`,
        rolloutId: `${update}/${i}`,
        step: rows.length,
        version: update - 1,
        temperature: 1,
        situation: { goal: opening.goal, firstObservation: opening.observation, history: shown.history },
        chat: { messages: promptMessages(shown), response: act.response },
        tokens: act.tokens,
        candidates: admissible,
        stateHash,
        reward: answer.reward.value,
        action,
        observation: answer.observation,
        end: answer.terminated ? 'terminated' : rows.length + 1 === maxSteps ? 'truncated' : 'none',
      });
      history.push({ response: act.response, action, observation: answer.observation });
      [admissible, stateHash] = [answer.admissibleActions, answer.stateHash];
    }
  } finally {
    await environment.close();
  }
  return rows;
}
