// The gallery of descriptions: each image with its boxes, and each answer with the verdict of every atom.
"use strict";
(() => {
  const data = read("descriptions-data");
  const SIGNS = { right: "✓", exchanged: "⇄", invented: "✕", undecided: "?", unread: "…", missed: "○" };
  const NAMES = { right: "right", exchanged: "exchanged", invented: "invented", undecided: "undecided", unread: "not read", missed: "not named" };
  const MEANINGS = {
    right: "true of the image", exchanged: "another object has it", invented: "nothing has it",
    undecided: "not judged", unread: "counts for nothing",
  };
  const PAGE = 24;
  const hidden = text => make("span", { className: "sr", textContent: text });

  // Words. An atom lights the boxes of the objects that it speaks of.
  function word(segment, scene) {
    if (!segment.colour) return numbered(document.createTextNode(segment.text), segment);
    const atom = make("span", { className: `atom ${segment.colour}${/\s/.test(segment.text) ? "" : " one"}`, title: segment.why, textContent: segment.text });
    atom.append(hidden(` (${segment.why})`));
    const light = on => {
      scene.classList.toggle("pointed", on && segment.objects.length > 0);
      segment.objects.forEach(k => scene.querySelector(`[data-object="${k}"]`)?.classList.toggle("lit", on));
    };
    atom.addEventListener("pointerenter", () => light(true));
    atom.addEventListener("pointerleave", () => light(false));
    return numbered(atom, segment);
  }

  function numbered(node, segment) {
    if (!segment.noun || !segment.objects.length) return [node];
    return [node, ...segment.objects.map(k => make("span", { className: "number", textContent: k + 1, title: `object ${k + 1} of the image` }))];
  }

  function words(item, k, scene) {
    const answer = item.answers[k];
    const parts = [];
    if (data.models.length > 1) parts.push(make("p", { className: "by", textContent: data.models[k] }));
    if (!answer) return [...parts, make("p", { className: "of", textContent: "not asked about this image" })];
    if (answer.failed) return [...parts, make("p", { className: "of", textContent: answer.failed })];
    parts.push(make("div", { className: "phrases" }, ...answer.phrases.map(phrase =>
      make("p", { className: "phrase" }, ...phrase.flatMap(segment => word(segment, scene))))));
    const missed = answer.states.flatMap((state, i) => state === "missed" ? [i] : []);
    if (missed.length) parts.push(make("p", { className: "missed" }, "Not named: ", ...missed.flatMap((i, place) => [
      ...(place ? [", "] : []), make("span", { className: "gone", textContent: item.objects[i].name }),
      make("span", { className: "number", textContent: i + 1 })])));
    parts.push(make("p", { className: "tally" }, ...Object.keys(NAMES).filter(name => answer.counts[name]).map(name =>
      make("span", { className: name, textContent: `${SIGNS[name]} ${answer.counts[name]} ${NAMES[name]}` }))));
    return parts;
  }

  // The image. Its boxes have the states of the first model that is shown.
  function picture(item, image, k, tag = "div") {
    const states = item.answers[k]?.states ?? [];
    const names = item.objects.map((object, i) => `${i + 1} ${object.name}${states[i] ? ` (${NAMES[states[i]]})` : ""}`).join(", ");
    const scene = make(tag, { className: "scene" }, make("img", { src: image, alt: `Image ${item.scene}: ${names}`, loading: "lazy" }));
    item.objects.forEach((object, i) => {
      if (!object.box) return;
      const [left, top, width, height] = object.box;
      const state = states[i] ?? "undecided";
      const box = make("span", { className: `object ${state}${top < 0.08 ? " high" : ""}`, title: `${i + 1} ${object.name}` }, make("b", { textContent: `${i + 1}${state === "right" ? "" : ` ${SIGNS[state]}`}`, ariaHidden: "true" }));
      box.dataset.object = i;
      Object.assign(box.style, { left: `${100 * left}%`, top: `${100 * top}%`, width: `${100 * width}%`, height: `${100 * height}%` });
      scene.append(box);
    });
    return scene;
  }

  const facts = item => [item.split, `${item.objects.length} objects`, `image ${item.scene}`].filter(Boolean).join(" · ");

  function card(item, image, models, whole = false) {
    const scene = picture(item, image, models[0], whole ? "div" : "button");
    if (!whole) {
      scene.type = "button";
      scene.onclick = () => open(item);
    }
    return make("article", { className: "described" }, scene, make("div", { className: "words" },
      make("p", { className: "of", textContent: facts(item) }), ...models.flatMap(k => words(item, k, scene))));
  }

  // One image: the whole answer, and what was not read.
  const dialog = document.getElementById("item");
  function open(item) {
    const place = data.items.indexOf(item), models = data.models.map((_, k) => k);
    const below = item.answers.flatMap((answer, k) => answer ? [
      make("details", {}, make("summary", { textContent: `${data.models[k]}: the whole answer` }), make("pre", { className: "answer", textContent: answer.answer })),
      ...(answer.unread?.length ? [make("p", { className: "note", textContent: `Not read: ${answer.unread.join("; ")}` })] : []),
    ] : []);
    const file = data.folder ? [make("a", { href: encodeURI(`${data.folder}/${item.scene}.png`), textContent: "image file" })] : [];
    dialog.replaceChildren(
      make("div", { className: "bar" }, ...file, make("button", { type: "button", textContent: "close", onclick: () => dialog.close() })),
      make("h2", { id: "item-title", textContent: facts(item) }), card(item, data.images[place], models, true), ...below);
    dialog.showModal();
  }

  // Filters.
  const form = document.getElementById("item-filters"), list = document.getElementById("described");
  const more = document.getElementById("more");
  const numbers = values => [...new Set(values)].sort((a, b) => a - b);
  function choice(name, title, options) {
    const select = make("select", { name }, ...options.map(([value, text]) => make("option", { value, textContent: text })));
    form.append(make("label", { textContent: title }, select));
  }
  const all = values => [["", "all"], ...values.map(value => [value, value])];
  const splits = [...new Set(data.items.map(item => item.split))];
  if (data.models.length > 1) choice("model", "model", data.models.map((name, k) => [k, name]));
  if (splits.length > 1) choice("split", "split", all(splits));
  choice("objects", "objects", all(numbers(data.items.map(item => item.objects.length))));
  choice("shows", "shows", [["", "all"], ["exchanged", "an exchanged atom"], ["invented", "an invented atom"], ["missed", "an object that is not named"], ["unread", "words that are not read"], ["flawless", "nothing wrong"], ["failed", "no answer"]]);
  choice("order", "order", [["", "as in the run"], ["exchanged", "most exchanged first"], ["invented", "most invented first"], ["load", "most atoms first"]]);
  form.append(make("label", { textContent: "words of the answer" }, make("input", { type: "search", name: "words" })));

  const WRONG = ["exchanged", "invented", "missed", "unread"];
  function shows(answer, what) {
    if (!what) return true;
    if (what === "failed") return !answer || answer.failed !== "";
    if (!answer?.counts) return false;
    return what === "flawless" ? !WRONG.some(name => answer.counts[name]) : answer.counts[what] > 0;
  }
  let visibleItems = [], n = PAGE;
  function filter() {
    const fields = Object.fromEntries(new FormData(form)), k = Number(fields.model ?? 0), text = fields.words.toLowerCase();
    visibleItems = data.items.filter(item => {
      const answer = item.answers[k];
      return (!fields.split || item.split === fields.split) && (!fields.objects || item.objects.length === Number(fields.objects))
        && shows(answer, fields.shows) && (!text || answer?.answer.toLowerCase().includes(text));
    });
    const count = item => fields.order === "load" ? item.load : item.answers[k]?.counts?.[fields.order] ?? 0;
    if (fields.order) visibleItems.sort((a, b) => count(b) - count(a));
    n = PAGE;
    show();
  }
  function show() {
    const first = Number(new FormData(form).get("model") ?? 0);
    const models = [first, ...data.models.map((_, k) => k).filter(k => k !== first)];
    list.replaceChildren(...visibleItems.slice(0, n).map(item => card(item, data.images[data.items.indexOf(item)], models)));
    // Long answers scroll in their card, also by the keyboard.
    for (const phrases of list.querySelectorAll(".phrases")) {
      const isLong = phrases.scrollHeight > 1.02 * phrases.clientHeight;
      phrases.classList.toggle("long", isLong);
      if (isLong) Object.assign(phrases, { tabIndex: 0, role: "group", ariaLabel: "Description" });
    }
    document.getElementById("count").textContent = `${visibleItems.length.toLocaleString("en")} of ${data.items.length.toLocaleString("en")} images. A picture opens the whole answer. Point at a word to see its object.`;
    more.hidden = n >= visibleItems.length;
  }
  more.onclick = () => { n += PAGE; show(); };
  form.addEventListener("input", filter);
  form.addEventListener("submit", event => event.preventDefault());
  filter();

  if (data.example !== null) document.getElementById("example").append(card(data.items[data.example], data.example_image, [0], true));
  document.getElementById("legend").append(...Object.entries(MEANINGS).map(([name, meaning]) =>
    make("span", {}, make("span", { className: `atom ${name}`, textContent: NAMES[name] }), ` ${meaning}`)));
})();
