// The keys that walk, and the button that plays. Where a key has a meaning of its own, it keeps that.

const STRIDE = 10;
const BEAT_MS = 650;

export function player(button, at, to) {
  let playing = false;
  const set = (on) => {
    playing = on;
    button.setAttribute("aria-pressed", on);
    button.setAttribute("aria-label", on ? "Pause" : "Play");
  };
  async function play() {
    if (at.version >= at.last) await to(0);
    while (playing && at.version < at.last) {
      const beat = new Promise((resume) => setTimeout(resume, BEAT_MS));
      await to(at.version + 1);
      await beat;
    }
    set(false);
  }
  const toggle = () => {
    at.follows = false;
    set(!playing);
    if (playing) play();
  };
  button.addEventListener("click", toggle);
  return { toggle, stop: () => set(false) };
}

export function keys(at, to, play) {
  const moves = {
    ArrowLeft: () => at.version - 1,
    ArrowRight: () => at.version + 1,
    PageUp: () => at.version - STRIDE,
    PageDown: () => at.version + STRIDE,
    Home: () => 0,
    End: () => at.last,
  };
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const target = event.target;
    const isScrubber = target.id === "scrubber";
    if (!isScrubber && target.closest("input, textarea, select")) return;
    const inEvents = target.closest("#events");
    const reads = target.closest("#state, #list"); // there, the keys that scroll go on scrolling
    let version = null;
    if (inEvents && event.key === "ArrowUp") version = at.version - 1;
    else if (inEvents && event.key === "ArrowDown") version = at.version + 1;
    else if (event.key in moves && !(reads && !event.key.startsWith("Arrow"))) version = moves[event.key]();
    if (version !== null) {
      event.preventDefault();
      at.follows = false;
      play.stop();
      to(version).then(() => inEvents && document.querySelector(".line[aria-current]")?.focus({ preventScroll: true }));
    } else if (event.key === " " && (isScrubber || !target.closest("a, button, summary, label, #state, #list"))) {
      event.preventDefault();
      play.toggle();
    }
  });
}
