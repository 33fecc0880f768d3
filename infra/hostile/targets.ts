import type { Target } from './target.ts';
import { browserTarget } from './targets/browser-target.ts';
import { budgetTarget } from './targets/budget-target.ts';
import { eventsTarget } from './targets/events-target.ts';
import { fileTarget } from './targets/file-target.ts';
import { graphqlTarget } from './targets/graphql-target.ts';
import { httpTarget } from './targets/http-target.ts';
import { imageTarget } from './targets/image-target.ts';
import { importTarget } from './targets/import-target.ts';
import { policyTarget } from './targets/policy-target.ts';
import { prepareTarget } from './targets/prepare-target.ts';
import { principalTarget } from './targets/principal-target.ts';
import { projectsTarget } from './targets/projects-target.ts';
import { renderTarget } from './targets/render-target.ts';
import { slowTarget } from './targets/slow-target.ts';
import { toolTarget } from './targets/tool-target.ts';
import { trainingTarget } from './targets/training-target.ts';

/** Every way into the platform. */
export const targets: readonly Target[] = [
  ...[eventsTarget, graphqlTarget, trainingTarget, policyTarget, imageTarget, httpTarget, slowTarget, budgetTarget],
  ...[browserTarget, principalTarget, projectsTarget],
  ...[importTarget, prepareTarget, toolTarget, renderTarget, fileTarget],
];
