// The timeline: blocks that are drawn when they come into view, and the line of the version that is shown.
import { elementOf, part } from "./fetching.js";

const BLOCK = 100;

export function timeline(events, at) {
  const numberOf = (version) => Math.floor(Math.max(version - 1, 0) / BLOCK);
  const block = (version) => events.querySelector(`.block[data-first="${numberOf(version) * BLOCK + 1}"]`);
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(Number(entry.target.dataset.last));
  }, { rootMargin: "400px" });
  let range = null;

  function watch(found) {
    if (!found.dataset.gap) return;
    const rows = found.dataset.last - found.dataset.first + 1;
    found.style.height = `calc(${rows} * var(--row))`;
    seen.observe(found);
  }

  async function draw(version, { fresh = 0 } = {}) {
    const old = block(version);
    if (old) seen.unobserve(old);
    const drawn = elementOf(await part(`${at.base}/${version}/${at.tab}`, "events")).firstElementChild;
    if (old) old.replaceWith(drawn);
    else events.append(drawn);
    if (fresh) for (const line of drawn.querySelectorAll(".line")) if (line.dataset.version > fresh) line.classList.add("fresh");
    point();
    return drawn;
  }

  function point() {
    for (const line of events.querySelectorAll(".line")) {
      const version = Number(line.dataset.version);
      line.toggleAttribute("aria-current", false);
      if (version === at.version) line.setAttribute("aria-current", "step");
      line.tabIndex = version === at.version ? 0 : -1;
      line.classList.toggle("between", Boolean(range) && version > range[0] && version <= range[1]);
      line.setAttribute("href", `${at.base}/${version}/${at.tab}`);
    }
  }

  async function mark(a, b) {
    range = a === undefined ? null : [Number(a), Number(b)].sort((x, y) => x - y);
    if (at.version && block(at.version)?.dataset.gap) await draw(at.version);
    point();
    const line = events.querySelector(".line[aria-current]");
    if (line && events.scrollHeight > events.clientHeight) line.scrollIntoView({ block: "nearest" });
  }

  async function grow(before) {
    for (let version = before; numberOf(version) <= numberOf(at.last); version += BLOCK) {
      await draw(Math.min(version || 1, at.last), { fresh: before });
    }
    const rail = await part(`${at.base}/${at.last}/${at.tab}`, "rail");
    document.getElementById("rail").replaceChildren(elementOf(rail));
  }

  events.querySelectorAll(".block").forEach(watch);
  return { mark, grow };
}
