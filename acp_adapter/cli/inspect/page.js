"use strict";
(() => {
  const rows = [...document.querySelectorAll(".row")];
  const form = document.querySelector(".filters");
  const found = document.getElementById("found");
  const unfold = document.getElementById("unfold");
  const field = (name) => document.getElementById(`by-${name}`);
  const choices = ["direction", "kind", "name", "session"].map((name) => [name, field(name)]);
  const took = field("took");
  const words = field("words");
  const texts = new Map();

  function textOf(row) {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  }

  function fits(row, wanted, least) {
    return (
      choices.every(([name, choice]) => !choice.value || row.dataset[name] === choice.value) &&
      (!least || Number(row.dataset.took ?? 0) >= least) &&
      wanted.every((word) => textOf(row).includes(word))
    );
  }

  function filter() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const least = Number(took.value);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !fits(row, wanted, least);
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
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
    if (event.key === "/") {
      event.preventDefault();
      words.focus();
    }
  });
  addEventListener("hashchange", () => open(location.hash.slice(1)));
  form.hidden = false;
  if (location.hash) open(location.hash.slice(1));
})();
