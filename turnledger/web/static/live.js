// What is recorded while the page is open. It asks seldom while nothing happens, and not at all while nobody looks.

const SOON_MS = 1000;
const SELDOM_MS = 10000;
const SLOWER = 1.3;

export function live(at, { tell, lines, to }) {
  const status = document.getElementById("live");
  let wait = SOON_MS;
  let timer = null;

  const say = (text, isOn) => {
    if (status.textContent !== text) status.textContent = text;
    status.className = `live js ${isOn ? "on" : "off"}`;
  };

  async function ask() {
    timer = null;
    try {
      const response = await fetch(`${at.base}/news`, { signal: AbortSignal.timeout(SELDOM_MS) });
      if (!response.ok) throw new Error(response.statusText);
      const { version } = await response.json();
      say("live", true);
      if (version > at.last) await grown(version);
      else wait = Math.min(wait * SLOWER, SELDOM_MS);
    } catch {
      say("not connected", false);
      wait = Math.min(wait * 2, 3 * SELDOM_MS);
    }
    later();
  }

  async function grown(version) {
    const before = at.last;
    at.last = version;
    wait = SOON_MS;
    tell();
    await lines.grow(before);
    const news = version - before;
    say(`${news} new event${news === 1 ? "" : "s"}`, true);
    if (at.follows) await to(version);
  }

  function later() {
    clearTimeout(timer);
    timer = document.hidden ? null : setTimeout(ask, wait);
  }

  document.addEventListener("visibilitychange", () => {
    wait = SOON_MS;
    if (!document.hidden && timer === null) ask();
  });
  say("live", true);
  later();
}
