// The panel of a saved page. It reads window.__ORDERN__, and talks to the player by the queue of messages that
// the recording goes through as well (window.__viserMutable).
const values = robot.values.slice();
const hidden = new Map(); // names of groups, and whether the reader has hidden or shown them
let viewer = null, time = 0, drawn = -1, panel, clock, cursor;
let byHand = 0; // when a slider was last moved; 0 while the robot follows the recording
const inputs = [], outputs = [];

const element = (parent, tag, properties = {}, text = "") => {
  const made = document.createElement(tag);
  Object.assign(made, properties);
  if (text) made.textContent = text;
  if (parent) parent.appendChild(made);
  return made;
};

const send = (messages) => {
  if (!viewer) return;
  for (const message of messages) viewer.messageQueue.push({ owner: "", ...message });
  viewer.requestRender();
};

const pose = () => {
  const messages = [];
  placed(values).forEach((T, k) => {
    const { node, rod } = robot.bodies[k];
    messages.push({ type: "SetPositionMessage", name: node, position: [T[3], T[7], T[11]] });
    messages.push({ type: "SetOrientationMessage", name: node, wxyz: quaternion(T) });
    if (rod) {
      const [slider, ratio, offset] = robot.bodies[k].factors[0];
      const length = ratio * values[slider] + offset || 1e-6;
      messages.push({ type: "SceneNodeUpdateMessage", name: rod, updates: { scale: [1, 1, length] } });
    }
  });
  send(messages);
};

// ---------------------------------------------------------------- the panel

const pause = () => {
  const icon = document.querySelector(".tabler-icon-player-pause-filled");
  if (icon) icon.closest("button").click();
};

const show = (slider) => {
  outputs[slider].textContent = values[slider].toFixed(3);
  inputs[slider].value = values[slider];
};

const joints = () => {
  if (!robot.sliders.length) return;
  const section = element(panel, "section");
  element(section, "h2", {}, "Joints");
  robot.sliders.forEach((slider, k) => {
    const label = element(section, "label", { className: "joint", title: slider.label });
    const name = element(label, "span");
    element(name, "i").style.background = slider.colour;
    name.append(slider.label);
    outputs[k] = element(label, "output");
    inputs[k] = element(label, "input", { type: "range", min: slider.lower, max: slider.upper, step: slider.step });
    inputs[k].dataset.joint = slider.label;
    inputs[k].addEventListener("input", () => {
      pause();
      if (!byHand) for (const name of forces) send(visibility(name, false)); // they are the recording's
      byHand = performance.now();
      slide(values, k, Number(inputs[k].value)).forEach((x, i) => (values[i] = x));
      for (let i = 0; i < inputs.length; i++) show(i); // loops move other joints, and may hold this one
      pose();
    });
    show(k);
  });
};

const forces = ["joint forces", "external forces", "contact forces", "friction cones"];
const isShown = (name) => (hidden.has(name) ? hidden.get(name) : robot.shown[name]);
const visibility = (name, visible = isShown(name)) =>
  (robot.groups[name] || []).map((node) => ({ type: "SetSceneNodeVisibilityMessage", name: node, visible }));

const switches = () => {
  const section = element(panel, "section");
  element(section, "h2", {}, "Show");
  const two = element(section, "div", { className: "two" });
  for (const name of Object.keys(robot.shown)) {
    if (!robot.groups[name]) continue;
    const label = element(two, "label");
    const box = element(label, "input", { type: "checkbox", checked: robot.shown[name] });
    box.dataset.show = name;
    element(label, "span", {}, name);
    box.addEventListener("change", () => {
      hidden.set(name, box.checked);
      send(visibility(name));
    });
  }
};

// ---------------------------------------------------------------- curves

const curves = () => {
  const names = Object.keys(robot.curves || {});
  if (!names.length) return;
  const section = element(panel, "section");
  const choice = element(section, "select");
  names.forEach((name) => element(choice, "option", { value: name }, name));
  const canvas = element(section, "canvas");
  choice.addEventListener("change", () => (drawn = -1));
  cursor = () => draw(canvas, robot.curves[choice.value]);
};

const draw = (canvas, shown) => {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width) return;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const c = canvas.getContext("2d");
  c.scale(scale, scale);
  c.font = "10px system-ui, sans-serif";
  let low = Infinity, high = -Infinity;
  for (const row of shown.values) for (const y of row) { low = Math.min(low, y); high = Math.max(high, y); }
  if (!(high > low)) { low -= 1; high += 1; }
  const left = 38, bottom = height - 16, end = robot.times[robot.times.length - 1] || 1;
  const X = (t) => left + (width - left - 4) * (t / end);
  const Y = (y) => bottom - (bottom - 6) * ((y - low) / (high - low));
  c.fillStyle = "#7b8390";
  c.strokeStyle = "#e6e9ed";
  c.lineWidth = 1;
  c.textAlign = "right";
  for (const part of [0, 0.5, 1]) {
    const y = low + part * (high - low);
    c.beginPath(); c.moveTo(left, Y(y)); c.lineTo(width - 4, Y(y)); c.stroke();
    c.fillText(Number(y.toPrecision(3)), left - 4, Y(y) + 3);
  }
  c.fillText(`${Number(end.toPrecision(3))} s`, width - 4, height - 4);
  shown.values.forEach((row, k) => {
    c.strokeStyle = shown.colours[k];
    c.lineWidth = 1.6;
    c.beginPath();
    row.forEach((y, i) => (i ? c.lineTo(X(robot.times[i]), Y(y)) : c.moveTo(X(robot.times[0]), Y(y))));
    c.stroke();
  });
  c.strokeStyle = "#444b57";
  c.lineWidth = 1;
  c.beginPath(); c.moveTo(X(time), 6); c.lineTo(X(time), bottom); c.stroke();
};

// ---------------------------------------------------------------- following the player

const follow = () => {
  const { t, values: rows } = robot.motion;
  let k = 0;
  while (k + 2 < t.length && t[k + 1] <= time) k++;
  const next = Math.min(k + 1, t.length - 1);
  const part = t[next] > t[k] ? Math.min((time - t[k]) / (t[next] - t[k]), 1) : 0;
  for (let i = 0; i < values.length; i++) {
    values[i] = rows[k][i] + part * (rows[next][i] - rows[k][i]);
    if (i < inputs.length) show(i);
  }
};

const tick = () => {
  requestAnimationFrame(tick);
  if (!viewer) {
    viewer = window.__viserMutable || null;
    if (!viewer) return;
  }
  if (!robot.motion) return;
  const node = viewer.nodePoseData[robot.clock];
  if (node && node.position[0] !== time) {
    const back = node.position[0] < time;
    time = node.position[0];
    if (back) for (const name of hidden.keys()) send(visibility(name)); // the recording began anew
    clock.textContent = `${time.toFixed(2)} s`;
    if (byHand && performance.now() - byHand < 800) pose(); // what the player had under way when it was paused
    else {
      if (byHand) for (const name of forces) send(visibility(name));
      byHand = 0;
      follow();
    }
  }
  if (cursor && drawn !== time) {
    drawn = time;
    cursor();
  }
};

const build = () => {
  panel = element(document.body, "div", { id: "ordern" });
  const title = element(panel, "h1");
  element(title, "span", {}, robot.name);
  clock = element(title, "time", {}, robot.motion ? "0.00 s" : "");
  const mark = element(title, "b", {}, "\u25be");
  title.addEventListener("click", () => {
    mark.textContent = panel.classList.toggle("closed") ? "\u25b8" : "\u25be";
    drawn = -1;
  });
  if (window.innerWidth < 600) title.click(); // in a narrow frame of a notebook, the robot is seen first
  curves();
  joints();
  switches();
  if (robot.warning) element(element(panel, "section"), "p", {}, robot.warning);
  setTimeout(() => {
    if (!viewer) element(element(panel, "section"), "p", {}, "This player cannot be moved by sliders.");
  }, 20000);
  requestAnimationFrame(tick);
};
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", build);
else build();
