"use strict";
// What the page can do besides showing everything: filter, sort, show the values under the pointer, and say where a wide
// table goes on. Without this script everything is shown, and none of that is offered.
(function () {
  const form = document.getElementById("filter");
  const shown = document.getElementById("shown");
  const kinds = ["method", "data", "availability", "group"];
  const marked = document.querySelectorAll("main [data-method], main [data-methods], main [data-data], main [data-availability], main [data-group]");
  const figures = document.querySelectorAll("main figure");
  const boxes = (kind) => [...form.querySelectorAll('input[name="' + kind + '"]')];

  // The filter is in the address, so that a link shows the same: ?method=fedau,mifa&availability=sine
  function remember() {
    const query = new URLSearchParams();
    for (const kind of kinds) {
      const on = boxes(kind).filter((box) => box.checked);
      if (on.length < boxes(kind).length) query.set(kind, on.map((box) => box.value).join(","));
    }
    const text = query.toString();
    try {
      history.replaceState(null, "", (text && "?" + text) + location.hash || location.pathname);
    } catch { /* some browsers keep the address of a file as it is */ }
  }
  function recall() {
    const query = new URLSearchParams(location.search);
    for (const kind of kinds) {
      const on = query.get(kind);
      if (on !== null) for (const box of boxes(kind)) box.checked = on.split(",").includes(box.value);
    }
  }

  function filter() {
    const off = {};
    for (const kind of kinds) off[kind] = new Set(boxes(kind).filter((box) => !box.checked).map((box) => box.value));
    for (const e of marked) {
      const d = e.dataset;
      const away = off.method.has(d.method) || off.data.has(d.data) || off.availability.has(d.availability) || off.group.has(d.group) ||
        (d.methods !== undefined && d.methods.split(" ").every((m) => off.method.has(m)));
      if (e instanceof SVGElement) e.style.display = away ? "none" : "";
      else e.hidden = away;
    }
    let n = 0;
    for (const f of figures) if (!f.hidden) n++;
    shown.textContent = n + " of " + figures.length + " figures shown";
    measure();
  }
  form.addEventListener("change", () => { filter(); remember(); });
  form.addEventListener("submit", (e) => e.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { filter(); remember(); }, 0));

  // A wide table fades at the edge at which it goes on, and says so.
  const wide = document.querySelectorAll(".wide");
  function measure() {
    for (const box of wide) {
      const s = box.firstElementChild;
      const rest = s.scrollWidth - s.clientWidth - s.scrollLeft;
      box.classList.toggle("more", rest > 2);
      box.classList.toggle("cut", s.scrollWidth - s.clientWidth > 2);
    }
  }
  for (const box of wide) box.firstElementChild.addEventListener("scroll", measure, { passive: true });
  addEventListener("resize", measure);

  // A click on a heading sorts: the best first, then the worst, then as before.
  for (const table of document.querySelectorAll("table.numbers")) {
    const body = table.tBodies[0];
    const before = [...body.rows];
    const heads = [...table.tHead.querySelectorAll("th[data-sort]")];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const first = head.dataset.sort === "more" ? "descending" : "ascending";
        const second = first === "ascending" ? "descending" : "ascending";
        const next = now === null ? first : now === first ? second : null;
        for (const h of heads) h.removeAttribute("aria-sort");
        let rows = before;
        if (next !== null) {
          head.setAttribute("aria-sort", next);
          const sign = next === "ascending" ? 1 : -1;
          const value = (row) => head.dataset.sort === "text" ? row.cells[0].textContent : row.cells[column].dataset.value;
          const has = before.filter((row) => value(row) !== undefined);
          has.sort((a, b) => sign * (head.dataset.sort === "text" ? value(a).localeCompare(value(b)) : value(a) - value(b)));
          rows = has.concat(before.filter((row) => value(row) === undefined));
        }
        body.append(...rows);
      });
    });
  }

  // The values of a chart's lines at the round under the pointer, or where the arrow keys move it.
  function points(path) { // undoes the steps in which a line is written: [[x, y], …] in pixels
    const all = [];
    for (const piece of path.getAttribute("d").split("M").slice(1)) {
      const n = (piece.match(/-?(?:\d+\.?\d*|\.\d+)/g) || []).map(Number);
      for (let i = 0, x = 0, y = 0; i + 1 < n.length; i += 2) all.push([x += n[i], y += n[i + 1]]);
    }
    return all;
  }
  for (const svg of document.querySelectorAll(".chart svg[data-x]")) {
    const chart = svg.parentElement;
    const axis = (text) => {
      const [p0, p1, v0, v1] = text.split(" ").map(Number);
      return { value: (p) => v0 + (p - p0) / (p1 - p0) * (v1 - v0), span: v1 - v0 };
    };
    const x = axis(svg.dataset.x);
    const y = axis(svg.dataset.y);
    const decimals = Math.max(0, Math.min(4, 2 - Math.floor(Math.log10(y.span))));
    const number = (p) => {
      const v = y.value(p);
      return svg.dataset.scale === "log" ? (10 ** v).toPrecision(3) : v.toFixed(decimals);
    };
    let lines = null; // found when the chart is first looked at
    let at = null;
    const rule = document.createElementNS(svg.namespaceURI, "path");
    rule.setAttribute("class", "rule");
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.setAttribute("role", "status");
    tip.hidden = true;
    chart.append(tip);
    chart.tabIndex = 0;
    chart.setAttribute("role", "group");
    chart.setAttribute("aria-label", "Values: arrow keys");

    function show(px) {
      lines ??= [...svg.querySelectorAll("g[data-name]")].map((g) => {
        const path = g.querySelector('path[class^="l"]');
        return { g, name: g.dataset.name, style: path.getAttribute("class"), points: points(path) };
      });
      const seen = lines.filter((l) => l.g.style.display !== "none" && l.points.length > 0);
      let best = null;
      for (const l of seen) for (const p of l.points) if (best === null || Math.abs(p[0] - px) < Math.abs(best - px)) best = p[0];
      if (best === null) return;
      at = best;
      const values = [];
      for (const l of seen) {
        const p = l.points.reduce((a, b) => Math.abs(b[0] - at) < Math.abs(a[0] - at) ? b : a);
        if (Math.abs(p[0] - at) < 3) values.push({ l, y: p[1] });
      }
      values.sort((a, b) => a.y - b.y);
      const head = document.createElement("b");
      const where = x.value(at);
      head.textContent = "dates" in svg.dataset ? new Date(where * 864e5).toISOString().slice(0, 10) :
        svg.dataset.of + " " + (x.span >= 20 ? Math.round(where) : +where.toPrecision(4));
      tip.replaceChildren(head);
      for (const v of values) {
        const row = document.createElement("span");
        const key = document.createElementNS(svg.namespaceURI, "svg");
        key.setAttribute("class", "key");
        key.setAttribute("viewBox", "0 0 34 10");
        const sample = document.createElementNS(svg.namespaceURI, "path");
        sample.setAttribute("class", v.l.style);
        sample.setAttribute("d", "M1 5H33");
        key.append(sample);
        row.append(key, v.l.name + " " + number(v.y));
        tip.append(row);
      }
      rule.setAttribute("d", "M" + at + " " + svg.dataset.y.split(" ")[1] + "V" + svg.dataset.y.split(" ")[0]);
      svg.append(rule);
      tip.hidden = false;
      const scale = svg.clientWidth / svg.viewBox.baseVal.width;
      const rightOf = at * scale + 14;
      tip.style.left = rightOf + tip.offsetWidth > chart.clientWidth ?
        Math.max(0, at * scale - 14 - tip.offsetWidth) + "px" : rightOf + "px";
    }
    function hide() {
      tip.hidden = true;
      rule.remove();
    }
    svg.addEventListener("pointermove", (e) => {
      const box = svg.getBoundingClientRect();
      show((e.clientX - box.left) * svg.viewBox.baseVal.width / box.width);
    });
    chart.addEventListener("pointerleave", hide);
    chart.addEventListener("blur", hide);
    chart.addEventListener("keydown", (e) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
      if (e.key === "Escape") hide();
      if (step === undefined) return;
      e.preventDefault();
      if (at === null || tip.hidden) {
        show(at ?? 1e6); // the last round
        return;
      }
      const all = [...new Set(lines.filter((l) => l.g.style.display !== "none").flatMap((l) => l.points.map((p) => Math.round(10 * p[0]))))]
        .sort((a, b) => a - b);
      const i = all.indexOf(Math.round(10 * at));
      show(all[Math.max(0, Math.min(all.length - 1, i + step))] / 10);
    });
  }

  // A command opens when its run is led to, and is copied with one click where the browser allows that.
  function lead() {
    const row = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const command = row && row.querySelector("details");
    if (command) command.open = true;
  }
  addEventListener("hashchange", lead);
  lead();
  for (const code of document.querySelectorAll("details code")) {
    if (!navigator.clipboard) break;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    });
    code.after(button);
  }

  if (form.querySelector("input")) {
    form.hidden = false;
    recall();
    filter(); // boxes may come back unchecked when a page is reloaded
  }
  measure();
})();
