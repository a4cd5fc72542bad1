"use strict";
(() => {
  const turns = [...document.querySelectorAll(".turn")];
  const bars = [...document.querySelectorAll(".bar")].map((bar) => [...bar.children]);
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const unfold = document.getElementById("unfold");
  const texts = [];

  const textOf = (place) => (texts[place] ??= turns[place].textContent.toLowerCase());

  function mark(words) {
    if (!globalThis.Highlight) return;
    CSS.highlights.delete("found");
    if (!words.length) return;
    const ranges = [];
    for (const turn of turns) {
      if (turn.hidden) continue;
      const walker = document.createTreeWalker(turn, NodeFilter.SHOW_TEXT);
      while (walker.nextNode() && ranges.length < 2000) {
        const node = walker.currentNode;
        const text = node.data.toLowerCase();
        for (const word of words) {
          for (let at = text.indexOf(word); at >= 0 && at + word.length <= node.length; at = text.indexOf(word, at + word.length)) {
            const range = new Range();
            range.setStart(node, at);
            range.setEnd(node, at + word.length);
            ranges.push(range);
          }
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  }

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    turns.forEach((turn, place) => {
      const fits = words.every((word) => textOf(place).includes(word));
      turn.hidden = !fits;
      for (const bar of bars) bar[place].classList.toggle("out", !fits);
      shown += fits ? 1 : 0;
    });
    found.value = words.length ? `${shown} of ${turns.length}` : "";
    mark(words);
  }

  function fold(open) {
    for (const details of document.querySelectorAll("main details")) details.open = open;
  }

  let waiting = 0;
  search.addEventListener("input", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(filter);
  });
  unfold.addEventListener("click", () => {
    const open = unfold.getAttribute("aria-pressed") !== "true";
    fold(open);
    unfold.setAttribute("aria-pressed", String(open));
    unfold.textContent = open ? "Fold all" : "Unfold all";
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && document.activeElement !== search) {
      event.preventDefault();
      search.focus();
    }
  });
  for (const bar of bars) {
    bar.forEach((segment, place) => {
      segment.addEventListener("click", () => { turns[place].hidden = false; });
    });
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
  const seen = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) entry.isIntersecting ? seen.add(entry.target) : seen.delete(entry.target);
    const here = turns.findIndex((turn) => seen.has(turn));
    for (const bar of bars) bar.forEach((segment, place) => segment.classList.toggle("here", place === here));
  }, { rootMargin: "-150px 0px 0px 0px" });
  for (const turn of turns) watcher.observe(turn);
  document.querySelector(".search").hidden = !turns.length;
})();
