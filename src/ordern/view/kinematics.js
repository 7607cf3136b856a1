// Poses of the bodies of a saved page: 3x4 matrices, row by row.

const robot = window.__ORDERN__;

const product = (A, B) => {
  const C = new Array(12);
  for (let i = 0; i < 3; i++)
    for (let j = 0; j < 4; j++)
      C[4 * i + j] = A[4 * i] * B[j] + A[4 * i + 1] * B[4 + j] + A[4 * i + 2] * B[8 + j] + (j === 3 ? A[4 * i + 3] : 0);
  return C;
};

// The pose reached along a twist (angular w, linear v) after a time s.
const moved = (twist, s) => {
  const [wx, wy, wz, vx, vy, vz] = twist;
  const n = Math.hypot(wx, wy, wz);
  if (n < 1e-12) return [1, 0, 0, vx * s, 0, 1, 0, vy * s, 0, 0, 1, vz * s];
  const x = wx / n, y = wy / n, z = wz / n, a = n * s;
  const si = Math.sin(a), co = 1 - Math.cos(a);
  const mixed = (d, p, q) => [ // d + p W + q W^2, with W the cross product with the axis
    d + q * (x * x - 1), -p * z + q * x * y, p * y + q * x * z,
    p * z + q * x * y, d + q * (y * y - 1), -p * x + q * y * z,
    -p * y + q * x * z, p * x + q * y * z, d + q * (z * z - 1)];
  const R = mixed(1, si, co), V = mixed(a, co, a - si);
  const along = (i) => (V[3 * i] * vx + V[3 * i + 1] * vy + V[3 * i + 2] * vz) / n;
  return [R[0], R[1], R[2], along(0), R[3], R[4], R[5], along(1), R[6], R[7], R[8], along(2)];
};

const quaternion = (T) => {
  const [a, b, c, , d, e, f, , g, h, i] = T;
  const squares = [1 + a + e + i, 1 + a - e - i, 1 + e - a - i, 1 + i - a - e];
  const best = squares.indexOf(Math.max(...squares));
  const column = [
    [squares[0], h - f, c - g, d - b], [h - f, squares[1], b + d, c + g],
    [c - g, b + d, squares[2], f + h], [d - b, c + g, f + h, squares[3]]][best];
  const length = Math.hypot(...column);
  return column.map((x) => x / length);
};

// The pose of B in the frame of A.
const relative = (A, B) => {
  const p = [B[3] - A[3], B[7] - A[7], B[11] - A[11]];
  const T = new Array(12);
  for (let i = 0; i < 3; i++) {
    for (let j = 0; j < 3; j++) T[4 * i + j] = A[i] * B[j] + A[4 + i] * B[4 + j] + A[8 + i] * B[8 + j];
    T[4 * i + 3] = A[i] * p[0] + A[4 + i] * p[1] + A[8 + i] * p[2];
  }
  return T;
};

// The poses of all bodies for the numbers of the sliders.
const placed = (values) => {
  const poses = [];
  for (const body of robot.bodies) {
    let T = body.parent === null ? body.at : product(poses[body.parent], body.at);
    for (const [slider, ratio, offset, ...twist] of body.factors)
      T = product(T, moved(twist, ratio * values[slider] + offset));
    poses.push(T);
  }
  return poses;
};
