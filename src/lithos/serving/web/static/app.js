// Keys, theme, relative times. Pages read without it.
(function () {
  "use strict";
  const say = (text) => { const at = document.querySelector("[data-say]"); if (at) at.textContent = text; };

  // ------------------------------------------------------------ theme
  const dark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const toggleTheme = () => {
    const next = dark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try { localStorage.setItem("lithos-theme", next); } catch (error) { /* for this page only */ }
    say(`${next} theme`);
  };

  // ------------------------------------------------------------ times
  const units = [[31536000, "y"], [2592000, "mo"], [86400, "d"], [3600, "h"], [60, "min"]];
  const span = (seconds) => {
    for (const [length, unit] of units) if (seconds >= length) return `${Math.floor(seconds / length)} ${unit}`;
    return `${Math.floor(seconds)} s`;
  };
  const left = (seconds) => seconds >= 600 ? span(seconds)
    : `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
  const tellTimes = () => {
    const now = Date.now();
    for (const at of document.querySelectorAll("time[data-ago]")) {
      const seconds = (now - Date.parse(at.dateTime)) / 1000;
      const text = seconds < -60 ? `in ${span(-seconds)}` : seconds < 60 ? "just now" : `${span(seconds)} ago`;
      if (at.textContent !== text) at.textContent = text;
    }
    for (const at of document.querySelectorAll("time[data-left]")) {
      const seconds = (Date.parse(at.dateTime) - now) / 1000;
      const text = seconds <= 0 ? "over" : `${left(seconds)} left`;
      if (at.textContent !== text) at.textContent = text;
    }
  };
  const tick = () => { if (!document.hidden) tellTimes(); };

  // ------------------------------------------------------------ keys
  const items = () => [...document.querySelectorAll("[data-item]")].filter((each) => each.offsetParent !== null);
  const move = (step) => {
    const all = items();
    if (!all.length) return;
    const at = all.findIndex((each) => each.contains(document.activeElement));
    const next = all[Math.min(Math.max(at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step, 0), all.length - 1)];
    const target = next.matches("a, button, [tabindex]") ? next : next.querySelector("a, button, [tabindex]") || next;
    target.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };
  const find = () => {
    const field = document.querySelector("main [data-find]") || document.querySelector("[data-find]");
    if (field) { field.focus(); field.select(); }
  };
  const keys = () => { const shown = document.querySelector("[data-keys]"); if (shown && !shown.open) shown.showModal(); };
  let going = 0;
  const typing = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && typing(event.target)) { event.target.blur(); return; }
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    if (going && Date.now() - going < 1500) {
      going = 0;
      const link = document.querySelector(`.side a[data-key="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    const does = { "/": find, "?": keys, j: () => move(1), k: () => move(-1), g: () => { going = Date.now(); },
      e: () => { const edit = document.querySelector("[data-edit]"); if (edit) edit.click(); } }[event.key];
    if (does) { event.preventDefault(); does(); }
  });

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-theme-toggle]")) toggleTheme();
    const opener = event.target.closest("[data-opens]");
    if (opener) { const box = document.getElementById(opener.dataset.opens); if (box) { event.preventDefault(); box.showModal(); } }
    const closer = event.target.closest("[data-closes]");
    if (closer) { event.preventDefault(); closer.closest("dialog").close(); }
  });
  // ------------------------------------------------------------ a text that is not saved yet
  let unsaved = false;
  document.addEventListener("input", (event) => { if (event.target.closest("[data-draft]")) unsaved = true; });
  document.addEventListener("submit", () => { unsaved = false; });
  window.addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });

  const current = document.querySelector(".side a[aria-current]");
  if (current) current.scrollIntoView({ block: "nearest", inline: "center" });  // on a phone the pages are a row

  setInterval(tick, 1000);
  document.addEventListener("visibilitychange", tick);
})();
