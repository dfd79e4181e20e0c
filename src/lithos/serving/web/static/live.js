// One connection per browser: the tab that holds the lock reads the events and passes them to the others.
(function () {
  "use strict";
  const NAME = "lithos-live";
  const MOST = 200;
  const since = document.documentElement.dataset.since;
  if (!since || !("EventSource" in window)) return;
  const channel = "BroadcastChannel" in window ? new BroadcastChannel(NAME) : null;
  const state = document.querySelector("[data-live-state]");
  let last = "";           // id of the last event that this tab knows
  let seen = [];           // of the leader: {id, text}, for tabs that were opened a moment ago
  let leader = false;
  let pending = {};        // of a hidden tab: told when it is looked at

  const shown = (on) => {
    if (!state) return;
    state.hidden = false;
    state.classList.toggle("off", !on);
    state.querySelector(".word").textContent = on ? "live" : "reconnecting";
  };
  const tell = (kinds) => {
    for (const [kind, ids] of Object.entries(kinds)) {
      document.body.dispatchEvent(new CustomEvent(`live-${kind}`, { detail: { ids } }));
    }
    const ids = kinds.note || [];
    for (const note of document.querySelectorAll("[data-note]")) {
      if (!ids.includes("*") && !ids.includes(note.dataset.note)) continue;
      const busy = note.matches("form") || note.querySelector("details[open] form") !== null;
      const notice = note.querySelector("[data-changed]");
      if (busy && notice) notice.hidden = false;
      if (!busy) note.dispatchEvent(new CustomEvent("live-this"));
    }
  };
  const take = (id, text) => {
    if (id) last = id;
    const kinds = text === "reset" ? ALL : JSON.parse(text).kinds;
    if (!document.hidden) { tell(kinds); return; }
    for (const [kind, ids] of Object.entries(kinds)) pending[kind] = [...new Set([...(pending[kind] || []), ...ids])];
  };
  const ALL = Object.fromEntries(
    ["note", "task", "claim", "finding", "thought", "skill", "message", "event"].map((kind) => [kind, ["*"]]));
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || !Object.keys(pending).length) return;
    const kinds = pending;
    pending = {};
    tell(kinds);
  });

  // ------------------------------------------------------------ the leader
  const pass = (id, text) => {
    seen.push({ id, text });
    if (seen.length > MOST) seen = seen.slice(-MOST);
    if (channel) channel.postMessage({ is: "event", id, text });
    take(id, text);
  };
  let patience = 1000;
  const connect = () => {
    leader = true;
    const source = new EventSource(`/live?since=${encodeURIComponent(last || since)}`);
    const on = (up) => { shown(up); if (channel) channel.postMessage({ is: "state", up }); };
    source.onopen = () => { patience = 1000; on(true); };
    source.onmessage = (event) => pass(event.lastEventId, event.data);
    source.addEventListener("reset", () => pass("", "reset"));
    source.onerror = () => {
      on(false);
      if (source.readyState !== EventSource.CLOSED) return;  // it connects again by itself, with its last id
      setTimeout(connect, patience);
      patience = Math.min(patience * 2, 30000);
    };
    window.addEventListener("pagehide", () => source.close(), { once: true });
  };

  // ------------------------------------------------------------ the others
  if (channel) {
    channel.onmessage = ({ data }) => {
      if (data.is === "event" && !leader) take(data.id, data.text);
      if (data.is === "state" && !leader) shown(data.up);
      if (data.is === "hello" && leader) {
        channel.postMessage({ is: "state", up: true });
        for (const { id, text } of seen) {
          if (text === "reset" || JSON.parse(text).at >= data.since) channel.postMessage({ is: "event", id, text });
        }
      }
    };
  }
  if (channel && navigator.locks) {
    navigator.locks.request(NAME, () => { connect(); return new Promise(() => {}); });
    channel.postMessage({ is: "hello", since });
  } else {
    connect();  // no locks outside a secure context: each tab has its own
  }
})();
