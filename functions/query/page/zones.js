// What a place in the list is worth: prizes of the board, or the rise and fall of a league, which the address names.
const ZONES = {win: "", rise: "rises", fall: "falls"};

function prizesOf() {
  return defined()?.prizes || [];
}
// Equals share a rank, and positions are each one's own.
function prizesAt(rank, position) {
  return prizesOf().filter(({ranks, percent, method}) => {
    const place = method === "ordinal" ? position : rank, [first, last = first] = ranks ? ranks.split("-").map(Number) : [1, Math.ceil(answer.total * percent / 100)];
    return first <= place && place <= last;
  }).map(one => one.name);
}
function zoneOf(rank, prizes) {
  if (rank <= Number(view.rise)) return "rise";
  if (view.fall && rank >= Number(view.fall)) return "fall";
  return prizes.length ? "win" : "";
}
// Says in each row what its place is worth, and draws a line where that begins or ends. The rows of a kiosk go on below its podium.
function zones(made, entries) {
  const skipped = entries.length - made.length;
  let above = null;
  entries.forEach(({rank}, place) => {
    const prizes = prizesAt(rank, view.rank + place), zone = zoneOf(rank, prizes), row = made[place - skipped];
    if (row) {
      row.dataset.zone = zone;
      row.classList.toggle("line", above !== null && above !== zone);
      worth(row, [...(ZONES[zone] ? [ZONES[zone]] : []), ...prizes]);
    }
    above = zone;
  });
}
function worth(row, words) {
  const said = row.querySelector(".worth"), text = words.join(" · ");
  if ((said?.textContent || "") === text) return;
  said?.remove();
  if (text) row.querySelector("td.who > div").append(element("span", "worth", text));
}
