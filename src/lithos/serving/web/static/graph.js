// The graph of notes on a canvas. Notes are drawn in every frame; the links are a picture of their own, which moves with
// the camera and is drawn again, in pieces, when the camera rests: 30,000 lines cost a dozen frames, a picture a tenth of one.
(function () {
  "use strict";
  const box = document.querySelector("[data-graph]");
  if (!box) return;
  const canvas = box.querySelector("canvas"), pen = canvas.getContext("2d", { alpha: false });
  const state = box.querySelector("[data-graph-state]"), panel = box.querySelector("[data-graph-note]");
  const tools = document.querySelector("[data-graph-tools]");
  const finder = tools.querySelector("[data-graph-find]"), folderChoice = tools.querySelector("[data-graph-folder]");
  const tagChoice = tools.querySelector("[data-graph-tag]"), nearChoice = tools.querySelector("[data-graph-near]");
  const STORE = "lithos-graph-places", PIECE = 1500, SAMPLE = 2500, MARGIN = 0.35, REST = 140;
  const quietly = (text) => { if (state.textContent !== text) state.textContent = text; };

  let g = null;                        // {n, ids, titles, links, folder, degree, x, y, shown, group, order}
  let camera = { x: 0, y: 0, k: 1 }, width = 1, height = 1, ratio = 1;
  let chosen = -1, over = -1, found = new Set(), moved = 0, dirty = true, settling = true, fitted = false;
  let picture = null;                  // links as drawn for one camera
  let worker = null, colours = {};

  // ------------------------------------------------------------ colours of the theme
  const readColours = () => {
    const style = getComputedStyle(box);
    const probe = document.createElement("span");
    box.append(probe);
    const of = (name) => { probe.style.color = `var(${name})`; return getComputedStyle(probe).color; };
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark"
      || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    colours = { ground: of("--surface"), text: of("--text"), quiet: of("--quiet"), accent: of("--accent"), line: of("--line"),
      groups: [200, 20, 130, 275, 45, 330, 165, 235].map((hue) => `hsl(${hue} ${dark ? 60 : 55}% ${dark ? 66 : 42}%)`),
      link: dark ? "rgb(150 160 170 / .28)" : "rgb(90 95 100 / .26)", font: `12px ${style.fontFamily}` };
    probe.remove();
    picture = null;
    touch();
  };

  // ------------------------------------------------------------ data
  const load = async () => {
    const answer = await fetch(box.dataset.source, { headers: { accept: "application/json" }, credentials: "same-origin" });
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const data = await answer.json();
    data.targets = lists(data.targets); data.tagged = lists(data.tagged); data.folder = lists(data.folder)[0];
    const n = data.targets.length;
    data.ids = whole(data.ids, data.other_ids, n);
    data.titles = data.titles.split("\n");
    const links = pairs(data.targets), degree = new Uint16Array(n);
    for (const each of links) if (degree[each] < 65535) degree[each]++;
    const tops = new Map();
    const group = Uint16Array.from(data.folder, (at) => {
      const top = data.folders[at].split("/")[0];
      if (!tops.has(top)) tops.set(top, tops.size);
      return tops.get(top);
    });
    const places = known(data.ids);
    g = { n, links, degree, group, ids: data.ids, titles: data.titles, folders: data.folders, folder: data.folder, tags: data.tags,
      tagged: data.tagged, x: new Float32Array(n), y: new Float32Array(n), shown: new Uint8Array(n).fill(1),
      order: Uint32Array.from({ length: n }, (_, i) => i).sort((a, b) => degree[b] - degree[a]) };
    if (box.dataset.around) chosen = data.ids.indexOf(box.dataset.around);
    filter();
    arrange(places);
  };
  const whole = (text, others, n) => {  // UUIDs come as one base64, other ids by their place
    const bytes = atob(text), hex = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));
    return Array.from({ length: n }, (_, i) => {
      if (i in others) return others[i];
      let id = "";
      for (let at = 0; at < 16; at++) id += ([4, 6, 8, 10].includes(at) ? "-" : "") + hex[bytes.charCodeAt(16 * i + at)];
      return id;
    });
  };
  const lists = (text) => {             // each its length and its numbers, 7 bits a byte
    const bytes = atob(text), all = [];
    let at = 0;
    const next = () => {
      let number = 0, byte, shift = 1;
      do { byte = bytes.charCodeAt(at++); number += (byte & 127) * shift; shift *= 128; } while (byte > 127);
      return number;
    };
    while (at < bytes.length) all.push(Array.from({ length: next() }, next));
    return all;
  };
  const pairs = (targets) => {          // per note the distances between its targets: source, target, source, target…
    const links = [];
    targets.forEach((steps, from) => { let to = 0; for (const step of steps) links.push(from, to += step); });
    return Uint32Array.from(links);
  };
  const known = (ids) => {
    try {
      const kept = JSON.parse(localStorage.getItem(STORE) || "null");
      if (!kept) return null;
      const at = new Map(kept.ids.map((id, place) => [id, place]));
      const places = new Float32Array(2 * ids.length).fill(NaN);
      let hits = 0;
      ids.forEach((id, i) => {
        const place = at.get(id);
        if (place !== undefined) { places[2 * i] = kept.xy[2 * place]; places[2 * i + 1] = kept.xy[2 * place + 1]; hits++; }
      });
      return hits > ids.length / 2 ? { places } : null;
    } catch (error) { return null; }
  };
  const keep = () => {
    try {
      const xy = new Array(2 * g.n);
      for (let i = 0; i < g.n; i++) { xy[2 * i] = Math.round(g.x[i]); xy[2 * i + 1] = Math.round(g.y[i]); }
      localStorage.setItem(STORE, JSON.stringify({ ids: g.ids, xy }));
    } catch (error) { /* no room: the next visit arranges again */ }
  };
  const arrange = (places) => {
    if (worker) worker.terminate();
    if (!g.n) { settling = false; quietly("There are no notes yet"); touch(); return; }
    settling = true;
    worker = new Worker(box.dataset.worker);
    worker.onmessage = ({ data }) => {
      g.x = data.xs; g.y = data.ys;
      picture = null;
      if (!fitted || (settling && !moved)) { fit(); fitted = true; }
      settling = !data.done;
      quietly(settling ? `Arranging: ${Math.round(data.part * 100)} %` : `${count()} notes`);
      if (data.done) { keep(); worker.terminate(); worker = null; box.dataset.ready = "yes"; }
      touch();
    };
    worker.onerror = () => { settling = false; quietly("The layout failed; the list below has the notes"); };
    worker.postMessage({ n: g.n, links: g.links, group: g.group, start: places ? places.places : null, warm: places !== null });
  };
  const count = () => { let sum = 0; for (const each of g.shown) sum += each; return sum.toLocaleString("en"); };

  // ------------------------------------------------------------ filters
  const filter = () => {
    if (!g) return;
    const folder = folderChoice.value, tag = g.tags.indexOf(tagChoice.value), steps = Number(nearChoice.value);
    const inFolder = g.folders.map((each) => !folder || each === folder || each.startsWith(`${folder}/`));
    const near = steps && chosen >= 0 ? reach(chosen, steps) : null;
    for (let i = 0; i < g.n; i++) {
      const tagged = !tagChoice.value || g.tagged[i].includes(tag);
      g.shown[i] = i === chosen || (inFolder[g.folder[i]] && tagged && (!near || near[i])) ? 1 : 0;
    }
    picture = null;
    if (!settling) quietly(`${count()} notes`);
    touch();
  };
  const reach = (from, steps) => {
    const seen = new Uint8Array(g.n);
    seen[from] = 1;
    for (let step = 0; step < steps; step++) {
      const now = seen.slice();
      for (let i = 0; i < g.links.length; i += 2) {
        if (now[g.links[i]]) seen[g.links[i + 1]] = 1;
        if (now[g.links[i + 1]]) seen[g.links[i]] = 1;
      }
    }
    return seen;
  };
  const find = () => {
    found = new Set();
    const words = finder.value.trim().toLowerCase();
    if (words && g) for (let i = 0; i < g.n && found.size < 200; i++) if (g.shown[i] && g.titles[i].toLowerCase().includes(words)) found.add(i);
    if (words) quietly(`${found.size}${found.size === 200 ? " or more" : ""} found; Enter shows the first`);
    else if (g && !settling) quietly(`${count()} notes`);
    touch();
  };
  const choose = (i) => {
    chosen = i;
    panel.hidden = i < 0;
    if (i >= 0) {
      const link = panel.querySelector("[data-graph-link]");
      link.textContent = g.titles[i] || "(no title)";
      link.href = `/note/${encodeURIComponent(g.ids[i])}`;
      panel.querySelector("[data-graph-facts]").textContent = `${g.degree[i]} links${g.folders[g.folder[i]] ? ` · ${g.folders[g.folder[i]]}` : ""}`;
    }
    if (Number(nearChoice.value)) filter();
    touch();
  };

  // ------------------------------------------------------------ camera
  const size = () => {
    ratio = Math.min(window.devicePixelRatio || 1, 2);
    width = box.clientWidth; height = box.clientHeight;
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    picture = null;
    touch();
  };
  const fit = () => {
    let left = Infinity, right = -Infinity, top = Infinity, bottom = -Infinity;
    for (let i = 0; i < g.n; i++) {
      if (!g.shown[i]) continue;
      left = Math.min(left, g.x[i]); right = Math.max(right, g.x[i]); top = Math.min(top, g.y[i]); bottom = Math.max(bottom, g.y[i]);
    }
    if (left > right) return;
    const k = Math.min(width / (right - left + 40), height / (bottom - top + 40), 7);
    camera = { x: (left + right) / 2, y: (top + bottom) / 2, k };
    touch();
  };
  const zoom = (by, sx = width / 2, sy = height / 2) => {
    const k = Math.min(Math.max(camera.k * by, 0.02), 12);
    camera.x += (sx - width / 2) * (1 / camera.k - 1 / k);
    camera.y += (sy - height / 2) * (1 / camera.k - 1 / k);
    camera.k = k;
    move();
  };
  const pan = (dx, dy) => { camera.x -= dx / camera.k; camera.y -= dy / camera.k; move(); };
  const move = () => { moved = performance.now(); touch(); };
  const go = (i) => { camera.x = g.x[i]; camera.y = g.y[i]; camera.k = Math.max(camera.k, 1.2); move(); };
  const at = (sx, sy) => {
    let best = -1, least = 14 * 14;
    for (let i = 0; i < g.n; i++) {
      if (!g.shown[i]) continue;
      const dx = (g.x[i] - camera.x) * camera.k + width / 2 - sx, dy = (g.y[i] - camera.y) * camera.k + height / 2 - sy;
      const d = dx * dx + dy * dy;
      if (d < least) { least = d; best = i; }
    }
    return best;
  };

  // ------------------------------------------------------------ drawing
  const touch = () => { if (!dirty) { dirty = true; requestAnimationFrame(draw); } };
  const lines = (to, from, end, step, ox, oy, k, w, h) => {
    to.beginPath();
    for (let i = from; i < end; i += step) {
      const a = g.links[i], b = g.links[i + 1];
      if (!g.shown[a] || !g.shown[b]) continue;
      const ax = g.x[a] * k + ox, ay = g.y[a] * k + oy, bx = g.x[b] * k + ox, by = g.y[b] * k + oy;
      if ((ax < 0 && bx < 0) || (ay < 0 && by < 0) || (ax > w && bx > w) || (ay > h && by > h)) continue;
      to.moveTo(ax, ay); to.lineTo(bx, by);
    }
    to.stroke();
  };
  const drawPicture = () => {           // one piece of it; true when it is whole
    if (!picture || picture.done < 0) {
      const w = Math.ceil(width * (1 + 2 * MARGIN)), h = Math.ceil(height * (1 + 2 * MARGIN));
      const sheet = document.createElement("canvas");
      sheet.width = w; sheet.height = h;
      const to = sheet.getContext("2d");
      to.strokeStyle = colours.link; to.lineWidth = 1;
      picture = { sheet, to, w, h, camera: { ...camera }, done: 0, old: picture && picture.old };
    }
    const { to, w, h, camera: c } = picture;
    const until = performance.now() + 12;
    do {
      const end = Math.min(picture.done + 2 * PIECE, g.links.length);
      lines(to, picture.done, end, 2, w / 2 - c.x * c.k, h / 2 - c.y * c.k, c.k, w, h);
      picture.done = end;
    } while (picture.done < g.links.length && performance.now() < until);
    return picture.done === g.links.length;
  };
  const piece = () => { const whole = drawPicture(); picture.whole = whole; };
  const fitsPicture = () => picture && picture.camera.x === camera.x && picture.camera.y === camera.y && picture.camera.k === camera.k;
  const drawLinks = (now) => {
    if (settling || g.links.length <= 2 * SAMPLE) {
      pen.strokeStyle = colours.link; pen.lineWidth = 1;
      const step = 2 * Math.max(1, Math.ceil(g.links.length / 2 / SAMPLE));
      lines(pen, 0, g.links.length, step, width / 2 - camera.x * camera.k, height / 2 - camera.y * camera.k, camera.k, width, height);
      return;
    }
    const resting = now - moved > REST;
    pen.imageSmoothingEnabled = resting;
    if (resting && !fitsPicture()) picture = { done: -1, old: picture && picture.whole ? picture : picture && picture.old };
    if (picture && !picture.whole && (resting || picture.done < 0)) piece();
    else if (!picture) { picture = { done: -1 }; piece(); }
    const seen = picture.whole ? picture : picture.old || picture;
    if (seen.sheet) {
      const s = camera.k / seen.camera.k;
      pen.drawImage(seen.sheet, (seen.camera.x - camera.x) * camera.k + width / 2 - seen.w / 2 * s,
        (seen.camera.y - camera.y) * camera.k + height / 2 - seen.h / 2 * s, seen.w * s, seen.h * s);
    }
    if (!picture.whole || !fitsPicture()) later();
  };
  const later = () => requestAnimationFrame(() => { dirty = true; draw(); });
  const radius = (i, k) => Math.min(Math.max((1.6 + Math.sqrt(g.degree[i])) * Math.sqrt(k) * 1.1, 1.2), 16);
  const drawNotes = (moving) => {
    const k = camera.k, ox = width / 2 - camera.x * k, oy = height / 2 - camera.y * k, groups = colours.groups.length;
    const dim = found.size > 0;
    for (let c = 0; c < groups; c++) {
      pen.fillStyle = colours.groups[c];
      pen.globalAlpha = dim ? 0.3 : 1;
      pen.beginPath();
      for (let i = 0; i < g.n; i++) {
        if (!g.shown[i] || g.group[i] % groups !== c) continue;
        const px = g.x[i] * k + ox, py = g.y[i] * k + oy;
        if (px < -16 || py < -16 || px > width + 16 || py > height + 16) continue;
        const r = radius(i, k);
        if (r < (moving ? 5 : 2.6)) pen.rect(px - r, py - r, 2 * r, 2 * r);
        else { pen.moveTo(px + r, py); pen.arc(px, py, r, 0, 6.2832); }
      }
      pen.fill();
    }
    pen.globalAlpha = 1;
    ring(found, colours.accent, 2, ox, oy, k);
    if (over >= 0) ring([over], colours.text, 1.5, ox, oy, k);
    if (chosen >= 0) { near(ox, oy, k); ring([chosen], colours.accent, 3, ox, oy, k); }
  };
  const ring = (notes, colour, thick, ox, oy, k) => {
    pen.strokeStyle = colour; pen.lineWidth = thick;
    for (const i of notes) {
      pen.beginPath();
      pen.arc(g.x[i] * k + ox, g.y[i] * k + oy, radius(i, k) + 2, 0, 6.2832);
      pen.stroke();
    }
  };
  const near = (ox, oy, k) => {         // the links of the chosen note
    pen.strokeStyle = colours.accent; pen.lineWidth = 1.5;
    pen.beginPath();
    for (let i = 0; i < g.links.length; i += 2) {
      const a = g.links[i], b = g.links[i + 1];
      if ((a !== chosen && b !== chosen) || !g.shown[a] || !g.shown[b]) continue;
      pen.moveTo(g.x[a] * k + ox, g.y[a] * k + oy); pen.lineTo(g.x[b] * k + ox, g.y[b] * k + oy);
    }
    pen.stroke();
  };
  const drawNames = (now) => {
    const most = now - moved < REST ? 8 : 40, taken = [];
    const k = camera.k, ox = width / 2 - camera.x * k, oy = height / 2 - camera.y * k;
    pen.font = colours.font; pen.textBaseline = "middle"; pen.lineWidth = 3; pen.lineJoin = "round";
    const first = [over, chosen, ...found].filter((i) => i >= 0);
    let seen = 0;
    const name = (i) => {
      const px = g.x[i] * k + ox, py = g.y[i] * k + oy;
      if (!g.shown[i] || px < 0 || py < 0 || px > width || py > height) return;
      const text = g.titles[i].length > 40 ? `${g.titles[i].slice(0, 39)}…` : g.titles[i];
      const left = px + radius(i, k) + 4, wide = text.length * 6.6;
      if (taken.some(([l, t, w]) => Math.abs(t - py) < 15 && left < l + w && l < left + wide)) return;
      taken.push([left, py, wide]);
      pen.strokeStyle = colours.ground; pen.strokeText(text, left, py);
      pen.fillStyle = i === over || i === chosen ? colours.accent : colours.text; pen.fillText(text, left, py);
      seen++;
    };
    for (const i of first) { if (seen >= most) return; name(i); }
    if (k < 0.35 && g.n > 400) { for (let o = 0; o < 12; o++) name(g.order[o]); return; }
    for (let o = 0; o < g.n && seen < most; o++) name(g.order[o]);
  };
  let frames = 0;
  const draw = () => {
    if (!dirty) return;
    dirty = false;
    const now = performance.now();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = colours.ground;
    pen.fillRect(0, 0, width, height);
    if (!g) return;
    drawLinks(now);
    drawNotes(now - moved < REST);
    drawNames(now);
    box.dataset.frames = ++frames;
  };

  // ------------------------------------------------------------ hands
  const held = new Map();
  let pressed = null, spread = 0;
  const place = (event) => { const r = canvas.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, place(event));
    pressed = place(event);
    spread = 0;
    canvas.classList.add("held");
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!g) return;
    const [px, py] = place(event), before = held.get(event.pointerId);
    if (before && held.size === 1) pan(px - before[0], py - before[1]);
    if (before) held.set(event.pointerId, [px, py]);
    if (held.size === 2) {
      const [[ax, ay], [bx, by]] = [...held.values()], wide = Math.hypot(ax - bx, ay - by);
      if (spread) zoom(wide / spread, (ax + bx) / 2, (ay + by) / 2);
      spread = wide;
    }
    if (before) return;
    const now = at(px, py);
    if (now !== over) { over = now; canvas.classList.toggle("over", over >= 0); touch(); }
  });
  const release = (event) => {
    const where = place(event);
    held.delete(event.pointerId);
    canvas.classList.remove("held");
    if (g && pressed && event.type === "pointerup" && Math.hypot(where[0] - pressed[0], where[1] - pressed[1]) < 5) choose(at(...where));
    pressed = null;
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => { if (over >= 0) { over = -1; touch(); } });
  canvas.addEventListener("dblclick", () => { if (chosen >= 0) panel.querySelector("a").click(); });
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...place(event)); }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const does = { ArrowLeft: () => pan(60, 0), ArrowRight: () => pan(-60, 0), ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60),
      "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(0.7), 0: fit, Escape: () => choose(-1),
      Enter: () => { if (chosen >= 0) panel.querySelector("a").click(); } }[event.key];
    if (does && g && !event.ctrlKey && !event.metaKey) { event.preventDefault(); does(); }
  });
  box.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button || !g) return;
    if (button.dataset.zoom) zoom(Number(button.dataset.zoom)); else fit();
  });
  tools.addEventListener("submit", (event) => event.preventDefault());
  finder.addEventListener("input", find);
  finder.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !found.size) return;
    event.preventDefault();
    const [first] = found;
    choose(first);
    go(first);
  });
  for (const each of [folderChoice, tagChoice, nearChoice]) {
    each.addEventListener("change", () => { filter(); if (g && !settling) fit(); });
  }
  new ResizeObserver(size).observe(box);
  new MutationObserver(readColours).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColours);
  let again = 0;
  document.body.addEventListener("live-note", () => { clearTimeout(again); again = setTimeout(() => { keep(); begin(); }, 3000); });

  const begin = () => load().catch((error) => quietly(`The graph cannot be loaded: ${error.message}`));
  size();
  readColours();
  dirty = false;
  begin();
})();
