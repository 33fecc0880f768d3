import { type RememberedPrompt, shownPrompt } from '../../../append/shown-prompt.ts';
import { sha256Hex } from '../../../digest/sha256.ts';
import { contextOf } from '../../../domain/dataset/turn-weights.ts';
import { type PolicyMessage, serverSampling } from '../../../domain/prompts/policy-prompt.ts';
import { isStructured, messageText } from '../../../domain/prompts/same-message.ts';
import { callsOf, reasoningOf } from '../../../domain/prompts/served-message.ts';
import { cutText } from '../../../domain/text/cut-text.ts';
import { parseReact } from '../../../environments/parse-react.ts';
import type { DataOf, EventType } from '../../../events/catalogue.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { pack } from '../../../events/packed.ts';
import type { Episode, EpisodeTurn } from './agent-traj-item.ts';
import { type AgentTrajOptions, agentTrajDefaults } from './agent-traj-options.ts';
import type { LinedDraft } from './check-against-record.ts';
import type { ItemForm } from './forms/item-of-file.ts';
import { emptySurvey, type Survey, taskKey } from './import-notes.ts';

/**
 * Returns the run that a file becomes: the one asked for, or one derived from content and options, so a second import is the same
 * run.
 */
export function agentTrajRunId({ importer }: ItemForm, { sha256 }: Survey, options: AgentTrajOptions): string {
  const { runId, environment, serverFingerprint, split, policy, rewardScale, recordedAt } = options;
  if (runId !== null) return runId;
  const parts = [environment ?? '', serverFingerprint, split ?? '', policy.policyId, policy.version, rewardScale, recordedAt];
  return derivedId('agent-traj-run', importer, sha256, ...parts);
}

/**
 * Turns an AgentTraj file into events: a run of kind import; a tree per task with a rollout per item; a step per reply. Every id
 * is derived from the run and the content. A reply with `loss: false` is taken by the policy's context (`…:context`), which no
 * export weighs.
 */
export async function* agentTrajDrafts(
  form: ItemForm,
  path: string,
  survey: Survey,
  options: AgentTrajOptions,
): AsyncGenerator<LinedDraft> {
  const file = new AgentTrajFile(form, survey, options);
  yield { line: 1, draft: file.started() };
  let at = -1;
  for await (const { line, parsed } of form.items(path, options)) {
    at += 1;
    if (parsed.kind !== 'episode' || survey.refused.has(at)) continue; // the survey says what became of the others
    for (const draft of file.episode(parsed.episode)) yield { line, draft };
  }
  yield { line: 1, draft: file.finished() };
}

/** Drafts the events of one episode as of a file that holds no other: what may stand in them, whatever their ids. */
export function episodeDrafts(form: ItemForm, episode: Episode, options: AgentTrajOptions): readonly IdentifiedDraft[] {
  const only = { episodes: new Map([[taskKey(episode), 1]]), environments: [episode.environment] };
  const file = new AgentTrajFile(
    form,
    { ...emptySurvey(''), ...only },
    { ...options, runId: options.runId ?? derivedId('episode') },
  );
  return [file.started(), ...file.episode(episode)];
}

export type IdentifiedDraft = LinedDraft['draft'];

/** Makes the events of a file's episodes, as they come. */
export class AgentTrajFile {
  readonly #form: ItemForm;
  readonly #survey: Survey;
  readonly #options: AgentTrajOptions;
  readonly #runId: string;
  /** Task key → episodes made so far. */
  readonly #made = new Map<string, number>();
  #rollouts = 0;
  #steps = 0;

  constructor(form: ItemForm, survey: Survey, options: AgentTrajOptions) {
    this.#form = form;
    this.#survey = survey;
    this.#options = options;
    this.#runId = agentTrajRunId(form, survey, options);
  }

  started(): IdentifiedDraft {
    const { sha256, environments, withoutConversation, acknowledgement } = this.#survey;
    const { serverFingerprint, split } = this.#options;
    const { importer, title } = this.#form;
    return this.#draft('RunStarted', this.#runId, {
      runId: this.#runId,
      experimentId: null,
      name: cutText(`${title} ${environments.join(', ')} ${sha256.slice(0, 8)}`, 200),
      kind: 'import',
      seed: 0,
      codeVersion: importer,
      config: { importer, sha256, split, withoutConversation, acknowledgement },
      environments: environments.map((environment) => ({ environment, fingerprint: serverFingerprint })),
      policy: this.#policyOf({}),
    });
  }

  *episode(episode: Episode): Generator<IdentifiedDraft> {
    const key = taskKey(episode);
    const ordinal = this.#made.get(key) ?? 0;
    const planned = this.#survey.episodes.get(key);
    this.#made.set(key, ordinal + 1);
    const treeId = this.#treeOf(key);
    const rootStepId = derivedId('root', treeId);
    if (ordinal === 0) yield this.#draft('TreeOpened', treeId, this.#tree(episode, treeId, rootStepId, planned ?? 1));
    yield* this.#rollout(episode, treeId, rootStepId, ordinal);
    if (ordinal + 1 === planned) yield this.#closed(treeId, planned);
  }

  /** Closes the trees that `episode` left open: all, where the survey does not say how many rollouts they have. */
  *closed(): Generator<IdentifiedDraft> {
    for (const [key, made] of this.#made) if (!this.#survey.episodes.has(key)) yield this.#closed(this.#treeOf(key), made);
  }

  #treeOf(key: string): string {
    return derivedId('tree', this.#runId, key);
  }

  #closed(treeId: string, rollouts: number): IdentifiedDraft {
    return this.#draft('TreeClosed', treeId, { treeId, reason: 'completed', rollouts });
  }

  finished(): IdentifiedDraft {
    const counts = { trees: this.#made.size, rollouts: this.#rollouts, steps: this.#steps };
    return this.#draft('RunFinished', this.#runId, { runId: this.#runId, outcome: 'completed', message: '', ...counts });
  }

  #tree(episode: Episode, treeId: string, rootStepId: string, plannedRollouts: number): DataOf<'TreeOpened'> {
    const { environment, alias, instruction, firstObservation, goal = '' } = episode;
    const { serverFingerprint, split } = this.#options;
    const observationHash = sha256Hex(firstObservation);
    const taskId = derivedId('task', environment, serverFingerprint, observationHash);
    return {
      treeId,
      runId: this.#runId,
      task: { taskId, environment, serverFingerprint, observationHash, alias, goal, depth: null, split },
      rootStepId,
      instruction,
      observation: firstObservation,
      admissibleActions: null,
      stateHash: null,
      plannedRollouts,
      seed: 0,
    };
  }

  *#rollout(episode: Episode, treeId: string, rootStepId: string, ordinal: number): Generator<IdentifiedDraft> {
    const { turns, reward, success, rewards = [], outcome = 'terminated' } = episode;
    const { rewardScale: scale } = this.#options;
    const policy = this.#policyOf(episode);
    const rolloutId = derivedId('rollout', treeId, ordinal);
    yield this.#draft('RolloutStarted', rolloutId, { rolloutId, treeId, fromStepId: rootStepId, ordinal, seed: 0, policy });
    let parentStepId: string = rootStepId;
    const prompts = new ImportedPrompts(episode, treeId, rootStepId);
    for (const [i, turn] of turns.entries()) {
      const stepId = derivedId('step', rolloutId, i + 1);
      const place = { stepId, treeId, parentStepId, rolloutId, depth: i + 1 };
      const last = i + 1 === turns.length && outcome !== 'failed' && outcome !== 'cancelled' ? outcome : 'none';
      yield this.#draft('StepTaken', stepId, { ...place, ...this.#turn(turn, last, policy) });
      const shown = prompts.shownTo(turn, stepId);
      if (shown) yield this.#draft('PromptShown', stepId, shown);
      parentStepId = stepId;
    }
    if (reward !== null) {
      const rewardId = derivedId('reward', parentStepId, 'environment');
      yield this.#draft('RewardAssigned', rewardId, {
        rewardId,
        treeId,
        stepId: parentStepId,
        rolloutId,
        component: 'environment',
        value: reward / scale,
        scorer: this.#scorer(),
        raw: { value: reward, scale, kind: 'final' },
      });
    }
    for (const { component, value, turn } of rewards) {
      const stepId = turn === null ? null : derivedId('step', rolloutId, turn + 1);
      const rewardId = derivedId('reward', stepId ?? rolloutId, component);
      yield this.#draft('RewardAssigned', rewardId, {
        rewardId,
        treeId,
        stepId,
        rolloutId,
        component,
        value: value / scale,
        scorer: this.#scorer(),
        raw: { value, scale, kind: 'delta' },
      });
    }
    const reason = 'the recorded conversation ends here';
    const end = { rolloutId, treeId, leafStepId: parentStepId, steps: turns.length, reason };
    yield this.#draft('RolloutFinished', rolloutId, { ...end, outcome, success });
    this.#rollouts += 1;
    this.#steps += turns.length;
  }

  #turn(
    { response, observation, trained, tokens, usage, shown }: EpisodeTurn,
    termination: DataOf<'StepTaken'>['termination'],
    { policyId, version }: DataOf<'RolloutStarted'>['policy'],
  ): Omit<DataOf<'StepTaken'>, 'stepId' | 'treeId' | 'parentStepId' | 'rolloutId' | 'depth'> {
    return {
      response,
      ...(shown && isStructured(shown.reply) ? structureOfReply(shown.reply) : parseReact(response)),
      observation,
      wellFormatted: response.includes('Action:') || (shown !== undefined && callsOf(shown.reply).length > 0),
      executable: true, // the files keep what the environment answered, not whether it understood
      termination,
      policySpans: [{ from: 0, to: tokens?.ids.length ?? 0, policyId: trained ? policyId : contextOf(policyId), version }],
      tokens: tokens
        ? {
            ids: pack('int32', tokens.ids),
            logProbs: tokens.logProbs && pack('float32', tokens.logProbs),
            mask: tokens.mask ? pack('uint8', tokens.mask) : null,
          }
        : null,
      usage: usage ?? null,
      finishReason: null,
      call: null,
      timings: { policyMs: 0, environmentMs: 0 },
      stateHash: null,
      admissibleActions: null,
    };
  }

  /** Who the option --policy names, else who the file does. */
  #policyOf({ policy }: Pick<Episode, 'policy'>): AgentTrajOptions['policy'] {
    const { policy: named } = this.#options;
    if (named.policyId !== agentTrajDefaults.policy.policyId) return named;
    return policy ?? { policyId: this.#form.policyId, version: named.version };
  }

  #scorer(): { readonly name: string; readonly revision: string } {
    const { importer } = this.#form;
    return { name: importer.split('/')[0] ?? importer, revision: importer };
  }

  #draft<T extends EventType>(type: T, subject: string, data: DataOf<T>): IdentifiedDraft {
    const occurredAt = this.#options.recordedAt;
    // type and data are tied by T
    return { type, id: derivedId(type, subject), correlationId: this.#runId, occurredAt, data } as IdentifiedDraft;
  }
}

/** The prompts of a rollout whose file has more than texts of its messages: each continues the one before. */
class ImportedPrompts {
  readonly #treeId: string;
  readonly #known = new Map<string, { readonly stepId: string; readonly field: 'instruction' | 'observation' | 'response' }>();
  #before: { readonly id: string; readonly prompt: RememberedPrompt } | null = null;

  constructor({ instruction, firstObservation }: Episode, treeId: string, rootStepId: string) {
    this.#treeId = treeId;
    this.#add(instruction, rootStepId, 'instruction');
    this.#add(firstObservation, rootStepId, 'observation');
  }

  /** Draws up what a reply was asked with; null where the file says no more than the texts of the steps. */
  shownTo({ shown, response, observation }: EpisodeTurn, stepId: string): DataOf<'PromptShown'> | null {
    if (!shown) return null;
    const { messages, tools } = shown;
    const asked = { messages, tools, sampling: serverSampling(null), server: null, model: null, tokenIds: null };
    const at = { treeId: this.#treeId, stepId, template: null, before: this.#before, known: this.#known };
    const { data, prompt } = shownPrompt(asked, null, at);
    this.#before = { id: stepId, prompt };
    this.#add(response, stepId, 'response');
    this.#add(observation, stepId, 'observation');
    return data;
  }

  #add(text: string, stepId: string, field: 'instruction' | 'observation' | 'response'): void {
    if (text !== '' && !this.#known.has(text)) this.#known.set(text, { stepId, field });
  }
}

function structureOfReply(reply: PolicyMessage): Pick<DataOf<'StepTaken'>, 'thought' | 'action' | 'reply'> {
  const thought = reasoningOf(reply);
  const toolCalls = callsOf(reply).map(({ id, name, arguments: given }) => ({ id, name, arguments: given }));
  return {
    thought,
    action: toolCalls.length === 0 ? messageText(reply) : toolCalls.map((call) => `${call.name} ${call.arguments}`).join('\n'),
    reply: { reasoning: thought !== '', toolCalls },
  };
}
