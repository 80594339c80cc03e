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

# run KIND ID PRESETS [FLAG…]: an item in each of its presets, which are a list with commas; "-" is the default alone.
run() {
	kind=$1 id=$2 presets=$3
	shift 3
	for preset in $(echo "$presets" | tr , ' '); do
		case $kind,$preset in
		figure,-) figure "$id" . "$@" ;;
		figure,*) figure "$id" "$preset" --preset "$preset" "$@" ;;
		*) table "$id" "$preset" ;;
		esac
	done
}

# What is run, the quickest first. The flags after the presets are of the figure.
while read -r item <&3; do
	# shellcheck disable=SC2086 # an item is several words
	run $item
done 3<<'end'
figure fedawe-f2 -
figure fedawe-f4 -
figure fedawe-f5 -
figure fedawe-f6 -
table cafed-1 code,code-no-momentum,paper
figure cafed-i1 code,code-no-momentum,paper
figure cafed-i2 code,code-no-momentum,paper
figure cafed-i3 code,code-no-momentum,paper
figure cafed-f1a paper
figure cafed-f1d paper
figure cafed-f2a paper
figure cafed-f2b paper
figure cafed-f3 paper
figure cafed-f4a paper
figure cafed-f1b paper
figure cafed-f4b paper
figure cafed-f5a code,code-no-momentum,paper --seeds 1,2,3,4,5,6,7,8,9,10
figure cafed-f5b code,code-no-momentum,paper --seeds 1,2,3,4,5,6,7,8,9,10
figure cafed-f5c code,code-no-momentum,paper --seeds 1,2,3,4,5,6,7,8,9,10
figure cafed-f5d paper
figure cafed-s1 -
figure fedar-f1 -
end
