"use strict";
// Shows what the boxes leave. Without this script everything is shown, and the boxes are not.
(function () {
  const form = document.getElementById("filter");
  const shown = document.getElementById("shown");
  const kinds = ["method", "data", "availability"];
  const marked = document.querySelectorAll("main [data-method], main [data-methods], main [data-data], main [data-availability]");
  const figures = document.querySelectorAll("main figure");

  function apply() {
    const off = {};
    for (const kind of kinds) {
      off[kind] = new Set();
      for (const box of form.querySelectorAll('input[name="' + kind + '"]')) {
        if (!box.checked) off[kind].add(box.value);
      }
    }
    for (const e of marked) {
      const d = e.dataset;
      const away = off.method.has(d.method) || off.data.has(d.data) || off.availability.has(d.availability) ||
        (d.methods !== undefined && d.methods.split(" ").every((m) => off.method.has(m)));
      if (e instanceof SVGElement) e.style.display = away ? "none" : "";
      else e.hidden = away;
    }
    let n = 0;
    for (const f of figures) if (!f.hidden) n++;
    shown.textContent = n + " of " + figures.length + " figures shown";
  }

  form.addEventListener("change", apply);
  form.addEventListener("submit", (e) => e.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply, 0));
  if (form.querySelector("input")) {
    form.hidden = false;
    apply(); // boxes may come back unchecked when a page is reloaded
  }
})();
