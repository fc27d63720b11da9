// Numbers as people read them, on the live page and on the admin's.
function number(value, digits = 0, whole = 1) { return value.toLocaleString(undefined, {minimumFractionDigits: digits, maximumFractionDigits: 9, minimumIntegerDigits: whole}); }
// Seconds as a clock shows them: 22:05, 1:02:03 or 22:05.40.
function clockOf(value, digits) {
  const all = Math.abs(value), hours = Math.floor(all / 3600), minutes = Math.floor(all % 3600 / 60);
  // A browser computes in binary: 1325.4 % 60 has more decimals.
  const seconds = number(Number((all % 60).toFixed(digits)), digits, 2);
  return (value < 0 ? "-" : "") + (hours ? hours + ":" + number(minutes, 0, 2) : minutes) + ":" + seconds;
}
