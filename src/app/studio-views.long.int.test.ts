import { describeWithBrowser } from '../testing/browser-describe.ts';
import { viewFlows } from './studio-views.contract.ts';

describeWithBrowser('views of environments next to each other', viewFlows());
