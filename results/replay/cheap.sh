#!/bin/sh
# Runs every table and figure that takes minutes to hours on a processor, at the papers' size, and copies what the
# scoreboard reads into results/replay: `make replay-cheap`. It goes on where it was stopped. OUT has the runs; FLAGS
# are more flags for every command: FLAGS='--device cpu --data-dir /data'.
set -eu
OUT=${OUT:-out/replay}
ROLLCALL=${ROLLCALL:-bin/rollcall}
KEEP=${KEEP:-results/replay}
FLAGS=${FLAGS:-}
VERSION=$("$ROLLCALL" version | cut -d' ' -f2)
VERSION=${VERSION%-dirty} # it is that after the first copy

# table ID PRESET: a table in one preset.
table() {
	echo "== $1, preset $2" >&2
	# shellcheck disable=SC2086 # FLAGS are several words
	"$ROLLCALL" table "$1" --preset "$2" --out "$OUT/$2" $FLAGS
	mkdir -p "$KEEP/$1/$2"
	cp "$OUT/$2/$1/summary.csv" "$KEEP/$1/$2/"
}

# figure ID READING [FLAG…]: a figure, whose files go to the folder READING below its own; "." is its own. Finished runs
# are kept by the command itself. A figure that this program has drawn is not drawn again, as some have runs that
# nothing keeps.
figure() {
	id=$1 reading=$2 from=$OUT/$2/$1
	shift 2
	if grep -q "\"version\": \"$VERSION" "$from/$id.json" 2>/dev/null; then
		echo "== $id, $reading: there already" >&2
	else
		echo "== $id, $reading" >&2
		# shellcheck disable=SC2086
		"$ROLLCALL" figure "$id" --out "$OUT/$reading" $FLAGS "$@"
	fi
	mkdir -p "$KEEP/$id/$reading"
	for end in .csv -paper.csv .svg .json; do
		if [ -f "$from/$id$end" ]; then cp "$from/$id$end" "$KEEP/$id/$reading/"; fi
	done
}

for f in f2 f5 f6; do figure "fedawe-$f" .; done
for preset in code paper; do table cafed-1 "$preset"; done
for f in i1 i2 i3; do figure "cafed-$f" code --preset code; done
for f in f1a f1d f2a f2b f3 f4a f1b f4b f5a f5b f5c f5d; do figure "cafed-$f" paper --preset paper; done
figure fedar-f1 .
