import { openTestWorld } from '../../testing/open-test-log.ts';
import { describeReleasing } from './release-quarantined.contract.ts';

describeReleasing(() => openTestWorld());
