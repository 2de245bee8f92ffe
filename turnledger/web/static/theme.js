// Light or dark: as the system has it, or as was chosen here. Before anything is drawn, so that nothing flashes.
"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const KEY = "turnledger-theme";
  const saved = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  };
  root.classList.add("js");
  if (saved()) root.dataset.theme = saved();
  addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme")?.addEventListener("click", () => {
      const isDark = (root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
      root.dataset.theme = isDark ? "light" : "dark";
      try {
        localStorage.setItem(KEY, root.dataset.theme);
      } catch {
        // a choice that cannot be kept still holds for this page
      }
    });
  });
})();
