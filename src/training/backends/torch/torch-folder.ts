import { join } from 'node:path';
import type { Config } from '../../../runtime/config.ts';

/** Returns the folder in which the checkpoints of the torch backend lie, each under its digest. */
export function torchFolder({ home }: Pick<Config, 'home'>): string {
  return join(home, 'checkpoints');
}
