// The gallery: filters in the URL, a list that makes only the cards in view, and an item with all its scores.
// An item has labels, images, texts and an outcome for each run; a world alone is shown as items without runs.
"use strict";
if (document.getElementById("gallery")) (() => {
  const list = document.getElementById("list"), cards = document.getElementById("cards");
  const form = document.getElementById("item-filters"), dialog = document.getElementById("item");
  const OUTCOMES = { r: "right", w: "wrong", t: "tie", u: "unscored" };
  const SIGNS = { r: "✓", w: "✗", t: "=", u: "?", "-": "·" };
  const WIDE = 228, HIGH = 292, GAP = 8;
  let sets, set, found = [], columns = 1;
  const made = new Map();

  // Parameters of the URL, such as #gallery?split=unseen&run=a&outcome=wrong&item=binary-000001
  const asked = () => new URLSearchParams(location.hash.startsWith("#gallery?") ? location.hash.slice(9) : "");
  const address = changes => {
    const now = asked();
    for (const [name, value] of Object.entries(changes)) value ? now.set(name, value) : now.delete(name);
    return `#gallery?${now}`;
  };
  const label = (name, i) => set.labels[name].names[set.labels[name].codes[i]];
  const labels = i => Object.keys(set.labels).map(name => [name, label(name, i)]).filter(([, value]) => value);

  function choices(name, title, values) {
    const choice = make("select", { name, onchange: () => { location.hash = address({ [name]: choice.value, item: "" }); } });
    choice.append(...values.map(([value, text]) => make("option", { value, textContent: text })));
    const wanted = asked().get(name) ?? "";
    choice.value = values.some(([value]) => value === wanted) ? wanted : values[0][0];
    form.append(make("label", { textContent: title }, choice));
  }

  function showFilters() {
    form.replaceChildren();
    const of = names => [["", "all"], ...names.map(each => [each, each])];
    const runs = set.runs.map(each => each.label);
    const bindings = [...new Set(set.bindings.names.flatMap(each => each.split(";")))].filter(Boolean).sort();
    if (sets.length > 1) choices("set", "benchmark", sets.map((each, i) => [String(i), each.benchmark]));
    for (const [name, coded] of Object.entries(set.labels)) {
      const names = coded.names.filter(Boolean);
      if (names.length > 1) choices(name, name, of(names));
    }
    if (bindings.length) choices("binding", "scene shows", of(bindings));
    const outcomes = of(Object.values(OUTCOMES));
    if (runs.length) {
      choices("run", "model", runs.map(each => [each, each]));
      choices("outcome", "is", outcomes);
      choices("order", "order", [["", "as asked"], ["worst", "worst margin first"], ["best", "best margin first"]]);
    }
    if (runs.length > 1) {
      choices("other", "and model", [["", "none"], ...runs.map(each => [each, each])]);
      choices("otherwise", "is", outcomes);
    }
    const words = make("input", { type: "search", value: asked().get("words") ?? "", onchange: () => { location.hash = address({ words: words.value, item: "" }); } });
    form.append(make("label", { textContent: "words of a text" }, words));
  }

  const run = name => set.runs.find(each => each.label === asked().get(name)) ?? (name === "run" ? set.runs[0] : undefined);
  const candidates = i => {
    const [start, end] = [set.candidates.start[i], set.candidates.start[i + 1]];
    return Array.from({ length: end - start }, (_, k) => start + k);
  };
  const caption = i => {
    const first = candidates(i)[0];
    return first === undefined ? "" : set.texts[set.candidates.text[first]];
  };

  function filter() {
    const wanted = asked(), first = run("run"), other = run("other");
    const is = name => Object.keys(OUTCOMES).find(key => OUTCOMES[key] === wanted.get(name));
    const [outcome, otherwise] = [is("outcome"), is("otherwise")];
    const code = {};
    for (const [name, coded] of Object.entries(set.labels)) {
      if (wanted.get(name)) code[name] = coded.names.indexOf(wanted.get(name));
    }
    const binding = wanted.get("binding"), words = wanted.get("words")?.toLowerCase();
    const showing = binding && set.bindings.names.map(each => each.split(";").includes(binding));
    const said = words && set.texts.map(each => each.toLowerCase().includes(words));
    found = [];
    for (let i = 0; i < set.id.length; i++) {
      if (Object.entries(code).some(([name, value]) => set.labels[name].codes[i] !== value)) continue;
      if (showing && !showing[set.bindings.codes[i]]) continue;
      if (first?.outcome[i] === "-" || outcome && first.outcome[i] !== outcome) continue;
      if (other && otherwise && other.outcome[i] !== otherwise) continue;
      if (said && !candidates(i).some(k => said[set.candidates.text[k]])) continue;
      found.push(i);
    }
    const sign = { worst: 1, best: -1 }[wanted.get("order")];
    if (sign) found.sort((a, b) => sign * ((first.margin[a] ?? 1e9 * sign) - (first.margin[b] ?? 1e9 * sign)));
    const total = set.id.length;
    document.getElementById("count").textContent =
      `${found.length.toLocaleString("en")} of ${total.toLocaleString("en")} ${set.runs.length ? "items. A card opens all scores of its item." : "images. A card opens all texts of its image."}`;
  }

  // Only cards near the visible part of the list exist.
  function layOut() {
    columns = Math.max(1, Math.floor((list.clientWidth - GAP) / WIDE));
    cards.style.height = `${Math.ceil(found.length / columns) * HIGH + GAP}px`;
    made.forEach(each => each.remove());
    made.clear();
    show();
  }

  function show() {
    const first = Math.max(0, Math.floor(list.scrollTop / HIGH) - 1) * columns;
    const last = Math.min(found.length, (Math.ceil((list.scrollTop + list.clientHeight) / HIGH) + 1) * columns);
    made.forEach((each, place) => {
      if (place < first || place >= last) { each.remove(); made.delete(place); }
    });
    const width = (list.clientWidth - GAP) / columns - GAP;
    for (let place = first; place < last; place++) {
      if (made.has(place)) continue;
      const made_ = card(found[place]);
      Object.assign(made_.style, {
        left: `${GAP + (place % columns) * (width + GAP)}px`, top: `${GAP + Math.floor(place / columns) * HIGH}px`,
        width: `${width}px`, height: `${HIGH - GAP}px`,
      });
      const next = [...made].filter(([other]) => other > place).sort(([a], [b]) => a - b)[0];
      cards.insertBefore(made_, next ? next[1] : null); // the order of the keyboard
      made.set(place, made_);
    }
  }

  function pictures(i) {
    const shown = candidates(i).map(k => [set.candidates.scene[k], k]);
    const scenes = [...new Set(shown.map(([scene]) => scene))];
    return scenes.filter(scene => set.images[scene]).map(scene => {
      const true_ = shown.find(([each, k]) => each === scene && set.candidates.truth[k]);
      const alt = true_ ? set.texts[set.candidates.text[true_[1]]] : `scene ${set.scenes[scene]}`;
      return [scene, make("img", { src: set.images[scene], alt })];
    });
  }

  function card(i) {
    const first = run("run"), models = [first, run("other")].filter(Boolean);
    const box = make("div", { className: "pictures" }, ...pictures(i).map(([, image]) => image));
    const kinds = labels(i).filter(([name]) => set.labels[name].names.length > 1).map(([, value]) => value).join(" · ");
    const foil = !first && candidates(i).find(k => !set.candidates.truth[k]);
    const signs = models.map(each => make("span", {
      className: each.outcome[i], textContent: `${SIGNS[each.outcome[i]]} ${OUTCOMES[each.outcome[i]] ?? "not asked"}` + (models.length > 1 ? ` ${each.label}` : ""),
    }));
    if (first && first.margin[i] !== null) signs.push(make("span", { className: "of", textContent: `margin ${first.margin[i].toPrecision(3)}` }));
    return make("a", { className: "card", href: address({ item: set.id[i] }) }, box,
      make("span", { className: "of", textContent: kinds }), make("span", { className: "said", textContent: caption(i) }),
      ...(foil ? [make("span", { className: "said of", textContent: `not: ${set.texts[set.candidates.text[foil]]}` })] : []),
      make("span", { className: "outcomes" }, ...signs));
  }

  // An item: both images of a pair, every text with the scores of every model.
  function open(i) {
    const chosen = [run("run"), run("other")].filter(Boolean);
    const runs = [...chosen, ...set.runs.filter(each => !chosen.includes(each))].filter(each => each.outcome[i] !== "-");
    const place = found.indexOf(i);
    const step = (by, text) => make("button", {
      type: "button", textContent: text, disabled: place < 0 || found[place + by] === undefined,
      onclick: () => { location.hash = address({ item: set.id[found[place + by]] }); },
    });
    const figures = pictures(i).map(([scene, image]) => make("figure", {}, framed(scene, image), make("figcaption", { className: "note" },
      ...(set.folder ? [make("a", { href: encodeURI(`${set.folder}/${set.scenes[scene]}.png`), textContent: `image ${set.scenes[scene]}` })] : [`image ${set.scenes[scene]}`]))));
    const facts = labels(i).map(([name, value]) => `${name} ${value}`);
    const shows = set.bindings.names[set.bindings.codes[i]].split(";").filter(Boolean).map(each => each.replace(":", " ")).join(", ");
    dialog.replaceChildren(
      make("div", { className: "bar" }, step(-1, "← previous"), step(1, "next →"), make("button", { type: "button", textContent: "close", onclick: () => dialog.close() })),
      make("h2", { id: "item-title", textContent: caption(i) || set.id[i] }),
      make("p", { className: "note", textContent: [`${set.runs.length ? "item" : "image"} ${set.id[i]}`, ...facts, shows && `the scene shows ${shows}`].filter(Boolean).join(" · ") }),
      ...figures, make("div", { className: "wide", tabIndex: 0, role: "region", ariaLabel: "Scores" }, scores(i, runs)),
      ...runs.flatMap(each => said(i, each)));
    if (!dialog.open) dialog.showModal();
  }

  // The complete answers of a model that answers in words, each under its question.
  function said(i, each) {
    return (each.answers?.[i] ?? []).map(([shown, says, answer]) => {
      const options = shown.length > 1 ? shown.map(each => each.join(". ")).join("  ") : shown[0][1];
      return make("details", {}, make("summary", { textContent: `${each.label}: ${says} (${options})` }), make("pre", { className: "answer", textContent: answer }));
    });
  }

  // An image with overlays of its record: a box around each object, and the mask of all objects.
  function framed(scene, image) {
    const parts = [image];
    if (set.masks?.[scene]) parts.push(make("img", { src: set.masks[scene], alt: "", className: "mask", hidden: !shownParts.masks }));
    for (const [name, left, top, width, height] of set.boxes?.[scene] ?? []) {
      const box = make("span", { className: "box", title: name, hidden: !shownParts.boxes });
      Object.assign(box.style, { left: `${100 * left}%`, top: `${100 * top}%`, width: `${100 * width}%`, height: `${100 * height}%` });
      parts.push(box);
    }
    const frame = make("div", { className: "framed" }, ...parts);
    const toggle = (part, of) => set[part] ? [make("label", { className: "note" }, make("input", {
      type: "checkbox", checked: shownParts[part], onchange: event => {
        shownParts[part] = event.target.checked;
        dialog.querySelectorAll(of).forEach(each => { each.hidden = !shownParts[part]; });
      },
    }), ` ${part} `)] : [];
    return make("div", {}, frame, make("div", {}, ...toggle("boxes", ".box"), ...toggle("masks", ".mask")));
  }
  const shownParts = { boxes: false, masks: false };

  function scores(i, runs) {
    const own = candidates(i), several = new Set(own.map(k => set.candidates.scene[k])).size > 1;
    const lines = new Map(own.map(k => [`${set.candidates.text[k]} ${set.candidates.scene[k]} ${set.candidates.truth[k]}`, {
      text: set.candidates.text[k], scene: set.candidates.scene[k], truth: set.candidates.truth[k],
      kind: set.candidates.kind.names[set.candidates.kind.codes[k]], of: runs.map(each => each.score[k]),
    }]));
    runs.forEach((each, r) => (each.best[i] ?? []).forEach(([text, truth, score]) => {
      const key = `${text} ${own.length ? set.candidates.scene[own[0]] : 0} ${truth}`;
      if (!lines.has(key)) lines.set(key, { text, truth, kind: "in the pool", of: runs.map(() => null) });
      lines.get(key).of[r] = score;
    }));
    const best = runs.map((_, r) => Math.max(...[...lines.values()].map(line => line.of[r] ?? -Infinity)));
    const cell = (text, className = "") => make("td", { textContent: text, className });
    const head = ["", "text", ...(several ? ["image"] : []), "kind", ...runs.map(each => each.label)];
    const foot = (title, of) => make("tr", {}, make("th", { scope: "row", className: "name", colSpan: head.length - runs.length, textContent: title }), ...runs.map(of));
    return make("table", {}, make("thead", {}, make("tr", {}, ...head.map((each, k) => make("th", { scope: "col", textContent: each || "true", className: k < head.length - runs.length ? "name" : "" })))),
      make("tbody", {}, ...[...lines.values()].map(line => make("tr", {},
        cell(line.truth ? "✓ true" : "✗ false", `name ${line.truth ? "r" : "w"}`), cell(set.texts[line.text], "name"),
        ...(several ? [cell(set.scenes[line.scene] ?? "", "name")] : []), cell(line.kind, "name"),
        ...line.of.map((score, r) => cell(score === null ? "–" : score.toPrecision(4), score !== null && score === best[r] ? "best" : "")))),
      ...(runs.length ? [foot("margin", each => cell(each.margin[i] === null ? "–" : each.margin[i].toPrecision(3))),
      foot("outcome", each => cell(`${SIGNS[each.outcome[i]]} ${OUTCOMES[each.outcome[i]]}`, each.outcome[i]))] : [])));
  }

  let filters = null;
  function update() {
    const wanted = asked(), item = wanted.get("item");
    set = sets[Number(wanted.get("set") ?? 0)] ?? sets[0];
    wanted.delete("item");
    if (filters !== String(wanted)) {
      filters = String(wanted);
      showFilters();
      filter();
      list.scrollTop = 0;
      layOut();
    }
    const i = set.id.indexOf(item);
    if (i >= 0) open(i);
    else if (dialog.open) dialog.close();
    if (location.hash.startsWith("#gallery?")) document.getElementById("gallery").scrollIntoView({ block: "nearest" });
  }

  dialog.addEventListener("close", () => { if (asked().get("item")) location.hash = address({ item: "" }); });
  list.addEventListener("scroll", show, { passive: true });
  addEventListener("hashchange", update);
  // The items are read when the rest of the page is there.
  const start = () => {
    sets = read("items-data");
    update();
    let width = list.clientWidth;
    new ResizeObserver(() => { if (list.clientWidth !== width) { width = list.clientWidth; layOut(); } }).observe(list);
  };
  location.hash.startsWith("#gallery") ? start() : setTimeout(start);
})();
