import type { z } from 'zod';
import type { TaskTraits } from '../environment.ts';
import type { Description } from './protocol.ts';

/** A server as episodes ask it. */
export interface EnvironmentServer {
  readonly description: Description;
  readonly baseUrl: URL;
  /** What the description says of each task. */
  readonly traits: ReadonlyMap<string, TaskTraits>;
  /** Sends a request and reads its answer. @throws EnvironmentError that names the route and the field. */
  ask<Shape extends z.ZodType>(path: string, json: unknown, shape: Shape): Promise<z.output<Shape>>;
  /** Episodes ask for the actions that are possible, where an answer leaves them out. */
  readonly asksHints?: true;
}
