// The search, as one types, and further pages of the list in their place.
import { elementOf, part } from "./fetching.js";

const PAUSE_MS = 220;

export function enhanceSearch() {
  const list = document.getElementById("list");
  const form = list?.querySelector(".search");
  if (!form) return;
  const input = form.querySelector("input");
  let asked = null;
  let timer = null;

  function point() {
    const base = document.querySelector(".columns")?.dataset.base;
    for (const link of list.querySelectorAll(".rows a")) {
      if (link.getAttribute("href") === base) link.setAttribute("aria-current", "true");
    }
  }

  async function search() {
    asked?.abort();
    asked = new AbortController();
    const { signal } = asked;
    try {
      const html = await part(`/?${new URLSearchParams({ q: input.value })}`, "list", { signal });
      if (signal.aborted) return;
      list.querySelector("#found").replaceWith(elementOf(html).querySelector("#found"));
      point();
    } catch (error) {
      if (error.name !== "AbortError") form.submit();
    }
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, PAUSE_MS);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    search();
  });
  list.addEventListener("click", async (event) => {
    const more = event.target.closest(".more");
    if (!more || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const found = elementOf(await part(more.href, "list")).querySelector("#found");
    const first = found.querySelector(".rows a");
    more.replaceWith(...found.childNodes);
    point();
    first?.focus();
  });
}
