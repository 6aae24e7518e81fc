// Keeps the line about the connection true while the page stays open. The page works without it.
"use strict";
const line = document.getElementById("standing");
async function look() {
  let standing = { connected: false, text: "This page has lost its desk: is `tacita desk` still running?" };
  try {
    const answer = await fetch("standing");
    if (answer.ok) standing = await answer.json();
  } catch (_) { /* said above */ }
  if (line.textContent !== standing.text) line.textContent = standing.text;
  line.className = standing.connected ? "there" : "gone";
  if (standing.counts) {
    const [listed, clear, unchecked] = standing.counts;
    for (const [id, count] of Object.entries({ listed, clear, unchecked, possible: standing.possible })) {
      const cell = document.getElementById(id);
      if (cell) cell.textContent = count;
    }
  }
  setTimeout(look, 1000);
}
if (line) setTimeout(look, 1000);
