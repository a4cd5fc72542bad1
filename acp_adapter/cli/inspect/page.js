"use strict";
(() => {
  const rows = [...document.querySelectorAll(".row")];
  const form = document.querySelector(".filters");
  const found = document.getElementById("found");
  const unfold = document.getElementById("unfold");
  const words = document.getElementById("by-words");
  const texts = new Map();

  function textOf(row) {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  }

  function filter() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !wanted.every((word) => textOf(row).includes(word));
      shown += row.hidden ? 0 : 1;
    }
    found.value = shown === rows.length ? "" : `${shown} of ${rows.length}`;
  }

  function open(id) {
    const row = document.getElementById(id);
    if (!row) return;
    if (row.hidden) {
      form.reset();
      filter();
    }
    row.open = true;
    row.scrollIntoView({ block: "center" });
    row.querySelector("summary").focus({ preventScroll: true });
  }

  let waiting = 0;
  form.addEventListener("input", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(filter);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  unfold.addEventListener("click", () => {
    const all = unfold.getAttribute("aria-pressed") !== "true";
    for (const row of rows) if (!row.hidden) row.open = all;
    unfold.setAttribute("aria-pressed", String(all));
    unfold.textContent = all ? "Fold" : "Unfold";
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target === words) return;
    event.preventDefault();
    words.focus();
  });
  addEventListener("hashchange", () => open(location.hash.slice(1)));
  form.hidden = false;
  if (location.hash) open(location.hash.slice(1));
})();
