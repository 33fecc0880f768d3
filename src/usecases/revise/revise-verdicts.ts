import type { Appender, Draft } from '../../append/appender.ts';
import { type RememberedPrompt, shownPrompt } from '../../append/shown-prompt.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import { JUDGE_TEMPLATE, judgePrompt } from '../../domain/revision/judge-prompt.ts';
import type { Verdict } from '../../domain/revision/verdict.ts';
import { derivedId } from '../../events/derived-id.ts';
import { pack } from '../../events/packed.ts';
import { judgeText } from '../../events/schemas/revisions.ts';
import type { Text } from '../../events/schemas/values.ts';
import type { Judge, JudgeReply, JudgeRequest } from '../../policies/judge.ts';
import type { Act } from '../../policies/policy.ts';
import type { Db } from '../../postgres/database.ts';
import { findVerdict, type JudgementRecord } from '../../projections/revisions/read-judgements.ts';

/** The place of a judged step. */
interface JudgedPlace {
  readonly treeId: string;
  readonly runId: string;
  readonly leafStepId: string;
  readonly request: JudgeRequest;
}

/** What a judge said: all of it, and its verdict as we read it. */
export interface JudgeAnswer {
  readonly verdict: Verdict;
  readonly reply: Text;
}

/** Returns verdicts, each asked for once. */
export interface Verdicts {
  /** @param known the judgements that the record holds of this tree. */
  of(place: JudgedPlace, known: ReadonlyMap<string, JudgeAnswer>, signal: AbortSignal): Promise<JudgeAnswer>;
  /** Times the judge was really asked. */
  asked(): number;
}

interface Given extends JudgeAnswer, Pick<JudgeReply, 'act'> {
  /** The judgement in which it was given. */
  readonly judgementId: string;
}

/**
 * Opens the verdicts of a judge. A step that the record already holds a judgement of is left as it is. What was asked of a judge
 * before, in whatever tree or run, is not asked again: the new judgement repeats verdict and reply and names the first as its
 * cause. Every judgement is durable before the next step is looked at. Trees that ask the same at the same time share one
 * request. What a model was asked with is recorded next to its judgement.
 */
export function openVerdicts(judge: Judge, db: Db, appender: Appender): Verdicts {
  const byPrompt = new Map<string, Promise<Given>>();
  const shown = new Map<string, JudgedBefore>(); // the last prompt of each tree, whose steps are judged one after the other
  let asked = 0;

  async function give(place: JudgedPlace, promptHash: string, judgementId: string, signal: AbortSignal): Promise<Given> {
    const before = await findVerdict(db, judgeText(judge), promptHash);
    if (before) {
      return { ...answerOf(before), judgementId: before.id };
    }
    asked++;
    return { ...(await judge.judge(place.request, signal)), judgementId };
  }

  return {
    asked: () => asked,
    async of(place, known, signal) {
      const { treeId, runId, leafStepId, request } = place;
      const promptHash = sha256Hex(JSON.stringify(judgePrompt(request.slots)));
      const judgementId: string = derivedId('StepJudged', treeId, leafStepId, request.index, judgeText(judge), promptHash);
      const recorded = known.get(judgementId);
      if (recorded) return recorded;
      const pending = byPrompt.get(promptHash) ?? give(place, promptHash, judgementId, signal);
      byPrompt.set(promptHash, pending);
      pending.catch(() => byPrompt.delete(promptHash)); // a fault is no verdict
      const given = await pending;
      const stepId = request.steps[request.index]?.stepId;
      if (stepId === undefined) throw new RangeError(`the trajectory has no step ${request.index}`);
      const isOwn = given.judgementId === judgementId;
      const judgement = { treeId, runId, leafStepId, stepId, judgementId };
      const prompt = isOwn && given.act ? judgePromptDraft({ ...judgement, act: given.act }, shown.get(treeId) ?? null) : null;
      await appender.append([
        {
          type: 'StepJudged',
          id: judgementId,
          correlationId: runId,
          causationId: isOwn ? null : given.judgementId,
          data: {
            treeId,
            leafStepId,
            stepId,
            index: request.index,
            promptHash,
            judge: { name: judge.name, revision: judge.revision },
            verdict: given.verdict,
            reply: given.reply,
          },
        },
        ...(prompt ? [prompt.draft] : []),
      ]);
      if (prompt) shown.set(treeId, prompt.shown);
      const { act: _, ...answer } = given; // its prompt is on record: of all that were asked, only the answers are held
      if (isOwn) byPrompt.set(promptHash, Promise.resolve(answer));
      return given;
    },
  };
}

/** Reads the answer out of a recorded judgement. */
export function answerOf({ verdict, blobs, ...row }: Pick<JudgementRecord, 'verdict' | 'reply' | 'blobs'>): JudgeAnswer {
  const { reply = row.reply } = blobs ?? {};
  return { verdict, reply };
}

/** The last prompt of a trajectory: the next one repeats most of its log. */
interface JudgedBefore {
  readonly leafStepId: string;
  readonly id: string;
  readonly prompt: RememberedPrompt;
}

/** A judgement that a model was asked for. */
export interface Judgement {
  readonly treeId: string;
  readonly runId: string;
  readonly leafStepId: string;
  readonly stepId: string;
  readonly judgementId: string;
  readonly act: Act;
}

/**
 * Draws up the record of what a judge was asked with and what came with its reply; nothing where it reads no prompt. A prompt
 * continues that of the step before on the same trajectory, so that its log is stored once.
 */
function judgePromptDraft(
  { treeId, runId, leafStepId, stepId, judgementId, act }: Judgement,
  before: JudgedBefore | null,
): { readonly draft: Draft; readonly shown: JudgedBefore } | null {
  const { asked, tokens, call, usage, finishReason } = act;
  if (!asked) return null;
  const base = before?.leafStepId === leafStepId ? before : null;
  const { data, prompt } = shownPrompt(asked, tokens?.ids ?? null, {
    treeId,
    stepId,
    template: JUDGE_TEMPLATE,
    known: new Map(),
    before: base && { id: base.id, prompt: { ...base.prompt, tokenIds: null } }, // a request of its own: its ids continue nothing
  });
  const answer = {
    finishReason,
    usage: usage && { ...usage },
    call: call ?? null,
    tokens: tokens && { ids: pack('int32', tokens.ids), logProbs: tokens.logProbs && pack('float32', tokens.logProbs) },
  };
  const draft: Draft = {
    type: 'PromptShown',
    id: derivedId('PromptShown', judgementId),
    correlationId: runId,
    causationId: judgementId,
    data: { ...data, judgementId, answer },
  };
  return { draft, shown: { leafStepId, id: judgementId, prompt } };
}
