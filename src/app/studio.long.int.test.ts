import { describeWithBrowser } from '../testing/browser-describe.ts';
import { studioFlows } from './studio.contract.ts';

describeWithBrowser('the studio', studioFlows());
