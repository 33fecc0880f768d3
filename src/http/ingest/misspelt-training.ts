import { closestName } from '../../domain/text/closest-name.ts';
import type { Envelope } from '../../events/envelope.ts';
import { CHANNELS, trainingChannel } from '../../events/schemas/training.ts';
import type { ContentFault } from './content-fault.ts';

const REMEDY = `write {"policyId": NAME, "channel": CHANNEL} as config.training, where the channel is ${CHANNELS.join(', ')}; another name for settings of your own`;

/**
 * Finds a configuration of a run that means to feed a training and is not read as that: its rollouts would be no samples, and
 * nothing would say so. Other settings under `training` are a program's own: its `policy` may be an algorithm, and its `channels` a
 * number.
 */
export function unknownTrainingFields({ type, data }: Envelope): ContentFault | undefined {
  if (type !== 'RunStarted') return undefined;
  const config = fieldsOf((data as { readonly config?: unknown }).config); // of a RunStarted: any JSON
  const near = Object.keys(config).find(
    (name) => name !== 'training' && closestName(name, ['training']) !== null && trainingChannel.safeParse(config[name]).success,
  );
  if (near !== undefined && config.training === undefined)
    return {
      path: `data.config.${near}`,
      message: 'names a policy and a channel, and is not read',
      remedy: 'did you mean training?',
    };
  const training = fieldsOf(config.training);
  const named = Object.keys(training).filter((name) => training[name] !== null);
  const ofPolicy = named.find(isPolicyId);
  const ofChannel = named.find((name) => closestName(name, ['channel']) !== null && isChannel(training[name]));
  if (ofPolicy === undefined && ofChannel === undefined) return undefined;
  const issue = trainingChannel.safeParse(training).error?.issues[0];
  if (issue === undefined) return undefined;
  const field = String(issue.path[0]);
  const given =
    field === 'channel'
      ? named.find((name) => closestName(name, ['channel']) !== null)
      : (ofPolicy ?? named.find((name) => name === 'policy'));
  const meant = training[field] === undefined && given !== undefined ? `; ${given} is not read` : '';
  return { path: `data.config.training.${field}`, message: `${issue.message}${meant}`, remedy: REMEDY };
}

const { channel } = trainingChannel.shape;

function isChannel(value: unknown): boolean {
  return channel.safeParse(value).success;
}

/** Whether a name is `policyId`, in any case and style: `policy_lr` is as near to it as a misspelling. */
function isPolicyId(name: string): boolean {
  return name.replaceAll(/[-_ ]/g, '').toLowerCase() === 'policyid';
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
