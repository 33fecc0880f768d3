import { describeWithBrowser } from '../testing/browser-describe.ts';
import { rendererFlows } from './studio-renderer.contract.ts';

describeWithBrowser('the views of environments in the studio', rendererFlows());
