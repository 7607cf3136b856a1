// Loops of a saved page stay closed: a slider moves as far as they allow, and the other joints follow.
// Newton's method with the shortest steps; window.__ORDERN_CLOSURES__ has the residuals of each loop.

const closures = window.__ORDERN_CLOSURES__ || [];
const CLOSED = 1e-9, OPEN = 1e-3, STEPS = 40, FINEST = 2000; // motions have five digits

// The residuals of all loops and couplings.
const residuals = (values) => {
  const poses = placed(values), rows = [];
  const at = (end) => (end.body === null ? end.at : product(poses[end.body], end.at));
  robot.closing.loops.forEach((loop, k) => rows.push(...closures[k](relative(at(loop.parent), at(loop.child)))));
  for (const { joint, other, coefficients } of robot.closing.couplings) {
    const x = other === null ? 0 : values[other];
    rows.push(values[joint] - coefficients.reduceRight((sum, c) => sum * x + c, 0));
  }
  return rows;
};

const largest = (x) => x.reduce((most, y) => (Math.abs(y) < most ? most : Math.abs(y)), 0); // NaN stays

// Solve A x = b for a symmetric positive matrix, by its Cholesky factor.
const solved = (A, b) => {
  const n = b.length, L = A.map((row) => row.slice()), x = b.slice();
  for (let i = 0; i < n; i++)
    for (let j = 0; j <= i; j++) {
      let sum = L[i][j];
      for (let k = 0; k < j; k++) sum -= L[i][k] * L[j][k];
      L[i][j] = i === j ? Math.sqrt(Math.max(sum, 1e-300)) : sum / L[j][j];
    }
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < i; k++) x[i] -= L[i][k] * x[k];
    x[i] /= L[i][i];
  }
  for (let i = n - 1; i >= 0; i--) {
    for (let k = i + 1; k < n; k++) x[i] -= L[k][i] * x[k];
    x[i] /= L[i][i];
  }
  return x;
};

// The closed position next to one, with one slider held; null if there is none within the limits.
const closed = (start, held) => {
  const x = start.slice(), h = 1e-6;
  for (let round = 0; round < 40; round++) {
    const r = residuals(x), most = largest(r);
    if (most < CLOSED) {
      const within = ([low, high], k) => (low === null || x[k] > low - 1e-6) && (high === null || x[k] < high + 1e-6);
      return robot.closing.limits.every(within) ? x : null;
    }
    if (!(most < 1e6)) return null;
    const columns = x.map((_, k) => {
      if (k === held) return r.map(() => 0);
      const ahead = x.slice(), back = x.slice();
      ahead[k] += h;
      back[k] -= h;
      const after = residuals(ahead), before = residuals(back);
      return after.map((y, i) => (y - before[i]) / (2 * h));
    });
    const A = r.map((_, i) => r.map((_, j) => columns.reduce((sum, c) => sum + c[i] * c[j], 0)));
    const damping = 1e-9 * A.reduce((sum, row, i) => sum + row[i], 0) + 1e-15; // for constraints that are redundant
    A.forEach((row, i) => (row[i] += damping));
    const y = solved(A, r);
    const step = columns.map((c) => -c.reduce((sum, z, i) => sum + z * y[i], 0));
    const scale = Math.min(1, 0.3 / Math.max(largest(step), 1e-12));
    step.forEach((z, k) => (x[k] += scale * z));
  }
  return null;
};

// The numbers of all sliders after slider k has moved towards a target.
const slide = (values, k, target) => {
  const free = values.slice();
  free[k] = target;
  if (!robot.closing || !(largest(residuals(values)) < OPEN)) return free;
  const { lower, upper } = robot.sliders[k];
  let now = values.slice();
  let step = (Math.sign(target - now[k]) * (upper - lower)) / STEPS;
  while (now[k] !== target && Math.abs(step) > (upper - lower) / FINEST) {
    const next = now.slice();
    next[k] = Math.abs(target - now[k]) <= Math.abs(step) ? target : now[k] + step;
    const found = closed(next, k);
    if (found) now = found;
    else step /= 2; // up to where the loops hold it
  }
  return now;
};
