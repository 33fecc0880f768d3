import { z } from 'zod';
import {
  descriptionShape,
  episodeShape,
  errorShape,
  expertShape,
  hintsShape,
  observedShape,
  openingShape,
  PROTOCOL,
  replayShape,
  stepShape,
} from './protocol.ts';

/** Returns the JSON Schemas of what a server of the protocol answers, by request. */
export function protocolSchemas(): object {
  const answers = {
    'GET /': descriptionShape,
    'POST /create': episodeShape,
    'POST /reset': openingShape,
    'POST /step': stepShape,
    'POST /observe': observedShape,
    'POST /fork': episodeShape,
    'POST /hints': hintsShape,
    'POST /expert': expertShape,
    'POST /replay': replayShape,
    error: errorShape,
  };
  const schemas = Object.entries(answers).map(([request, shape]) => [request, z.toJSONSchema(shape, { io: 'input' })]);
  return { protocol: PROTOCOL, answers: Object.fromEntries(schemas) };
}
