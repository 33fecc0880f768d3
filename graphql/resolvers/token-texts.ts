import { textsByEnds } from '../../src/domain/text/texts-by-ends.ts';
import { unpack } from '../../src/events/packed.ts';
import type { Packed } from '../../src/events/schemas/values.ts';
import type { StepRecord } from '../../src/projections/step-tree/read-steps.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import { forgottenStream } from '../loaders/forgotten-loaders.ts';

/**
 * Returns the text of each sampled token: by the ends that were recorded, else by a tokenizer that the installation knows for the
 * policy or the model. A response of one token is its text. Ids alone say nothing without the tokenizer that made them, and to
 * tokenise the text again may give others. @throws UNAVAILABLE where the tokenizer cannot be read.
 */
export async function tokenTexts(step: StepRecord, context: Context): Promise<readonly string[] | null> {
  const { tokens } = step;
  if (tokens === null || (await forgottenStream(context).load(step.treeId))) return null;
  const { ends, ids } = tokens;
  if (ends) return textsByEnds(await responseOf(step, context), await numbers(ends, context));
  const decoder = await decoderOf(step, context);
  if (decoder) return decoder.texts(await numbers(ids, context));
  return ids.length === 1 ? [await responseOf(step, context)] : null;
}

/** The same of the tokens that the policy sampled alone. */
export async function sampledTexts(step: StepRecord, context: Context): Promise<readonly string[] | null> {
  const texts = await tokenTexts(step, context);
  if (texts === null || !step.tokens?.mask) return texts;
  const mask = await numbers(step.tokens.mask, context);
  return texts.filter((_, place) => mask[place] === 1);
}

/** Returns the text of each token of a text without recorded ids, by the tokenizer of a step; null where none is known. */
export async function splitTexts(step: StepRecord, text: string, context: Context): Promise<readonly string[] | null> {
  if (await forgottenStream(context).load(step.treeId)) return null;
  return (await decoderOf(step, context))?.split(text) ?? null;
}

/** @throws UNAVAILABLE where the tokenizer cannot be read. */
async function decoderOf(step: StepRecord, { sources }: Context) {
  return sources.tokenizers?.(namesOf(step)).catch((error: unknown) => {
    throw refusal('UNAVAILABLE', error instanceof Error ? error.message : String(error));
  });
}

function namesOf({ policySpans, call }: StepRecord): readonly string[] {
  return [...policySpans.map(({ policyId }) => policyId), ...(call?.model ? [call.model] : [])];
}

export async function responseOf({ response, blobs }: StepRecord, { texts }: Context): Promise<string> {
  return blobs?.response ? Buffer.from(await texts.bytes(blobs.response)).toString('utf8') : response;
}

async function numbers(packed: Packed, { texts }: Context): Promise<readonly number[]> {
  return unpack(packed, typeof packed.bytes === 'string' ? undefined : await texts.bytes(packed.bytes));
}
