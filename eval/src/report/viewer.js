"use strict";
(function () {
  const data = JSON.parse(document.getElementById("game-data").textContent);
  const viewer = document.getElementById("viewer");
  const find = (selector) => viewer.querySelector(selector);
  const [marks, men, range, now, course] = [".marks", ".men", "input", ".now", ".course"].map(find);
  const SVG = "http://www.w3.org/2000/svg";
  const side = data.square;
  let game = 0;
  let ply = 0;

  function add(parent, tag, attributes, text) {
    const node = document.createElementNS(SVG, tag);
    for (const name in attributes) node.setAttribute(name, attributes[name]);
    if (text) node.textContent = text;
    parent.appendChild(node);
    return node;
  }

  const left = (square) => 1 + (square % data.files) * side;
  const top = (square) => data.margin + Math.floor(square / data.files) * side;

  // A piece is a pentagon that points to its owner's far side; 0 is an empty square, odd codes are Black's.
  function man(square, code) {
    const [symbol, promoted] = data.kinds[(code - 1) >> 1];
    const turn = (code - 1) & 1 ? "rotate(180) " : "";
    const middle = "translate(" + (left(square) + side / 2) + " " + (top(square) + side / 2) + ")";
    const group = add(men, "g", { transform: middle + turn });
    add(group, "path", { d: "M0-13.5 8.5-9.5 11.5 13.5-11.5 13.5-8.5-9.5Z", class: "man" });
    const letters = Array.from(symbol);
    const two = letters.length > 1;
    letters.forEach((letter, index) => {
      const y = two ? 1 + 11 * index : 8;
      add(group, "text", { y: y, class: (two ? "face half" : "face") + (promoted ? " promoted" : "") }, letter);
    });
  }

  function show() {
    const current = data.games[game];
    const board = current.start.slice();
    for (const [changes] of current.steps.slice(0, ply))
      for (let i = 0; i < changes.length; i += 2) board[changes[i]] = changes[i + 1];
    marks.replaceChildren();
    men.replaceChildren();
    if (ply > 0)
      for (const square of current.steps[ply - 1][1])
        add(marks, "rect", { x: left(square), y: top(square), width: side, height: side, class: "mark" });
    board.forEach((code, square) => code && man(square, code));
    const last = current.moves.length;
    range.max = last;
    range.value = ply;
    const mover = (ply - 1 + (current.white ? 1 : 0)) % 2 ? "White" : "Black";
    now.textContent =
      (ply ? ply + ". " + mover + " " + current.moves[ply - 1] : "First position of the record") +
      (ply === last ? " · " + current.end : "");
    const cursor = course.querySelector(".cursor");
    const x = last ? (360 * ply) / last : 0;
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
  }

  function choose(index) {
    game = index;
    const current = data.games[game];
    const last = current.moves.length;
    ply = 0;
    viewer.querySelectorAll("[data-game]").forEach((button, i) => button.setAttribute("aria-pressed", i === index));
    const points = current.values.map((value, i) => ((360 * i) / last).toFixed(1) + "," + (35 - 0.33 * value).toFixed(1));
    course.querySelector("polyline").setAttribute("points", points.join(" "));
    course.style.display = points.length ? "" : "none";
    show();
  }

  function go(to) {
    ply = Math.max(0, Math.min(data.games[game].moves.length, to));
    show();
  }

  const steps = { start: () => go(0), back: () => go(ply - 1), on: () => go(ply + 1), end: () => go(Infinity) };
  const keys = { ArrowLeft: "back", ArrowRight: "on", Home: "start", End: "end" };
  viewer.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button && button.dataset.game) choose(Number(button.dataset.game));
    else if (button) steps[button.dataset.step]();
  });
  range.addEventListener("input", () => go(Number(range.value)));
  course.addEventListener("click", (event) => {
    const box = course.getBoundingClientRect();
    go(Math.round(((event.clientX - box.left) / box.width) * data.games[game].moves.length));
  });
  document.addEventListener("keydown", (event) => {
    const plain = !(event.ctrlKey || event.altKey || event.metaKey || event.shiftKey);
    const inside = viewer.contains(document.activeElement);
    // Home and End move the page unless the board is in focus; the slider has its own keys.
    const ours = event.key in keys && (inside || event.key.startsWith("Arrow")) && event.target !== range;
    if (plain && ours) {
      event.preventDefault();
      steps[keys[event.key]]();
    }
  });
  choose(Math.floor((data.games.length - 1) / 2));
})();
