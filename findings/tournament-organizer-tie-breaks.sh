#!/usr/bin/env bash
# tournament-organizer breaks ties by some of the games: who leads depends on the order in which they were played.
#
# Matters to: whoever takes the table of a league or a round robin from it as scores and places of a leaderboard. "Mutual
# versus", the results against opponents of both, keeps the last decided one of them and drops those before.
# "Sonneborn-Berger" counts the first of two games of a pair, in its format of double round robins, where the rule adds
# up the opponent's points for each game. The table has no equal ranks: what is left is ordered by the ids.
# Versions: npm tournament-organizer 4.1.1 with tournament-pairings 2.0.1 and edmonds-blossom-fixed 1.0.1.
# Seen: ann won three of four games against opponents of both, and ben two. Ann is before ben in one order of the
# entries, and behind him in another. Then two games of each pair: ann and ben each win one against the other, and have 9
# by Sonneborn-Berger. They get 5 and 4, or 1 and 8, by who won the first one.
# Source: https://github.com/slashinfty/tournament-organizer (README, TournamentValues: scoring.tiebreaks);
# https://handbook.fide.com/chapter/TieBreakRegulations2023 (Sonneborn-Berger)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit --no-save tournament-organizer@4.1.1 tournament-pairings@2.0.1 \
    edmonds-blossom-fixed@1.0.1
cat >run.mjs <<'NODE'
import Organizer from "tournament-organizer";

/** Play all games. `winners` has the winner of each game of a pair, such as `{"ann ben": ["ann", "ben"]}`. */
function standings(format, tiebreak, entries, winners) {
  const scoring = { win: 1, draw: 0.5, loss: 0, tiebreaks: [tiebreak] };
  const tournament = new Organizer().createTournament("t", { scoring, sorting: "ascending", stageOne: { format } });
  // By their seeds: else it draws the order of the games by lot.
  entries.forEach((name, seed) => tournament.createPlayer(name, name).set({ value: seed }));
  tournament.startTournament();
  const played = {};
  for (;;) {
    for (const match of tournament.getActiveMatches()) {
      const [one, two] = [match.getPlayer1().id, match.getPlayer2().id];
      const pair = [one, two].sort().join(" ");
      played[pair] = (played[pair] ?? 0) + 1;
      const winner = winners[pair][played[pair] - 1];
      tournament.enterResult(match.getId(), Number(winner === one), Number(winner === two));
    }
    if (tournament.getMatches().every((match) => match.hasEnded())) break;
    tournament.nextRound();
  }
  return tournament.getStandings(false);
}

const ONCE = {
  "ann ben": ["ben"], "ann cem": ["ann"], "ann dee": ["ann"], "ann eli": ["ann"], "ann fay": ["fay"],
  "ben cem": ["ben"], "ben dee": ["dee"], "ben eli": ["eli"], "ben fay": ["ben"],
  "cem dee": ["dee"], "cem eli": ["cem"], "cem fay": ["fay"], "dee eli": ["dee"], "dee fay": ["dee"], "eli fay": ["eli"],
};
for (const entries of process.argv.slice(2)) {
  const table = standings("round-robin", "mutual versus", entries.split(","), ONCE);
  console.log(entries, table.slice(0, 3).map((row) => `${row.player.getName()} ${row.matchPoints}`).join(", "));
}

const twice = (first, second) => ({
  "ann ben": [first, second], "ann cem": ["ann", "ann"], "ann dee": ["dee", "ann"],
  "ben cem": ["ben", "ben"], "ben dee": ["ben", "dee"], "cem dee": ["cem", "dee"],
});
for (const [first, second] of [["ann", "ben"], ["ben", "ann"]]) {
  const names = ["ann", "ben", "cem", "dee"];
  const table = standings("double-round-robin", "sonneborn berger", names, twice(first, second));
  const shown = (row) => `${row.player.getName()} ${row.matchPoints} (${row.tiebreaks.sonnebornBerger})`;
  console.log(`${first} wins the first:`, table.map(shown).join(", "));
}
NODE
node run.mjs ann,ben,cem,dee,eli,fay ann,fay,cem,dee,eli,ben | tee seen
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
ann,ben,cem,dee,eli,fay dee 4, ann 3, ben 3
ann,fay,cem,dee,eli,ben dee 4, ben 3, ann 3
ann wins the first: ann 4 (5), ben 4 (4), dee 3 (4), cem 1 (3)
ben wins the first: ben 4 (8), ann 4 (1), dee 3 (4), cem 1 (3)
EXPECTED
echo "as it was found"
