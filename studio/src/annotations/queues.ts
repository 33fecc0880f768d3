import type { StepFilter, TextField, Verdict } from '../../../graphql/studio/generated/operations.ts';

/** The parameters of a queue: its address is the saved question. */
export type Queue = {
  readonly words?: string;
  readonly in?: string;
  readonly run?: string;
  readonly verdict?: string;
  readonly from?: string;
  readonly until?: string;
  readonly fault?: string;
  readonly label?: string;
  readonly without?: string;
};

/** Questions that most reviews begin with. */
export const QUEUES: readonly { readonly name: string; readonly queue: Queue }[] = [
  {
    name: 'Rewarded although it says that it cannot',
    queue: { words: 'cannot or unable or impossible', in: 'said', from: '0.000001' },
  },
  {
    name: 'Not rewarded although it says that it is done',
    queue: { words: 'done or finished or completed', in: 'said', until: '0.000001' },
  },
  { name: 'Judged bad', queue: { verdict: 'bad' } },
  { name: 'Not well formatted', queue: { fault: 'form' } },
  { name: 'Not executable', queue: { fault: 'executable' } },
  { name: 'Cut off by a limit', queue: { fault: 'truncated' } },
  { name: 'Samples that were rejected', queue: { fault: 'rejected' } },
];

/**
 * Returns the filter of a queue. What is annotated already is left out: with anything, or with the label that `without` names; a
 * queue of a `label` holds what has it.
 */
export function filterOf({ words, in: where, run, verdict, from, until, fault, label, without }: Queue): StepFilter {
  const range = { ...(isNumber(from) ? { from: Number(from) } : {}), ...(isNumber(until) ? { until: Number(until) } : {}) };
  const fields = where === 'said' ? (['thought', 'action'] as const) : where ? [where as TextField] : undefined;
  return {
    depth: { from: 1 },
    annotated: label ? { label } : { has: false, ...(without ? { label: without } : {}) },
    ...(words ? { text: { words, ...(fields ? { in: [...fields] } : {}) } } : {}),
    ...(run ? { run } : {}),
    ...(verdict ? { verdict: verdict as Verdict } : {}),
    ...(Object.keys(range).length > 0 ? { return: range } : {}),
    ...(fault === 'form' ? { wellFormatted: false } : {}),
    ...(fault === 'executable' ? { executable: false } : {}),
    ...(fault === 'truncated' ? { termination: 'truncated' } : {}),
    ...(fault === 'rejected' ? { sampleState: 'rejected' } : {}),
  };
}

function isNumber(text: string | undefined): text is string {
  return text !== undefined && text.trim() !== '' && Number.isFinite(Number(text));
}
