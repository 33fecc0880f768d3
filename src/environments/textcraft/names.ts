/** Items and tags have ids (`minecraft:birch_beam`); the agent reads and writes names (`birch beam`). */
const NAMESPACE = 'minecraft:';

/** Writes an id as the agent reads it. */
export function nameOf(id: string): string {
  return id.replaceAll(NAMESPACE, '').replaceAll('_', ' ');
}

/** Reads a name as the agent writes it; an unknown name yields an id that nothing has. */
export function idOf(name: string): string {
  return NAMESPACE + name.replaceAll(' ', '_');
}
