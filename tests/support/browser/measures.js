// What tests ask of the page as the browser has laid it out: `View.measured` calls these functions.

// The height of a capital letter in each part of a wall, as a part of the height of the screen.
function capitals() {
    const read = "#title, #facts span, #state, #podium strong, .points, .step, " +
        "#rows td, #rows button, #rows .remark, #wrong :is(h2, p, a), #note, #empty";
    const pen = document.createElement("canvas").getContext("2d"), found = {};
    for (const one of document.querySelectorAll(read)) {
        const style = getComputedStyle(one);
        if (style.visibility === "hidden" || !one.textContent) continue;
        pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
        const part = pen.measureText("H").actualBoundingBoxAscent / innerHeight;
        found[one.closest("[id]").id + " " + one.className] = part;
    }
    return found;
}

// What is not wholly on a wall, and how many rows of the list are.
function laidOut() {
    const all = what => [...document.querySelectorAll(what)], box = one => one.getBoundingClientRect(), wrong = [];
    const hidden = one => getComputedStyle(one).visibility === "hidden", page = document.documentElement;
    const rows = all("#rows tr"), shown = rows.filter(row => !hidden(row)), list = box(all("section:has(#rows)")[0]);
    const see = (right, what) => { if (!right) wrong.push(what.textContent || what); };
    see(page.scrollWidth === innerWidth && page.scrollHeight === innerHeight, "the page is larger than the screen");
    see(shown.length < rows.length, "there are no more rows than fit");
    for (const one of [...shown, ...all("#podium li, #podium li > *, #title, #facts, #state")]) {
        const {top, left, bottom, right} = box(one);
        see(top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth + 1, one);
    }
    for (const one of shown) see(box(one).bottom <= list.bottom + 1, one);
    for (const one of all("#podium li")) see(box(one).top >= box(all("header")[0]).bottom - 1, one);
    // A name that is too long is cut, never left out.
    for (const name of all("#rows td.who button")) {
        const {left, right, top, height} = box(name), middle = top + height / 2;
        const painted = x => document.elementFromPoint(x, middle) === name;
        see(right <= box(name.closest("td")).right + 1, name);
        see(hidden(name) || painted(left + 1) && painted(right - 1), name);
    }
    see(list.bottom - box(shown.at(-1)).bottom < box(shown[0]).height, "one more row would fit");
    return {wrong, rows: shown.length};
}

// Short names whose room is lower than their type.
function cutBelow() {
    return [...document.querySelectorAll("#title, #podium strong, #rows td.who :is(button, .remark)")]
        .filter(one => one.scrollHeight > Math.max(one.clientHeight, one.offsetHeight) + 1 && one.textContent.length < 12)
        .map(one => `${one.textContent}: ${one.clientHeight} of ${one.scrollHeight}`);
}

// Scores whose digits are cut.
function scoresBeyond() {
    return [...document.querySelectorAll(".points")].filter(score => {
        const digits = document.createRange();
        digits.selectNodeContents(score.firstChild);
        const ends = [".points", ".leader"].map(box => score.closest(box).getBoundingClientRect().right);
        return digits.getBoundingClientRect().right > Math.min(...ends);
    }).map(score => score.textContent);
}

// Whether every board in view has its leader.
function allInViewAreRead() {
    return [...document.querySelectorAll("#boards-there li")].every(row => {
        const box = row.getBoundingClientRect();
        return box.bottom <= 0 || box.top >= innerHeight || row.querySelector(".leader").textContent;
    });
}

// Where each row begins that is wholly on the screen.
function rowsOnScreen() {
    return [...document.querySelectorAll("#rows tr[data-rank]")].map(row => row.getBoundingClientRect())
        .filter(box => box.bottom <= innerHeight).map(box => box.top);
}
