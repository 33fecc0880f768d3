import { TOPICS } from '../../events/catalogue.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import type { RegisterRequest } from '../../training/leases/protocol.ts';
import { TrainingRefused } from '../collect/train-admission-for.ts';
import { openLeaseService } from './open-lease-service.ts';

const CATCH_UP_MS = 120_000;

/**
 * Registers version 0 of a policy, and waits until the read models hold it. The same again changes nothing. @throws
 * TrainingRefused where it was registered with other weights.
 */
export async function registerFirst(platform: Platform, first: RegisterRequest): Promise<void> {
  const { database, log } = platform;
  const answer = await openLeaseService(platform).registerPolicy(first);
  if (answer.kind === 'refused') throw new TrainingRefused(`${answer.message}; ${answer.remedy}`);
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: CATCH_UP_MS });
}
