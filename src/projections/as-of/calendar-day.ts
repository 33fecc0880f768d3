/** Returns whether the date that an ISO 8601 text begins with is a day of the calendar: `Date` takes 30 February for 2 March. */
export function beginsWithDay(text: string): boolean {
  const [year, month, day] = text.slice(0, 10).split('-').map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day); // Date.UTC takes the year 26 for 1926
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
