"use strict";
// Every text goes into the page as text, never as HTML.
(() => {
  const PORTION = 200;
  const LONGEST = 60;
  const { parties, rows, items, rules } = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  const make = (tag, className, text) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // Numbers as people read them.
  const digits = (number, most) => String(Number(number.toPrecision(most)));
  const fixed = (number, places, other) => (number === null ? other : number.toFixed(places).replace("-", "\u2212"));
  // Less than all is never rounded up to all.
  const part = (share, round, most) => {
    while (share < 1 && Number(round(share * 100, most)) >= 100 && most < 12) most += 1;
    return round(share * 100, most) + "\u00a0%";
  };
  const percent = (share) => part(share, digits, 3);
  const count = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");
  const list = (names) =>
    names.length < 2 ? names.join() : names.slice(0, -1).join(", ") + " and " + names[names.length - 1];

  const short = (name) => {
    const letters = Array.from(name);
    return letters.length > LONGEST ? letters.slice(0, LONGEST - 1).join("") + "\u2026" : name;
  };
  // Marks that keep a name's direction of writing from what is around it.
  const apart = (name) => "\u2068" + short(name) + "\u2069";
  const names = (numbers) => list(numbers.map((number) => apart(items[number][1])));
  const inWords = ([from, to, , confidence, lift]) => {
    const often = lift === null ? "" : ", " + digits(lift, 3) + " times as often as overall";
    return `Those who have ${names(from)} also have ${names(to)}: in ${part(confidence, digits, 2)} of such transactions${often}.`;
  };

  // The plot, and what it shares with the table.
  const points = new Map();
  document.querySelectorAll("#plot [data-rule]").forEach((point) => points.set(Number(point.dataset.rule), point));
  let chosen = null;
  const tip = make("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);
  const showTip = (event) => {
    const rule = event.target.dataset && event.target.dataset.rule;
    tip.hidden = rule === undefined;
    if (tip.hidden) return;
    tip.textContent = inWords(rules[rule]);
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, window.innerWidth - width - 8);
    const below = event.clientY + 16;
    const top = below + height > window.innerHeight ? event.clientY - height - 12 : below;
    tip.style.transform = `translate(${Math.max(left, 8)}px, ${Math.max(top, 8)}px)`;
  };

  const plot = find("plot");
  if (plot) {
    plot.addEventListener("mousemove", showTip);
    plot.addEventListener("mouseleave", () => (tip.hidden = true));
    window.addEventListener("scroll", () => (tip.hidden = true), { passive: true });
    plot.addEventListener("click", (event) => {
      if (event.target.dataset.rule !== undefined) choose(Number(event.target.dataset.rule), true);
    });
  }

  // The table: an order of all rules, those of them that the search finds, and how many of these are in the page.
  const body = document.querySelector("#rules tbody");
  const search = find("search");
  const text = (numbers) => numbers.map((number) => items[number][1]).join("\n");
  const KEYS = {
    rank: (rule) => rule,
    from: (rule) => text(rules[rule][0]),
    to: (rule) => text(rules[rule][1]),
    support: (rule) => rules[rule][2],
    confidence: (rule) => rules[rule][3],
    lift: (rule) => rules[rule][4] ?? Infinity,
    leverage: (rule) => rules[rule][5],
    conviction: (rule) => rules[rule][6] ?? Infinity,
  };
  let order = rules.map((_, rule) => rule);
  let found = order;
  let present = 0;

  const cell = (numbers) => {
    const element = make("td", "items");
    for (const number of numbers) {
      const [party, name] = items[number];
      const item = make("span", "item");
      item.title = `${name} (${parties[party]})`;
      const mark = make("span", "mark p" + (party % 6));
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", parties[party] + ":");
      item.append(mark, make("bdi", "", short(name)));
      element.append(item, " ");
    }
    return element;
  };
  const line = (rule) => {
    const [from, to, support, confidence, lift, leverage, conviction] = rules[rule];
    const row = make("tr", rule === chosen ? "chosen" : "");
    row.dataset.row = rule;
    const rank = make("td", "number");
    const button = make("button", "", String(rule + 1));
    button.type = "button";
    button.setAttribute("aria-label", `Rule ${rule + 1}: say it in words and mark its point`);
    rank.append(button);
    row.append(rank, cell(from), cell(to));
    const share = make("td", "number", part(support, fixed, 3));
    share.title = `${count(Math.round(support * rows))} transactions`;
    row.append(share);
    row.append(make("td", "number", part(confidence, fixed, 1)));
    row.append(make("td", "number", fixed(lift, 3, "\u221e")));
    row.append(make("td", "number", fixed(leverage, 5, "\u2013")));
    row.append(make("td", "number", fixed(conviction, 3, "\u221e")));
    return row;
  };
  const show = (upTo) => {
    const end = Math.min(upTo, found.length);
    const fresh = document.createDocumentFragment();
    for (; present < end; present++) fresh.append(line(found[present]));
    body.append(fresh);
    const all = found.length === rules.length ? "" : ` of ${count(rules.length)}`;
    const some = present < found.length ? `, the first ${count(present)} are shown` : "";
    find("shown").textContent = `${count(found.length)}${all} rule${found.length + all === "1" ? "" : "s"}${some}`;
    find("more").hidden = find("all").hidden = present === found.length;
  };
  // Parts of names; whole names in quotes. An item that was chosen in the graph is itself alone, whatever its name holds.
  let picked = null;
  const wanted = () => {
    if (picked && search.value === picked.shown) return [(name) => name === picked.name];
    return [...search.value.toLowerCase().matchAll(/"([^"]*)"|\S+/g)].map(([part, whole]) =>
      whole === undefined ? (name) => name.toLowerCase().includes(part) : (name) => name.toLowerCase() === whole
    );
  };
  const refresh = () => {
    const tests = wanted();
    const has = tests.length ? items.map(([, name]) => tests.map((test) => test(name))) : [];
    found = tests.length
      ? order.filter((rule) => tests.every((_, test) => [...rules[rule][0], ...rules[rule][1]].some((item) => has[item][test])))
      : order;
    body.replaceChildren();
    present = 0;
    show(PORTION);
  };

  function choose(rule, fromPlot) {
    if (chosen !== null) {
      points.get(chosen)?.classList.remove("chosen");
      body.querySelector("tr.chosen")?.classList.remove("chosen");
    }
    chosen = rule;
    const point = points.get(rule);
    if (point) {
      point.classList.add("chosen");
      point.parentNode.append(point);
    }
    if (!found.includes(rule)) {
      search.value = "";
      refresh();
    }
    const place = found.indexOf(rule);
    if (place >= present) show(place + 20);
    const row = body.children[place];
    row.classList.add("chosen");
    find("chosen").textContent = inWords(rules[rule]);
    if (fromPlot) row.scrollIntoView({ block: "center" });
  }

  if (body) {
    document.querySelectorAll("#rules thead button").forEach((button) => {
      button.addEventListener("click", () => {
        const head = button.parentNode;
        const key = button.dataset.key;
        const first = key === "rank" || key === "from" || key === "to" ? "ascending" : "descending";
        const second = first === "ascending" ? "descending" : "ascending";
        const wanted = head.getAttribute("aria-sort") === first ? second : first;
        document.querySelectorAll("#rules thead th").forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", wanted);
        const keys = rules.map((_, rule) => KEYS[key](rule));
        const up = wanted === "ascending" ? 1 : -1;
        order.sort((a, b) => (keys[a] < keys[b] ? -up : keys[a] > keys[b] ? up : a - b));
        refresh();
      });
    });
    document.querySelector("#rules thead th").setAttribute("aria-sort", "ascending");
    body.addEventListener("click", (event) => {
      const row = event.target.closest("tr");
      if (row) choose(Number(row.dataset.row), false);
    });
    search.addEventListener("input", refresh);
    find("more").addEventListener("click", () => show(present + PORTION));
    find("all").addEventListener("click", () => show(found.length));
    refresh();
  }

  // The graph: an item's pairs stand out while it is looked at, and its rules are found when it is chosen.
  document.querySelectorAll("#graph [data-node]").forEach((node) => {
    const drawing = node.ownerSVGElement;
    const light = (on) => {
      drawing.classList.toggle("some", on);
      drawing.querySelectorAll("[data-ends]").forEach((edge) => {
        edge.classList.toggle("on", on && edge.dataset.ends.split(" ").includes(node.dataset.node));
      });
    };
    for (const event of ["mouseenter", "focus"]) node.addEventListener(event, () => light(true));
    for (const event of ["mouseleave", "blur"]) node.addEventListener(event, () => light(false));
    if (!body) return;
    const searchFor = () => {
      picked = { shown: `"${node.dataset.name}"`, name: node.dataset.name };
      search.value = picked.shown;
      refresh();
      find("rules").scrollIntoView();
      search.focus();
    };
    node.setAttribute("tabindex", "0");
    node.setAttribute("role", "button");
    node.setAttribute("aria-label", `Find the rules with ${node.dataset.name} (${node.querySelector("title").textContent})`);
    node.addEventListener("click", searchFor);
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      searchFor();
    });
  });
})();
