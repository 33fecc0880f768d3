import type { Door } from './door.ts';
import { eventsDoor } from './doors/events-door.ts';
import { fileDoor } from './doors/file-door.ts';
import { graphqlDoor } from './doors/graphql-door.ts';
import { httpDoor } from './doors/http-door.ts';
import { imageDoor } from './doors/image-door.ts';
import { importDoor } from './doors/import-door.ts';
import { policyDoor } from './doors/policy-door.ts';
import { prepareDoor } from './doors/prepare-door.ts';
import { renderDoor } from './doors/render-door.ts';
import { slowDoor } from './doors/slow-door.ts';
import { toolDoor } from './doors/tool-door.ts';
import { trainingDoor } from './doors/training-door.ts';

/** Every way into the platform. */
export const doors: readonly Door[] = [
  ...[eventsDoor, graphqlDoor, trainingDoor, policyDoor, imageDoor, httpDoor, slowDoor],
  ...[importDoor, prepareDoor, toolDoor, renderDoor, fileDoor],
];
