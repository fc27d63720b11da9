// What is shown, and what was read.
"use strict";
const EVERY = 2000, SHOWN = 50, NEIGHBOURS = 5, BARS = 40, DISTRIBUTION_EVERY = 60000, MOVEMENT_EVERY = 10000, PATIENCE = 20000, PERIODS = 14, OFFERS = 8, TYPING = 200, BROKEN_FOR = 300000;
const $ = id => document.getElementById(id);
const here = new URLSearchParams(location.search);
const kiosk = here.has("kiosk");
// How many rows another page shows in a frame.
const wanted = parseInt(here.get("embed"), 10), embed = here.has("embed") && (wanted > 0 ? Math.min(SHOWN, wanted) : 10);
const view = {board: "", metric: "", window: "", period: "", rank: 1, member: "", prefix: "", rise: "", fall: ""};
const still = matchMedia("(prefers-reduced-motion: reduce)");
let board = null, answer = null, standing = null, asked = 0, timer = 0, seen = 0, shownAt = 0, tags = new Map(), before = new Map(), spread = null, moved = 0, named = "", own = "", typed = 0, told = {}, onward = "";
// A browser leaves the usual port out of the host of an address.
const hosts = document.querySelector("meta[name=picture-hosts]").content.split(" ").map(host => host.replace(/:443$/, "")), broken = new Map();
