// Charts, tables and folded sections of the page.
"use strict";
// Charts: drawn when their section is opened, in the colours and the width of the page.
const figures = read("figures-data");
const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function fitted(figure, width) {
  const spec = structuredClone(figure), panels = spec.concat;
  spec.columns = Math.max(1, Math.min(panels.length, Math.floor(width / 300)));
  const room = Math.max(...panels.map(panel => labelRoom(panel)));
  const widest = panels.length <= 2 ? 800 : 420; // two panels fill the page, a column of many stays readable
  for (const panel of panels) {
    panel.width = Math.min(widest, Math.max(130, width / spec.columns - room));
    if (width < 500 && panel.height === 200) panel.height = 110;
  }
  const [ink, soft, line] = ["--ink", "--soft", "--line"].map(style);
  spec.config.background = "transparent";
  Object.assign(spec.config.axis, { labelColor: ink, titleColor: soft, gridColor: line, domainColor: soft, tickColor: soft });
  for (const part of ["axis", "legend"]) Object.assign(spec.config[part], { labelFontSize: 12, titleFontSize: 12 });
  const names = panels.flatMap(panel => panel.data.values.map(each => String(each.series ?? each.group ?? "").length));
  const columns = Math.max(1, Math.floor(width / (40 + 6.6 * Math.max(0, ...names))));
  Object.assign(spec.config.legend, { labelColor: ink, columns, labelLimit: width - 40 });
  Object.assign(spec.config.title, { color: ink, fontSize: 13 });
  return spec;
}

function labelRoom(panel) {
  // The labels of a vertical axis of names are not part of a panel's width.
  const name = [panel, ...(panel.layer ?? [])].map(each => each.encoding?.y).find(each => each?.type === "nominal");
  return name ? 40 + Math.min(150, 6.6 * Math.max(...name.sort.map(each => String(each).length))) : 62;
}

async function draw(place) {
  const width = (place.closest(".first") ?? document.querySelector("main")).clientWidth;
  if (place.drawnAt === width) return;
  place.drawnAt = width;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const options = { renderer: "svg", actions: false, ast: false, tooltip: { theme: dark ? "dark" : "light" } };
  const { view } = await vegaEmbed(place, fitted(figures[place.dataset.figure], width), options);
  place.querySelector("svg").setAttribute("aria-hidden", "true"); // the aria-label of the figure describes it
  view.addEventListener("click", (_, item) => {
    const { value, object } = item?.datum ?? {};
    if (value && object) location.hash = `gallery?${new URLSearchParams({ binding: `${value}:${object}` })}`;
  });
  place.closest("figure").querySelector(".save").replaceChildren("Save as", ...["svg", "png"].map(type => {
    const button = make("button", { type: "button", textContent: type.toUpperCase() });
    button.onclick = async () => {
      make("a", { download: `${place.dataset.figure}.${type}`, href: await view.toImageURL(type, 3) }).click();
    };
    return button;
  }));
}

// Draws visible charts at once and the others when idle, so that all charts can be printed.
const later = window.requestIdleCallback ?? setTimeout;
const places = [...document.querySelectorAll(".chart")];
async function drawAll() {
  const rank = place => place.checkVisibility() ? 0 : 1;
  for (const place of [...places].sort((a, b) => rank(a) - rank(b))) {
    if (rank(place)) await new Promise(done => later(done));
    await draw(place);
  }
}
new ResizeObserver(drawAll).observe(document.querySelector("main"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  places.forEach(place => { place.drawnAt = 0; });
  drawAll();
});

// Tables: sorted by a click on a head; the leaderboard is filtered by lists of its first columns.
function sortable(table) {
  if (table.made) return table.made;
  return table.made = new DataTable(table, {
    paging: false, info: false, order: [], autoWidth: false,
    layout: { topStart: table.id ? null : "search", topEnd: null, bottomStart: null, bottomEnd: null },
  });
}

function boardFilters() {
  const board = document.getElementById("board"), made = sortable(board);
  const heads = [...board.tHead.rows[0].cells], form = document.getElementById("board-filters");
  const values = column => [...new Set([...board.tBodies[0].rows].map(row => row.cells[column].textContent))];
  heads.forEach((head, column) => {
    if (!head.classList.contains("name") || values(column).length < 2) return;
    const choice = make("select", { onchange: () => made.column(column).search(
      choice.value ? text => text === choice.value : "").draw() });
    choice.append(make("option", { value: "", textContent: "all" }), ...values(column).map(each => make("option", { value: each, textContent: each })));
    form.append(make("label", { textContent: head.textContent }, choice));
  });
}

// Sections: a link opens the section that it names.
function openLinked() {
  const section = document.getElementById(decodeURIComponent(location.hash.slice(1).split("?")[0]));
  if (section?.tagName === "DETAILS") section.open = true;
  if (section && !location.hash.includes("?")) section.scrollIntoView();
}
document.querySelectorAll("main > details").forEach(each => each.addEventListener("toggle", () => {
  each.querySelectorAll(".chart").forEach(draw);
  each.querySelectorAll("table.sorted").forEach(sortable);
}));
addEventListener("hashchange", openLinked);
addEventListener("beforeprint", () => document.querySelectorAll("main > details").forEach(each => { each.open = true; }));

boardFilters();
openLinked();
