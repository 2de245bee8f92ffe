// Parts of the page, as the server draws them. What was recorded does not change, so a part may be kept.

const KEPT = 80;
const kept = new Map();

const withPart = (address, part) => {
  const url = new URL(address, location.href);
  url.searchParams.set("part", part);
  return url;
};

export async function part(address, name, { keep = false, signal } = {}) {
  const url = withPart(address, name).href;
  if (kept.has(url)) return kept.get(url);
  const response = await fetch(url, { signal, headers: { accept: "text/html" } });
  const html = await response.text();
  if (keep && response.ok) {
    kept.set(url, html);
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  }
  return html;
}

export function elementOf(html) {
  const template = document.createElement("template");
  template.innerHTML = html; // the server's own markup, in which all foreign text is escaped
  return template.content;
}
