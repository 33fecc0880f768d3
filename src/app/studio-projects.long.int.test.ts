import { describeWithBrowser } from '../testing/browser-describe.ts';
import { projectFlows } from './studio-projects.contract.ts';

describeWithBrowser('the studio with a key of one project', projectFlows());
