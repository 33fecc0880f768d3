import { cutText } from '../../domain/text/cut-text.ts';
import { answerFailure, type PlannedCall, planTurn, type ToolProfile } from '../../domain/tools/plan-turn.ts';
import { truncateCodePoints } from '../../domain/tools/profile-chat.ts';
import { PICTURE_LIMITS, type Picture, PictureRefused, readPictures } from '../../images/observation-pictures.ts';
import { EnvironmentError, type ToolCallRecord } from '../environment.ts';
import { type CallLimits, type CallOutcome, runCalls } from '../tools/run-calls.ts';
import type { Toolbox } from '../tools/toolbox.ts';

/** The rules by which a turn is answered. */
export interface TurnRules {
  readonly profile: ToolProfile;
  /** `nous` only: all calls of a turn are executed. */
  readonly parallel: boolean;
  /** Rewards of calls are counted. */
  readonly paysCalls: boolean;
  readonly toolbox: Toolbox;
}

/** A response, answered: what the model is shown for each call, uncut, and what is recorded of it, cut. */
export interface AnsweredTurn {
  readonly kind: 'final' | 'calls';
  readonly results: readonly string[];
  /** What the calls returned besides, in the order of the calls. */
  readonly pictures: readonly Picture[];
  readonly calls: readonly ToolCallRecord[];
  /** The sum of what the calls were paid, null where none was. */
  readonly reward: number | null;
  /** At least one call was well formed, or none was made. */
  readonly executable: boolean;
}

const RECORDED = 16_384; // code points kept of a call's output: 64 KiB at most, and any model is shown less
const KEPT = 65_536; // code points of a result that framing may still look at

/**
 * Answers a response: reads its calls, runs those that can be run, and says what each gave. @throws EnvironmentError `backend`
 * when what a tool asks is away: a turn that was answered in part would teach the policy that its calls fail.
 */
export async function answerTurn(rules: TurnRules, response: string, limits: CallLimits): Promise<AnsweredTurn> {
  const { profile, parallel, paysCalls, toolbox } = rules;
  const planned = planTurn(profile, response, toolbox, { parallel });
  if (planned.kind === 'final') return { kind: 'final', results: [], pictures: [], calls: [], reward: null, executable: true };
  const toRun = planned.calls.flatMap((each) => (each.kind === 'execute' ? [each.call] : []));
  const { outcomes, pictures } = await readCallPictures(await runCalls(toolbox.tools, toRun, limits));
  for (const [i, outcome] of outcomes.entries())
    if (outcome.kind === 'unavailable')
      throw new EnvironmentError('backend', `the tool ${toRun[i]?.name} is unavailable: ${outcome.reason}`, { retryable: true });
  const answered = planned.calls.map((each): Answered => {
    const outcome = each.kind === 'execute' ? outcomes[toRun.indexOf(each.call)] : undefined;
    return answerOf(profile, each, outcome);
  });
  const paid = answered.flatMap(({ reward }) => (reward === null || !paysCalls ? [] : [reward]));
  return {
    kind: 'calls',
    pictures,
    results: answered.map(({ result }) => truncateCodePoints(result, KEPT)),
    calls: answered.map(({ tool, text, result, outcome, durationMs, reward, note }) => ({
      tool: tool === '' ? '(none)' : cutText(tool, 200),
      arguments: truncateCodePoints(text, RECORDED),
      output: truncateCodePoints(result, RECORDED) + note,
      outcome,
      durationMs,
      ...(reward === null || !paysCalls ? {} : { reward }),
    })),
    reward: paid.length === 0 ? null : paid.reduce((sum, each) => sum + each, 0),
    executable: answered.some(({ valid }) => valid),
  };
}

/** Reads the pictures of calls. A call whose pictures are none has failed, and so has one beyond the limit of a turn. */
async function readCallPictures(
  outcomes: readonly CallOutcome[],
): Promise<{ readonly outcomes: readonly CallOutcome[]; readonly pictures: readonly Picture[] }> {
  const read: CallOutcome[] = [];
  const pictures: Picture[] = [];
  for (const outcome of outcomes) {
    try {
      if (outcome.kind === 'done' && outcome.pictures !== undefined)
        for (const each of await readPictures(outcome.pictures, PICTURE_LIMITS.count - pictures.length)) pictures.push(each);
      read.push(outcome);
    } catch (error) {
      if (!(error instanceof PictureRefused)) throw error;
      read.push({ kind: 'failed', reason: error.message, durationMs: outcome.durationMs });
    }
  }
  return { outcomes: read, pictures };
}

interface Answered {
  readonly tool: string;
  readonly text: string;
  readonly result: string;
  readonly outcome: 'ok' | 'error';
  readonly durationMs: number;
  readonly reward: number | null;
  readonly valid: boolean;
  /** What the record holds besides the output and the model is not shown. */
  readonly note: string;
}

function answerOf(profile: ToolProfile, planned: PlannedCall, outcome: CallOutcome | undefined): Answered {
  if (planned.kind === 'refused' || outcome === undefined) {
    const refused = planned.kind === 'refused' ? planned : null;
    return {
      tool: refused?.tool ?? '',
      text: refused?.text ?? '',
      result: refused?.answer ?? '',
      outcome: 'error',
      durationMs: 0,
      reward: refused?.reward ?? null,
      valid: refused?.valid ?? false,
      note: '',
    };
  }
  const { name, text } = planned.call;
  if (outcome.kind !== 'done') {
    const { answer, reward } = answerFailure(profile, name, outcome.reason);
    return { tool: name, text, result: answer, outcome: 'error', durationMs: outcome.durationMs, reward, valid: true, note: '' };
  }
  return {
    tool: name,
    text,
    result: outcome.output,
    outcome: outcome.success && outcome.refusal === null ? 'ok' : 'error',
    durationMs: outcome.durationMs,
    reward: outcome.reward ?? (profile === 'seed' ? 0 : null),
    valid: true,
    note: outcome.refusal === null ? '' : `\n[reward refused: ${outcome.refusal}]`,
  };
}
