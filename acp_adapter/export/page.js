"use strict";
(() => {
  const turns = [...document.querySelectorAll(".turn")];
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const unfold = document.getElementById("unfold");
  const texts = [];

  const textOf = (place) => (texts[place] ??= turns[place].textContent.toLowerCase());

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    turns.forEach((turn, place) => {
      turn.hidden = !words.every((word) => textOf(place).includes(word));
      shown += turn.hidden ? 0 : 1;
    });
    found.value = words.length ? `${shown} of ${turns.length}` : "";
  }

  let waiting = 0;
  search.addEventListener("input", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(filter);
  });
  unfold.addEventListener("click", () => {
    const open = unfold.getAttribute("aria-pressed") !== "true";
    for (const details of document.querySelectorAll("main details")) details.open = open;
    unfold.setAttribute("aria-pressed", String(open));
    unfold.textContent = open ? "Fold all" : "Unfold all";
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && document.activeElement !== search) {
      event.preventDefault();
      search.focus();
    }
  });
  for (const link of document.querySelectorAll(".contents a")) {
    link.addEventListener("click", () => { document.querySelector(link.hash).hidden = false; });
  }
  const closed = new Set();
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("main details:not([open])")) {
      closed.add(details);
      details.open = true;
    }
  });
  addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
    closed.clear();
  });
  document.querySelector(".search").hidden = !turns.length;
})();
