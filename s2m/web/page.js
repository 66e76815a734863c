// What a page does: charts by BokehJS, rows shown and hidden, tables sorted and filtered.
"use strict";

const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const state = JSON.parse(sessionStorage.getItem(location.pathname) || "{}");
const remember = (name, key, value) => {
  (state[name] ??= {})[key] = value;
  sessionStorage.setItem(location.pathname, JSON.stringify(state));
};

// ---- theme: that of the system until the reader chooses
const theme = document.documentElement.dataset;
const wish = matchMedia("(prefers-color-scheme: dark)");
const chosen = () => { try { return localStorage.getItem("s2m-theme"); } catch { return null; } };
const setTheme = () => { theme.theme = chosen() || (wish.matches ? "dark" : "light"); };
setTheme();
wish.addEventListener("change", () => { setTheme(); redraw(); });
document.getElementById("theme").addEventListener("click", () => {
  theme.theme = theme.theme === "dark" ? "light" : "dark";
  try { localStorage.setItem("s2m-theme", theme.theme); } catch { /* for this page only */ }
  redraw();
});
const ink = (colour) => {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  const dark = 0.3 * r + 0.6 * g + 0.1 * b < 40;  // black lines would vanish on a dark page
  return dark && theme.theme === "dark" ? "#f2f2f2" : colour;
};

// ---- rows
const hidden = (row) => state.hidden?.[row] === true;
const single = () => state.view?.runs === true;
const showRows = () => {
  for (const chip of all("#rows button[data-row]")) {
    chip.setAttribute("aria-pressed", String(!hidden(chip.dataset.row)));
    chip.querySelector("i").style.color = ink(chip.dataset.colour);
  }
  for (const chip of all("#rows button.runs")) chip.setAttribute("aria-pressed", String(single()));
  for (const table of all(".grid")) showTable(table);
  for (const { plot } of drawn.values()) showCurves(plot);
};
const showCurves = (plot) => {
  for (const renderer of plot.renderers) {
    const [row, part] = [renderer.name, renderer.tags[0]];
    renderer.visible = !hidden(row) && (part !== "run" || single()) && (part !== "band" || !single());
  }
};
document.getElementById("rows").addEventListener("click", (event) => {
  const chip = event.target.closest("button");
  if (!chip) return;
  if (chip.dataset.row) remember("hidden", chip.dataset.row, !hidden(chip.dataset.row));
  else remember("view", "runs", !single());
  showRows();
});

// ---- charts, drawn when they come into sight
globalThis.Bokeh?.logger.set_level("error");  // set_log_level would tell the console
const drawn = new Map();
const unpack = (text) => new Float32Array(
  Uint8Array.from(atob(text), (char) => char.charCodeAt(0)).buffer);
// Each value holds until the next one; the library's own steps do not tell what the pointer is on.
const stairs = (values, late) => Float32Array.from(
  { length: 2 * values.length - 1 }, (_, i) => values[(i + (late ? 1 : 0)) >> 1]);
const same = (n, value) => Array(n).fill(value);
const figureOf = (data, place, extra) => Bokeh.Plotting.figure({
  height: place.clientHeight, sizing_mode: "stretch_width", min_border: 4,
  tools: "box_zoom,pan,wheel_zoom,reset,save", toolbar_location: "above",
  x_axis_label: data.x_label, y_axis_label: data.y_label,
  background_fill_color: null, border_fill_color: null, outline_line_color: null, ...extra,
});
const hover = (plot, renderers, tooltips, formatters = {}) =>
  plot.add_tools(new Bokeh.HoverTool({ renderers, tooltips, formatters }));

const draw = {
  curves(data, place) {
    const plot = figureOf(data, place, { y_axis_type: data.log ? "log" : "linear" });
    const grid = unpack(data.x), steps = stairs(grid, true), dots = [];
    const line = (name, row, part, packed, look) => {
      const step = data.step || part === "limit";
      const x = step ? steps : grid, y = step ? stairs(unpack(packed), false) : unpack(packed);
      const source = new Bokeh.ColumnDataSource({ data: { x, y, name: same(x.length, name) } });
      const fields = { x: { field: "x" }, y: { field: "y" }, source };
      const made = plot.line({ ...fields, ...look });
      made.name = row; made.tags = [part];
      dots.push(made);
      // A value between two missing ones is no line: a dot shows it.
      const lone = y.filter((v, i) => isFinite(v) && !isFinite(y[i - 1]) && !isFinite(y[i + 1]));
      if (lone.length) {
        const mark = plot.scatter({ ...fields, size: 3, line_color: null, fill_color: look.line_color });
        mark.name = row; mark.tags = [part];
      }
    };
    for (const row of data.rows) {
      const look = { line_color: ink(row.colour), line_dash: row.dashed ? [6, 4] : [] };
      if (row.low) {
        const [low, high] = [row.low, row.high].map(
          (packed) => (data.step ? stairs(unpack(packed), false) : unpack(packed)));
        const source = new Bokeh.ColumnDataSource(
          { data: { x: data.step ? steps : grid, low, high } });
        const band = plot.varea({ field: "x" }, { field: "low" }, { field: "high" },
          { source, fill_color: ink(row.colour), fill_alpha: 0.14 });
        band.name = row.row; band.tags = ["band"];
      }
      for (const run of row.runs || []) {
        line(run.name, row.row, "run", run.y, { ...look, line_width: 0.8, line_alpha: 0.6 });
      }
      const name = row.n > 1 ? `${row.row}, median of ${row.n}` : row.row;
      line(name, row.row, "middle", row.middle, { ...look, line_width: 2 });
      if (row.limit) {
        line(`${row.row}, threshold`, row.row, "limit", row.limit,
          { line_color: ink(row.colour), line_dash: [1, 4], line_width: 1.5 });
      }
    }
    hover(plot, dots, [["", "@name"], [data.x_label, "@x{0,0}"], [data.y_label, "@y{%.4g}"]],
      { "@y": "printf" });
    return plot;
  },

  points(data, place) {
    const names = data.groups, rows = data.rows;
    const plot = figureOf(data, place, {
      x_range: [-0.5, names.length - 0.5],
      ...(data.percent ? { y_range: [-0.03, 1.03] } : {}),
    });
    const axis = plot.xaxis[0] ?? plot.xaxis;
    axis.ticker = new Bokeh.FixedTicker({ ticks: names.map((_, i) => i) });
    axis.major_label_overrides = new Map(names.map((name, i) => [i, name]));
    if (data.percent) (plot.yaxis[0] ?? plot.yaxis).formatter = new Bokeh.NumeralTickFormatter({ format: "0%" });
    const value = data.percent ? "@y{0.0%}" : "@y{0,0.[000]}";
    const bars = [], dots = [];
    rows.forEach((row, i) => {
      const at = (group) => group + 0.8 * ((i + 0.5) / rows.length - 0.5);
      const colour = ink(row.colour);
      const middles = {
        x: row.middles.map(([g]) => at(g)), low: row.middles.map((m) => m[1]),
        y: row.middles.map((m) => m[2]), high: row.middles.map((m) => m[3]),
        n: row.middles.map((m) => m[4]), group: row.middles.map(([g]) => names[g]),
        row: same(row.middles.length, row.row),
      };
      const runs = {
        x: row.dots.map(([g], j) => at(g) + 0.12 / rows.length * ((j % 3) - 1)),
        y: row.dots.map((d) => d[1]), name: row.dots.map((d) => d[2]),
        group: row.dots.map(([g]) => names[g]),
      };
      const source = new Bokeh.ColumnDataSource({ data: middles });
      const span = plot.segment({ field: "x" }, { field: "low" }, { field: "x" }, { field: "high" },
        { source, line_color: colour, line_width: 3, line_alpha: 0.35 });
      const middle = plot.scatter({ field: "x" }, { field: "y" },
        { source, marker: "dash", size: Math.max(12, Math.min(26, 400 / rows.length / names.length)),
          line_color: colour, line_width: 3 });
      const dot = plot.scatter({ field: "x" }, { field: "y" }, {
        source: new Bokeh.ColumnDataSource({ data: runs }), size: 6, line_color: colour,
        fill_color: row.hollow ? null : colour, fill_alpha: 0.7 });
      for (const made of [span, middle, dot]) { made.name = row.row; made.tags = ["middle"]; }
      bars.push(middle); dots.push(dot);
    });
    hover(plot, dots, [["", "@name"], [data.x_label, "@group"], [data.y_label, value]]);
    hover(plot, bars, [["", "@row, median of @n"], [data.x_label, "@group"], [data.y_label, value],
      ["range", value.replace("@y", "@low") + " to " + value.replace("@y", "@high")]]);
    return plot;
  },
};

const limits = (plot) => [plot.x_range, plot.y_range].flatMap((range) => [range.start, range.end]);
const show = async (place) => {
  if (drawn.has(place)) return;
  drawn.set(place, { plot: { renderers: [] } });
  const data = JSON.parse(document.getElementById(place.dataset.from).textContent);
  const plot = draw[data.kind](data, place);
  plot.toolbar.logo = null;
  // A finger that moves over a chart scrolls the page, unless a tool is chosen.
  const finger = matchMedia("(pointer: coarse)").matches;
  plot.toolbar.active_drag = finger ? null : plot.toolbar.tools.find((t) => t.type === "BoxZoomTool");
  plot.toolbar.autohide = true;
  if (data.kind === "curves") plot.y_range.only_visible = true;
  const kept = state.zoom?.[place.dataset.from];
  if (kept) {
    [plot.x_range.start, plot.x_range.end, plot.y_range.start, plot.y_range.end] = kept;
  }
  const view = await Bokeh.Plotting.show(plot, place);
  drawn.set(place, { plot, view });
  showCurves(plot);  // what was asked for in the meantime
  const zoomed = () => remember("zoom", place.dataset.from, limits(plot));
  plot.on_event?.("rangesupdate", zoomed);
  plot.on_event?.("reset", () => remember("zoom", place.dataset.from, null));
  place.dataset.drawn = "yes";
};
const redraw = () => {
  for (const [place, { plot, view }] of drawn) {
    plot.document?.clear();
    view?.remove?.();
    place.replaceChildren();
    delete place.dataset.drawn;
  }
  drawn.clear();
  showRows();
  for (const place of all(".chart")) { sight.unobserve(place); sight.observe(place); }
};
let line = Promise.resolve();
const sight = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) line = line.then(() => show(target));  // one after the other, from above
    }
  },
  { rootMargin: "200px" });

// ---- tables
const number = (cell) => {
  if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
  const found = cell.textContent.replaceAll(",", "").replaceAll("−", "-").match(/-?\d+(\.\d+)?(e-?\d+)?/);
  return found ? Number(found[0]) : NaN;
};
const compare = (a, b) => {
  const [x, y] = [number(a), number(b)];
  if (isNaN(x) || isNaN(y)) {
    if (isNaN(x) && isNaN(y)) return a.textContent.localeCompare(b.textContent);
    return Infinity;  // what has no number comes last, either way
  }
  return x - y;
};
const sort = (table, column, up) => {
  const heads = all("thead tr:last-child th", table), body = table.tBodies[0];
  heads.forEach((head, i) => head.setAttribute("aria-sort",
    i !== column ? "none" : up ? "ascending" : "descending"));
  // The first column and those without any number are words.
  const rows = [...body.rows], cells = rows.map((row) => row.cells[column]);
  const words = column === 0 && !cells.some((cell) => cell.dataset.v !== undefined);
  const order = rows.map((row, i) => [row, cells[i]]).sort(([, a], [, b]) => {
    if (words) return (up ? 1 : -1) * a.textContent.localeCompare(b.textContent, undefined, { numeric: true });
    const found = compare(a, b);
    return found === Infinity ? (isNaN(number(a)) ? 1 : -1) : up ? found : -found;
  });
  body.append(...order.map(([row]) => row));
};
const showTable = (table) => {
  const words = (table.filter?.value || "").toLowerCase().split(/\s+/);
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = hidden(row.dataset.row) || !words.every((word) => text.includes(word));
  }
};
all(".grid").forEach((table, place) => {
  if (table.tBodies[0].rows.length > 4) {
    const field = document.createElement("input");
    Object.assign(field, { className: "filter", type: "search", placeholder: "filter rows" });
    field.setAttribute("aria-label", "filter rows");
    table.parentElement.before(field);
    table.filter = field;
    field.value = state.filter?.[place] || "";
    field.addEventListener("input", () => { remember("filter", place, field.value); showTable(table); });
  }
  all("thead tr:last-child th", table).forEach((head, column) => {
    head.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      sort(table, column, up);
      remember("sort", place, [column, up]);
    });
  });
  if (state.sort?.[place]) sort(table, ...state.sort[place]);
});

// ---- from a cell to the runs behind it
const dialog = document.getElementById("behind"), known = all("#runs > li");
document.querySelector("main").addEventListener("click", (event) => {
  const row = event.target.closest("tr[data-runs]");
  if (!row || event.target.closest("a")) return;
  const head = row.closest("table").querySelectorAll("thead tr:last-child th")[event.target.closest("th,td").cellIndex];
  dialog.querySelector("h2").textContent = [row.cells[0].textContent, head.textContent.trim()].join(": ");
  dialog.querySelector("ul").replaceChildren(
    ...row.dataset.runs.split(" ").map((i) => known[i].cloneNode(true)));
  dialog.showModal();
});

showRows();
for (const place of all(".chart")) sight.observe(place);
const seconds = Number(document.body.dataset.refresh);
if (seconds) {
  const again = () => (document.hidden || dialog.open ? setTimeout(again, 1000) : location.reload());
  setTimeout(again, 1000 * seconds);
}
