// Walking through versions: one place that knows where we are, and draws what changes with that.
import { elementOf, part } from "./fetching.js";
import { comparing } from "./comparing.js";
import { keys, player } from "./keys.js";
import { live } from "./live.js";
import { timeline } from "./timeline.js";

const ONE_WALK_MS = 800; // steps that follow each other so closely are one entry of the browser's history

export function begin(columns) {
  const at = {
    base: columns.dataset.base,
    version: Number(columns.dataset.version),
    last: Number(columns.dataset.last),
    tab: columns.dataset.tab,
    follows: columns.dataset.follows === "yes",
  };
  const find = (id) => document.getElementById(id);
  const state = find("state");
  const scrubber = find("scrubber");
  const lines = timeline(find("events"), at);
  const pins = comparing(at);
  let walking = null;
  let stepped = 0;

  const address = (version, tab = at.tab) => `${at.base}/${version}/${tab}`;

  function tell() {
    scrubber.max = at.last;
    scrubber.value = at.version;
    scrubber.setAttribute("aria-valuetext", `version ${at.version} of ${at.last}`);
    find("at").textContent = at.version;
    find("of").textContent = at.last;
    find("back").href = address(Math.max(at.version - 1, 0));
    find("on").href = address(Math.min(at.version + 1, at.last));
    pins.tell();
  }

  function note(url, push) {
    const now = Date.now();
    if (push && now - stepped > ONE_WALK_MS) history.pushState(null, "", url);
    else if (push) history.replaceState(null, "", url);
    stepped = now;
  }

  async function show(url, { push = true, version = null } = {}) {
    walking?.abort();
    walking = new AbortController();
    const { signal } = walking;
    if (version !== null) at.version = version;
    tell();
    note(url, push);
    try {
      const html = await part(url, "state", { keep: true, signal });
      if (signal.aborted) return;
      draw(html);
    } catch (error) {
      if (error.name !== "AbortError") location.assign(url);
    }
  }

  function draw(html) {
    state.replaceChildren(elementOf(html));
    const view = state.querySelector(".view-of");
    if (view) {
      at.version = Number(view.dataset.version);
      at.tab = view.dataset.tab;
      document.title = view.dataset.title;
      tell();
      pins.compared(view.dataset.a, view.dataset.b);
    }
    lines.mark(view?.dataset.a, view?.dataset.b);
    look();
  }

  function look() {
    const changed = state.querySelector(".changed");
    state.scrollTop = 0;
    if (!changed || state.scrollHeight <= state.clientHeight) return; // narrow: the page scrolls, and is left alone
    const below = changed.getBoundingClientRect().bottom - state.getBoundingClientRect().bottom;
    if (below > 0) changed.scrollIntoView({ block: changed.offsetHeight > state.clientHeight / 2 ? "start" : "center" });
  }

  const to = (version) => {
    const bounded = Math.min(Math.max(version, 0), at.last);
    return bounded === at.version && !pins.isCompared() ? Promise.resolve() : show(address(bounded), { version: bounded });
  };

  columns.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (!link.getAttribute("href").startsWith(`${at.base}/`) || link.classList.contains("json-of")) return;
    event.preventDefault();
    at.follows = false;
    if (link.closest(".events")) find("view-state").checked = true;
    const tabbed = link.closest(".tabs") && link.dataset.tab;
    show(link.href).then(() => tabbed && state.querySelector(`.tabs [data-tab="${tabbed}"]`)?.focus());
  });
  find("compare").addEventListener("submit", (event) => {
    event.preventDefault();
    const url = pins.address();
    if (url) show(url);
  });
  scrubber.addEventListener("input", () => {
    at.follows = false;
    play.stop();
    to(Number(scrubber.value));
  });
  addEventListener("popstate", () => show(location.href, { push: false }));

  const play = player(find("play"), at, to);
  keys(at, to, play);
  live(at, { tell, lines, to });
  tell();
  pins.compared(...["a", "b"].map((side) => state.querySelector(".view-of")?.dataset[side]));
  lines.mark(...["a", "b"].map((side) => state.querySelector(".view-of")?.dataset[side]));
  look();
}
