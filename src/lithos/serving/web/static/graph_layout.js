// Layout of a graph in a worker: springs along links, repulsion by a quadtree (Barnes and Hut), a pull to the middle.
// Typed arrays throughout: a tick of 10,000 notes costs a fraction of d3-force's (docs/web.md).
"use strict";
const THETA2 = 0.81, REPULSION = -34, DISTANCE = 28, PULL = 0.012, DECAY = 0.6, DEEPEST = 22;

onmessage = ({ data }) => {
  const { n, links, group, start, warm } = data;
  const x = new Float32Array(n), y = new Float32Array(n), vx = new Float32Array(n), vy = new Float32Array(n);
  place(n, group, start, x, y);
  const degree = new Float32Array(n);
  for (const each of links) degree[each]++;
  const ticks = warm ? 30 : n > 4000 ? 140 : 220;
  const decay = Math.pow(0.02, 1 / ticks);
  let alpha = warm ? 0.15 : 1, told = 0;
  const tree = new Tree(n);
  for (let tick = 1; tick <= ticks; tick++) {
    springs(links, degree, x, y, vx, vy, alpha);
    tree.build(x, y, n);
    for (let i = 0; i < n; i++) {
      tree.push(i, x[i], y[i], alpha, vx, vy);
      vx[i] -= x[i] * PULL * alpha; vy[i] -= y[i] * PULL * alpha;
    }
    for (let i = 0; i < n; i++) { x[i] += vx[i] *= DECAY; y[i] += vy[i] *= DECAY; }
    alpha *= decay;
    if (Date.now() - told > 150 || tick === ticks) {
      told = Date.now();
      const xs = x.slice(), ys = y.slice();
      postMessage({ xs, ys, done: tick === ticks, part: tick / ticks }, [xs.buffer, ys.buffer]);
    }
  }
};

// Known places first; notes of one folder begin beside each other, on a spiral of folders.
function place(n, group, start, x, y) {
  const seen = new Map();
  for (let i = 0; i < n; i++) {
    if (start && !Number.isNaN(start[2 * i])) { x[i] = start[2 * i]; y[i] = start[2 * i + 1]; continue; }
    const g = group[i], count = seen.get(g) || 0;
    seen.set(g, count + 1);
    const far = 90 * Math.sqrt(g), turn = g * 2.39996, near = 9 * Math.sqrt(count + 0.5), angle = count * 2.39996;
    x[i] = far * Math.cos(turn) + near * Math.cos(angle);
    y[i] = far * Math.sin(turn) + near * Math.sin(angle);
  }
}

function springs(links, degree, x, y, vx, vy, alpha) {
  for (let i = 0; i < links.length; i += 2) {
    const a = links[i], b = links[i + 1];
    const dx = x[b] + vx[b] - x[a] - vx[a] || 1e-3, dy = y[b] + vy[b] - y[a] - vy[a] || 1e-3;
    const d = Math.sqrt(dx * dx + dy * dy);
    const pull = (d - DISTANCE) / d * alpha / Math.min(degree[a], degree[b]);
    const bias = degree[a] / (degree[a] + degree[b]);
    vx[b] -= dx * pull * bias; vy[b] -= dy * pull * bias;
    vx[a] += dx * pull * (1 - bias); vy[a] += dy * pull * (1 - bias);
  }
}

class Tree {
  constructor(n) {
    const cells = 4 * n + 64;
    this.child = new Int32Array(4 * cells);  // 0: nothing, above 0: a cell, below 0: the note -1 - value
    this.mass = new Float32Array(cells);
    this.sx = new Float32Array(cells);
    this.sy = new Float32Array(cells);
    this.width = new Float32Array(cells);
    this.stack = new Int32Array(4 * DEEPEST + 16);
    this.most = cells;
  }

  build(x, y, n) {
    let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
    for (let i = 0; i < n; i++) {
      if (x[i] < left) left = x[i];
      if (x[i] > right) right = x[i];
      if (y[i] < top) top = y[i];
      if (y[i] > bottom) bottom = y[i];
    }
    this.xs = x; this.ys = y;
    this.used = 0;
    this.root = this.cell(Math.max(right - left, bottom - top, 1) + 1);
    for (let i = 0; i < n; i++) this.insert(i, x, y, left, top);
  }

  cell(width) {
    const at = ++this.used;
    this.child.fill(0, 4 * at, 4 * at + 4);
    this.mass[at] = this.sx[at] = this.sy[at] = 0;
    this.width[at] = width;
    return at;
  }

  insert(i, x, y, left, top) {
    let at = this.root, ox = left, oy = top;
    for (let depth = 0; ; depth++) {
      this.mass[at]++; this.sx[at] += x[i]; this.sy[at] += y[i];
      if (depth >= DEEPEST || this.used + 2 >= this.most) return;  // notes at one point: their mass is enough
      const half = this.width[at] / 2, east = x[i] >= ox + half, south = y[i] >= oy + half;
      const slot = 4 * at + (east ? 1 : 0) + (south ? 2 : 0), found = this.child[slot];
      if (found === 0) { this.child[slot] = -1 - i; return; }
      if (east) ox += half;
      if (south) oy += half;
      if (found > 0) { at = found; continue; }
      const other = -1 - found, next = this.cell(half);  // a note is there: both move one cell down
      this.child[slot] = next;
      this.mass[next] = 1; this.sx[next] = x[other]; this.sy[next] = y[other];
      const quarter = half / 2;
      this.child[4 * next + (x[other] >= ox + quarter ? 1 : 0) + (y[other] >= oy + quarter ? 2 : 0)] = found;
      at = next;
    }
  }

  push(i, px, py, alpha, vx, vy) {
    const { child, mass, sx, sy, width, stack } = this;
    let top = 0, fx = 0, fy = 0;
    stack[top++] = this.root;
    while (top) {
      const at = stack[--top];
      const dx = sx[at] / mass[at] - px, dy = sy[at] / mass[at] - py, d2 = dx * dx + dy * dy;
      if (width[at] * width[at] < THETA2 * d2) {
        const w = mass[at] / d2;
        fx += dx * w; fy += dy * w;
        continue;
      }
      for (let slot = 4 * at; slot < 4 * at + 4; slot++) {
        const found = child[slot];
        if (found > 0) { if (top < stack.length) stack[top++] = found; }
        else if (found < 0 && found !== -1 - i) {
          const o = -1 - found, ex = this.xs[o] - px || (i - o) * 1e-3, ey = this.ys[o] - py || (o - i) * 1e-3;
          const w = 1 / Math.max(ex * ex + ey * ey, 4);
          fx += ex * w; fy += ey * w;
        }
      }
    }
    vx[i] += fx * REPULSION * alpha; vy[i] += fy * REPULSION * alpha;
  }
}
