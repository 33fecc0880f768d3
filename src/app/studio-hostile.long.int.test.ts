import { describeWithBrowser } from '../testing/browser-describe.ts';
import { hostileFlows } from './studio-hostile.contract.ts';

describeWithBrowser('the studio over a hostile record', hostileFlows());
