const NAME = 'espalier-theme';
export type Theme = 'system' | 'light' | 'dark';
const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

/** Returns the theme that was chosen in this browser. */
export function chosenTheme(): Theme {
  return THEMES.find((theme) => theme === keptTheme()) ?? 'system';
}

function keptTheme(): string | null {
  try {
    return localStorage.getItem(NAME);
  } catch {
    return null; // a frame without an origin has no storage
  }
}

/** Shows the page in the chosen theme. */
export function applyTheme(): void {
  const theme = chosenTheme();
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Chooses the next theme and returns it. */
export function nextTheme(): Theme {
  const theme = THEMES[(THEMES.indexOf(chosenTheme()) + 1) % THEMES.length] ?? 'system';
  localStorage.setItem(NAME, theme);
  applyTheme();
  return theme;
}
