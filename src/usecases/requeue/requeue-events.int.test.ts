import { openTestWorld } from '../../testing/open-test-log.ts';
import { describeRequeuing } from './requeue-events.contract.ts';

describeRequeuing(() => openTestWorld());
