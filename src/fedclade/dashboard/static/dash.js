// Draws the curves, adds to them what the server sends, and keeps a connection only while the page is visible.
"use strict";

const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();  // of /palette.css
const colours = name => colour(name).split(/\s*,\s*/), COLOURS = colours("curves"), GROUP_COLOURS = colours("groups");
const GRID = colour("grid"), PAPER = colour("paper");
const DASHES = ["solid", "dash", "dot"];
const CONFIG = {responsive: true, displaylogo: false, modeBarButtons: [["zoom2d", "resetScale2d", "toImage"]]};
const ROUND = 0, VALUE = 1, WORST = 2, MEGABYTES = 5, BY_GROUP = 6, LABEL = 7, SHARE = 8;  // the fields of a point, as the server has them
const shown = (value, share) => value === null || !share ? value : 100 * value;
const PERCENT = [0, 102];  // of an axis
// plotly reads a few tags in names: there are none in ours.
const plain = name => name.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

function style(colours, number) {
  return {color: colours[number % colours.length], dash: DASHES[Math.floor(number / colours.length) % 3]};
}

function line(name, points, x, y, number, more) {
  return {name: name, x: points.map(x), y: points.map(y), mode: "lines+markers", marker: {size: points.length > 60 ? 1 : 5},
    line: style(COLOURS, number), ...more};
}

function layout(across, up, more) {
  return {template: "none", font: {family: "system-ui, sans-serif", size: 13}, margin: {l: 60, r: 15, t: 30, b: 45},
    xaxis: {title: {text: across}, gridcolor: GRID, zeroline: false, ...((more || {}).xaxis)},
    yaxis: {title: {text: up}, gridcolor: GRID, zeroline: false, ...((more || {}).yaxis)},
    legend: {orientation: "h", x: 0, y: 1.02, yanchor: "bottom"}, hovermode: "x unified", showlegend: true, plot_bgcolor: PAPER};
}

// The metric of a run stands in each of its points; before there is one it is not known.
function metricOf(points) {
  return points.length ? {label: points[0][LABEL], share: points[0][SHARE]} : {label: "accuracy", share: true};
}
const axisOf = (metric, mean) => (mean && metric.share ? "mean " : "") + plain(metric.label) + (metric.share ? ", %" : "");
const rangeOf = metric => metric.share ? {range: PERCENT} : {rangemode: "tozero"};
function overRounds(element, metric, mean) {
  return layout("round", axisOf(metric, mean), {xaxis: {range: [0, Number(element.dataset.rounds) + 0.5]}, yaxis: rangeOf(metric)});
}

const kinds = {
  accuracy(element) {
    const points = element.points, metric = metricOf(points);
    const traces = [
      line(metric.share ? "mean" : "all clients", points, p => p[ROUND], p => shown(p[VALUE], metric.share), 0),
      line("worst tenth", points, p => p[ROUND], p => shown(p[WORST], metric.share), 1)];
    return [traces, overRounds(element, metric)];
  },
  groups(element) {
    const points = element.points, metric = metricOf(points);
    const most = Math.max(0, ...points.map(p => p[BY_GROUP].length));
    const traces = [];
    for (let group = 0; group < most; group++) {
      traces.push(line("group " + group, points, p => p[ROUND],
        p => group < p[BY_GROUP].length ? shown(p[BY_GROUP][group], metric.share) : null, group, {line: style(GROUP_COLOURS, group)}));
    }
    const drawn = overRounds(element, metric, true);
    if (!most && points.length) {
      drawn.annotations = [{text: "too many groups for a curve each", showarrow: false, bgcolor: PAPER, xref: "paper", yref: "paper", x: 0.5, y: 0.5}];
    }
    return [traces, drawn];
  },
  client(element) {
    const mine = JSON.parse(element.dataset.mine).filter(m => m[VALUE] !== null), metric = metricOf(element.points);
    const all = metric.share ? "mean of all clients" : "all clients";
    const traces = [
      line("this client", mine, m => m[ROUND], m => shown(m[VALUE], metric.share), 0),
      line(all, element.points, p => p[ROUND], p => shown(p[VALUE], metric.share), 1, {opacity: 0.7})];
    return [traces, overRounds(element, metric)];
  },
  spread(element) {
    const found = JSON.parse(element.dataset.values), share = element.dataset.share !== undefined;
    const values = share ? found.map(value => Math.min(99.999, 100 * value)) : found;  // 100 into the last bar
    const trace = {x: values, type: "histogram", marker: {color: COLOURS[0]}, hovertemplate: "%{y} clients<extra></extra>",
      ...(share ? {xbins: {start: 0, end: 100, size: 5}} : {})};
    const across = plain(element.dataset.label) + " of a client" + (share ? ", %" : "");
    const drawn = layout(across, "clients", {xaxis: share ? {range: [0, 100.5]} : {}, yaxis: {rangemode: "tozero"}});
    return [[trace], {...drawn, showlegend: false, hovermode: "closest", bargap: 0.05}];
  },
  rounds(element) { return compared(element, p => p[ROUND], "round"); },
  megabytes(element) { return compared(element, p => p[MEGABYTES], "megabytes sent, up and down"); },
};

function compared(element, x, across) {
  const curves = JSON.parse(element.dataset.curves);
  const metric = metricOf((curves.find(curve => curve.points.length) || {points: []}).points);
  const alike = curve => metricOf(curve.points).label === metric.label;  // no two metrics on one axis
  const traces = curves.map((curve, number) =>
    line(plain(curve.name), alike(curve) ? curve.points : [], x, p => shown(p[VALUE], metric.share), number));
  return [traces, {...layout(across, axisOf(metric, true), {xaxis: {rangemode: "tozero"}, yaxis: rangeOf(metric)}), showlegend: true}];
}

function draw(element) {
  if (element.points === undefined && element.dataset.points) element.points = JSON.parse(element.dataset.points);
  const [traces, drawn] = kinds[element.dataset.figure](element);
  Plotly.react(element, traces, drawn, CONFIG);
}

// A plot is drawn when it comes on the screen: a large page can be read sooner.
const coming = new IntersectionObserver(entries => entries.filter(entry => entry.isIntersecting).forEach(entry => {
  coming.unobserve(entry.target);
  draw(entry.target);
}), {rootMargin: "100px"});

function drawAll() {
  document.querySelectorAll("[data-figure]:not(.js-plotly-plot)").forEach(element => coming.observe(element));
}

// -- while the page is open

let source = null;

document.addEventListener("htmx:sseOpen", event => {
  source = event.detail.source;
  document.getElementById("lost").hidden = true;
  rest();
});
document.addEventListener("htmx:sseError", () => { if (!document.hidden) document.getElementById("lost").hidden = false; });
document.addEventListener("htmx:sseClose", () => { source = null; });
document.addEventListener("htmx:sseBeforeMessage", event => {
  if (event.target.id === "restart") {
    event.preventDefault();
    again();
  } else if (event.target.id === "points") {
    event.preventDefault();  // data for the curves, nothing to put into the page
    const added = JSON.parse(event.detail.data);
    if (added.length) {
      document.querySelectorAll("[data-points]").forEach(element => {
        if (element.points === undefined) element.points = JSON.parse(element.dataset.points);
        element.points.push(...added);
        if (element.classList.contains("js-plotly-plot")) draw(element);
      });
    }
  }
});
function again() {
  const live = document.getElementById("live");
  const part = live.dataset.part || "#live";
  htmx.ajax("GET", live.dataset.again, {target: part, select: part, swap: "outerHTML"});
}

// A browser opens six connections to one machine at most: a hidden page gives its own back.
// A page that was opened in the background is hidden before it is connected.
function rest() {
  if (document.hidden && source) {
    source.close();
    source.closedByUs = true;
  }
}
document.addEventListener("visibilitychange", () => {
  rest();
  if (!document.hidden && source && source.closedByUs) {
    source = null;
    again();
  }
});

// -- the list

function filter() {
  const words = document.getElementById("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  document.querySelectorAll("#rows tr").forEach(row => {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every(word => text.includes(word));
  });
}

function tick() {
  const button = document.getElementById("compare");
  const ticked = document.querySelectorAll("#rows input:checked").length;
  button.disabled = ticked < 1 || ticked > Number(button.dataset.most);
  button.textContent = ticked > Number(button.dataset.most) ? `At most ${button.dataset.most}` : "Compare ticked";
}

function look() {
  drawAll();
  if (document.getElementById("list")) { filter(); tick(); }
}

document.addEventListener("input", look);
document.addEventListener("change", look);
document.addEventListener("htmx:oobAfterSwap", look);
document.addEventListener("htmx:afterSettle", look);
look();
