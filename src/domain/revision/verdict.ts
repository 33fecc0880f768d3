import { pythonStrip } from '../text/python-strip.ts';

/** What a judge said of a step. `unparsed`: its reply holds no verdict that can be read; that is not a bad step. */
export type Verdict = 'good' | 'bad' | 'uncertain' | 'unparsed';

const LABEL = /^(good|bad|uncertain)\b/i;
const MARKER = /judge?ments?["'*_\s“”‘’]*[:：]/gi;
const DECORATION = /^(?:[\s<>*_"'`[\](){}$“”„‘’‚«»‹›「」『』]|\\(?:boxed|fbox|text|textbf|textit|mathbf|mathrm)\s*\{|\\[([])+/;
const BARE = /^(good|bad|uncertain)[\s.>*_"'`\])}$\\“”‘’«»‹›「」『』]*$/i;
const BOXED = /\\boxed\s*\{\s*(?:\\text(?:bf)?\s*\{\s*)?(good|bad|uncertain)\s*\}/gi;
/** The template handed back, `<Good/Bad/Uncertain>`, names a label first but chooses none. */
const CHOICE = /^(good|bad|uncertain)[\s>]*(?:[/|,]|or\b)[\s<]*(?!\1)(good|bad|uncertain)\b/i;

/**
 * Reads a judge's reply: the label that directly follows the last `Judgement:` (or `Judgment:`, in any case, with or without
 * quotes and markup), else the last one behind it in a `\boxed{}` of its own, or a reply that is nothing but a label. All else is
 * `unparsed`, "not good" included: the published substring test accepts it, and takes what it cannot read for bad (specification
 * of Agent-R, §2.4, §6 item 11).
 */
export function parseVerdict(reply: string): Verdict {
  const marker = [...reply.matchAll(MARKER)].at(-1);
  const rest = marker ? reply.slice(marker.index + marker[0].length) : reply;
  const said = rest.replace(DECORATION, '');
  if (CHOICE.test(said)) return 'unparsed';
  const first = marker || BARE.test(said) ? LABEL.exec(said)?.[1] : undefined;
  const label = (first ?? [...rest.matchAll(BOXED)].at(-1)?.[1])?.toLowerCase();
  return label === 'good' || label === 'bad' || label === 'uncertain' ? label : 'unparsed';
}

interface PublishedVerdict {
  /** The text after the last `Judgement:`, or the whole reply; what the row keeps. */
  readonly judgement: string;
  readonly verdict: 'good' | 'bad' | 'uncertain';
}

/**
 * Reads a judge's reply as Agent-R does (§2.4): any "good" or "uncertain" in the text after the last `Judgement:` accepts the
 * step, everything else, even an empty reply, rejects it. `Judgment` is no marker.
 */
export function parseVerdictAsPublished(reply: string): PublishedVerdict {
  const judgement = pythonStrip(reply.split('Judgement:').at(-1) ?? '');
  const lower = judgement.toLowerCase();
  return { judgement, verdict: lower.includes('good') ? 'good' : lower.includes('uncertain') ? 'uncertain' : 'bad' };
}
