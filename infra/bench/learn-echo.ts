import { promptMessages } from '../../src/domain/history/prompt.ts';
import { seedFrom } from '../../src/domain/random/seed-from.ts';
import type { EnvironmentKind } from '../../src/environments/environment.ts';
import { openEnvironment } from '../../src/environments/open-environment.ts';
import { openAiPolicy } from '../../src/policies/openai-policy.ts';
import type { Policy } from '../../src/policies/policy.ts';
import type { StepRow } from '../../src/training/backends/step-row.ts';
import { serveModel } from '../../src/training/backends/torch/serve-model.ts';
import { openTorchBackend } from '../../src/training/backends/torch/torch-backend.ts';
import { decodeTorchCheckpoint } from '../../src/training/backends/torch/torch-checkpoint.ts';
import type { ModelSpec } from '../../src/training/backends/torch/torch-options.ts';
import { type TrainingSettings, trainingSettings } from '../../src/training/backends/training-settings.ts';

export interface EchoLesson {
  readonly python: string;
  /** Where checkpoints are kept. */
  readonly folder: string;
  readonly model: ModelSpec;
  readonly updates: number;
  /** Answers to each task per update. */
  readonly group: number;
  readonly seed: number;
  readonly learningRate: number;
  readonly onUpdate?: (report: { readonly update: number; readonly meanReward: number; readonly success: number }) => void;
}

export interface Learned {
  readonly before: { readonly success: number; readonly answers: number };
  readonly after: { readonly success: number; readonly answers: number };
  readonly seconds: number;
  readonly device: string;
  /** Names the weights of the end. */
  readonly weights: string;
}

const JUDGED = 50; // answers per task: 500 in all, so a success of one half is known to ±4.4 %

/**
 * Closes the loop over the ports: the model answers through its server by the OpenAI protocol, the world rewards, GRPO and the
 * clipped loss update it, the server takes over the new weights. No record is kept here; the same backend trains from the record
 * in the train loop. Equal arguments give equal weights on one device.
 */
export async function learnEcho(lesson: EchoLesson): Promise<Learned> {
  const { python, folder, model, seed, updates, group } = lesson;
  const { signal } = new AbortController();
  const began = performance.now();
  const kind = await openEnvironment('echo');
  const backend = await openTorchBackend({ python, folder, model }, signal);
  try {
    let checkpoint = await backend.initial(seed);
    const nameOf = (bytes: Uint8Array) => decodeTorchCheckpoint(bytes).checkpoint;
    const precision = model.kind === 'folder' ? (model.precision ?? 'float32') : 'float32';
    const server = await serveModel({ python, folder, checkpoint: nameOf(checkpoint), name: 'echo', precision });
    try {
      const policy = openAiPolicy({ baseUrl: server.url, model: 'echo', maxTokens: model.kind === 'tiny' ? 2 : 4 });
      const before = await judge(kind, policy, seed);
      for (let update = 1; update <= updates; update++) {
        const rows = await answerAll(kind, policy, { group, seed: seedFrom('update', seed, update), version: update - 1 });
        const reference = null;
        const settings = settingsOf(lesson, update);
        const updated = await backend.update(
          { checkpoint, reference, rows, settings, seed: seedFrom('order', seed, update) },
          signal,
        );
        if (updated.kind === 'refused') throw new Error(`update ${update}: ${updated.reason}`);
        checkpoint = updated.checkpoint;
        await server.load(nameOf(checkpoint));
        lesson.onUpdate?.({
          update,
          meanReward: rows.reduce((sum, { reward }) => sum + reward, 0) / rows.length,
          success: rows.filter(({ reward }) => reward === 1).length / rows.length,
        });
      }
      const after = await judge(kind, policy, seed);
      const seconds = (performance.now() - began) / 1_000;
      return {
        before,
        after,
        seconds,
        device: String(backend.describe().device),
        weights: decodeTorchCheckpoint(checkpoint).weights,
      };
    } finally {
      await server.close();
    }
  } finally {
    await backend.close();
    await kind.close();
  }
}

/**
 * The second half of the updates takes ever smaller steps: what is learned by then would else be shaken again by the few wrong
 * answers.
 */
function settingsOf({ learningRate, group, updates }: EchoLesson, update: number): TrainingSettings {
  const left = Math.min(1, (2 * (updates - update + 1)) / updates);
  return trainingSettings.parse({
    objective: {
      kind: 'policy-gradient',
      // Not divided by the deviation (Dr.GRPO): one wrong answer among 31 right ones is no reason for a large step.
      estimator: { name: 'grpo', options: { scale: 'none' } },
      loss: { name: 'dual_clip', options: {} },
    },
    learningRate: learningRate * left,
    epochs: 2,
    miniBatch: group * 5, // half of the ten tasks a step
    entropyCoefficient: 0.01, // the first digit that pays must not become the only one
  });
}

async function judge(kind: EnvironmentKind, policy: Policy, seed: number) {
  const rows = await answerAll(kind, policy, { group: JUDGED, seed: seedFrom('judge', seed), version: 0 });
  return { success: rows.filter(({ reward }) => reward === 1).length / rows.length, answers: rows.length };
}

/** Lets the policy answer every task `group` times: each task is a group of one-step rollouts. */
async function answerAll(
  kind: EnvironmentKind,
  policy: Policy,
  { group, seed, version }: { readonly group: number; readonly seed: number; readonly version: number },
): Promise<readonly StepRow[]> {
  const rows: StepRow[] = [];
  for (const alias of kind.taskAliases) {
    const environment = await kind.create();
    const task = { alias, seed: 0 };
    const opening = await environment.reset(task);
    const acts = await policy.act(
      {
        goal: opening.goal,
        instruction: opening.instruction,
        firstObservation: opening.observation,
        history: [],
        admissibleActions: null,
        expertAction: async () => null,
        seed: seedFrom('task', seed, alias),
        n: group,
        temperature: 1,
      },
      new AbortController().signal,
    );
    const messages = promptMessages({ instruction: opening.instruction, firstObservation: opening.observation, history: [] });
    for (const [i, { response, tokens }] of acts.entries()) {
      await environment.reset(task);
      const { action } = environment.parse(response);
      const { reward, observation } = await environment.step(action);
      rows.push({
        groupId: alias,
        rolloutId: `${alias}/${i}`,
        step: 0,
        reward: reward.value,
        action,
        observation,
        end: 'terminated',
        version,
        situation: { goal: opening.goal, firstObservation: opening.observation, history: [] },
        candidates: null,
        stateHash: opening.stateHash,
        temperature: 1,
        tokens,
        chat: { messages, response },
      });
    }
    await environment.close();
  }
  return rows;
}
