import { describeUpgrade } from './upgrade.contract.ts';

describeUpgrade();
