import { describeWithBrowser } from '../testing/browser-describe.ts';
import { pageFlows } from './view.contract.ts';

describeWithBrowser('a page that opens without a server', pageFlows());
