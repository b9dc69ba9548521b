// Light or dark: as the system says, until somebody says otherwise.
import { useState } from "preact/hooks";

const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const KEY = "theme";

// A browser that keeps nothing (a private window) has the system's.
function kept(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? "system";
  } catch {
    return "system";
  }
}

export function take_theme(theme: Theme = kept()): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function ThemeButton() {
  const [theme, set_theme] = useState(kept);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  const press = (): void => {
    set_theme(next);
    take_theme(next);
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // It holds until the page is closed.
    }
    dispatchEvent(new Event("theme"));
  };
  return <button type="button" class="quiet" onClick={press} aria-label={`colours: ${theme}; change to ${next}`}>colours: {theme}</button>;
}
