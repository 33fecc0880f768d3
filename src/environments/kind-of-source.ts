/** Returns the kind of a task that comes from a data set: the data set, cut to what an event holds; null where it has no name. */
export function kindOfSource(dataSource: string): string | null {
  return dataSource === '' || dataSource === 'unknown' ? null : dataSource.slice(0, 200);
}
