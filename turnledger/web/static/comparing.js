// Two versions: one is pinned, or the one before; the other is where we are, or what was typed.

export function comparing(at) {
  const find = (id) => document.getElementById(id);
  const [a, b, pin, mark] = ["a", "b", "pin", "pinned"].map(find);
  let pinned = null;
  let shown = null;

  function tell() {
    pin.setAttribute("aria-pressed", pinned !== null);
    pin.textContent = pinned === null ? `Pin ${at.version}` : `Pinned ${pinned}`;
    mark.hidden = pinned === null;
    if (pinned !== null) mark.style.left = `${(100 * pinned) / Math.max(at.last, 1)}%`;
    if (shown) return;
    a.value = pinned ?? Math.max(at.version - 1, 0);
    b.value = at.version;
  }

  pin.addEventListener("click", () => {
    pinned = pinned === null ? at.version : null;
    tell();
  });

  return {
    tell,
    isCompared: () => shown !== null,
    compared(from, to) {
      shown = from === undefined ? null : [from, to];
      if (shown) [a.value, b.value] = shown;
      else tell();
    },
    address() {
      const [from, to] = [a.value.trim(), b.value.trim()];
      return /^\d+$/.test(from) && /^\d+$/.test(to) ? `${at.base}/diff/${from}..${to}/sendable` : null;
    },
  };
}
