#!/bin/sh
# replay.sh GROUP: runs the papers' tables and figures of a group at the papers' size, and copies what is finished into
# results/replay. `make replay-cheap`: all that takes hours at most on a processor. `make replay-fedawe`, `replay-cafed`,
# `replay-fedar`: all of a paper, its cheap part first, then tables and figures that take days.
#
# What is there already is not made again, also on a machine that has the files of results/replay alone: to make something
# again, remove its folder. At the end, and when a signal stops it, the pages are written anew. Any number of machines may
# run it at a time on an OUT that they share. FLAGS are more flags for every command: FLAGS='--device cpu'.
set -eu
GROUP=$1
OUT=${OUT:-out/replay}
ROLLCALL=${ROLLCALL:-bin/rollcall}
KEEP=${KEEP:-results/replay}
SCOREBOARD=${SCOREBOARD:-go run ./results/scoreboard}
FLAGS=${FLAGS:-}

child='' stopped='' failed=''
trap 'stopped=yes' INT HUP # a terminal sends these to the program too
trap 'stopped=yes; kill "$child" 2>/dev/null || true' TERM

# long: whether $id has runs that take hours, which are kept in folders. Readings that lie in the folder of the default
# are archived.
long() {
	case $id$below in
	fedawe-2/* | fedawe-8/* | fedawe-f7/* | fedar-2 | fedar-3 | fedar-f2 | fedar-f3 | cafed-f1c/*) ;;
	*) return 1 ;;
	esac
}

# default: whether $id is in the reading that it has without flags.
default() {
	case $id$below in
	cafed-[1i]*/code | cafed-f*/paper | */numpy) ;;
	*/*) return 1 ;;
	esac
}

# pages writes the pages that are made from what is kept.
pages() {
	# shellcheck disable=SC2086 # it is several words
	$SCOREBOARD "$KEEP"
}

# rollcall ARG…: the program, whose exit status is $status. It ends in good order when a signal stops this script, also
# one that came before it began.
rollcall() {
	status=0
	"$ROLLCALL" "$@" &
	child=$!
	if [ -n "$stopped" ]; then kill "$child"; fi
	wait "$child" || status=$?
	if [ -n "$stopped" ]; then wait "$child" || true; fi
	child=
}

# item KIND ID READING [FLAG…]: runs a table or figure in a reading: a preset, numpy, readings joined by +, or "." for
# the default.
item() {
	kind=$1 id=$2 below=/$3
	case $3 in
	.) reading='' below='' ;;
	numpy) reading='--draws numpy' ;;
	code | code-no-momentum | paper) reading="--preset $3" ;;
	*) reading="--reading $(echo "$3" | tr + ,)" ;;
	esac
	out=$OUT$below from=$OUT$below/$2 to=$KEEP/$2$below
	shift 3
	case "$kind $id" in # figures with the same runs show the training set
	'table fedawe-'* | 'table fedar-'*) set -- --eval-train-rounds all "$@" ;;
	esac
	if long; then
		copy "$to" "$from" # runs that were made elsewhere
		reading="$reading $WAIT"
	elif [ -f "$to/summary.csv" ] || [ -f "$to/$id.json" ]; then
		return 0
	fi
	echo "== $kind $id $reading $*" >&2
	# shellcheck disable=SC2086 # both are several words
	rollcall "$kind" "$id" --out "$out" $reading "$@" $FLAGS
	if [ "$status" = 0 ] || long; then keep; fi
	if [ -n "$stopped" ]; then
		pages
		exit 130
	elif [ "$status" != 0 ]; then
		failed="$failed $id"
	fi
}

# keep copies what there is of a table or figure from $from to $to: the picture and its data in the default reading alone.
# The summary of what takes hours is made of the runs that are finished.
keep() {
	names="$id-paper.csv $id.json"
	if default; then names="$names $id.csv $id.svg"; fi
	case $kind,$id in
	table,*)
		names=summary.csv
		if long; then
			names=
			copy "$from" "$to"
			if [ -d "$to" ]; then "$ROLLCALL" results summarise "$id" "$to"; fi
		fi
		;;
	*,cafed-f1c) copy "$from" "$to" ;;
	esac
	case $id$below in
	cafed-f1c/* | cafed-f1d/*) ;;                              # in folders; the runs of figure 1a
	cafed-f2a/* | cafed-f3/*) if default; then pack; fi ;;     # the other readings have megabytes
	cafed-* | fedar-3/* | fedar-mnist) pack ;;
	esac
	for name in $names; do
		if [ -f "$from/$name" ]; then
			mkdir -p "$to"
			cp "$from/$name" "$to/"
		fi
	done
}

# pack adds the finished runs of $from to the archive of the table or figure, which has those of all readings.
pack() {
	archive=$KEEP/$id/runs.tar.gz packed=$(mktemp -d)
	if [ -f "$archive" ]; then tar -xzf "$archive" -C "$packed"; fi
	copy "$from" "$packed"
	(cd "$packed" && find . -path './*/seed-*' -type f | sed 's|^\./||' | LC_ALL=C sort) >"$packed/names"
	if [ -s "$packed/names" ]; then
		mkdir -p "$KEEP/$id"
		(cd "$packed" && tar -cf - --owner=0 --group=0 --numeric-owner --mode=644 --mtime=@0 -T names) | gzip -9n >"$archive.part"
		mv "$archive.part" "$archive"
	fi
	rm -r "$packed"
}

# copy FROM TO: the finished runs of a table's folder that are not there yet, run.json last.
copy() {
	for run in "$1"/*/seed-*/run.json; do
		cell=${run#"$1"/} cell=${cell%/run.json}
		if [ -f "$2/$cell/run.json" ] || ! grep -Eq '"status": "(complete|diverged)"' "$run" 2>/dev/null; then continue; fi
		mkdir -p "$2/$cell"
		for name in curve.csv clients.csv run.json; do
			if [ -f "$1/$cell/$name" ]; then cp "$1/$cell/$name" "$2/$cell/"; fi
		done
	done
}

# group does all items of the group.
group() {
	four=fedawe,fedavg-active,fedau,mifa
	all=code,code-no-momentum,paper
	while read -r groups kind id readings flags <&3; do
		case ,$groups, in *,"$GROUP",*) ;; *) continue ;; esac
		for reading in $(echo "$readings" | tr , ' '); do
			# shellcheck disable=SC2086 # the flags are several words
			item "$kind" "$id" "$reading" $flags
		done
	done 3<<-end
		cheap,fedawe figure fedawe-f2 .
		cheap,fedawe figure fedawe-f4 .
		cheap,fedawe figure fedawe-f5 .
		cheap,fedawe figure fedawe-f6 .
		fedawe table fedawe-2 numpy --data cifar10 --availability sine --methods fedawe,fedavg-active --seeds 3
		fedawe table fedawe-8 numpy --data cifar10 --methods fedawe,fedavg-active --seeds 3
		fedawe table fedawe-2 numpy --data cifar10 --availability sine --methods $four --seeds 3
		fedawe table fedawe-8 numpy --data cifar10 --methods $four --seeds 3
		fedawe figure fedawe-f7 numpy --data cifar10 --seeds 3
		fedawe table fedawe-2 numpy --data cifar10 --availability sine --seeds 3
		fedawe table fedawe-8 numpy --data cifar10 --seeds 3
		fedawe table fedawe-2 numpy --data cifar10 --availability sine --seeds 3,4
		fedawe table fedawe-2 numpy --data cifar10 --availability sine
		fedawe table fedawe-8 numpy --data cifar10
		fedawe figure fedawe-f7 numpy --data cifar10
		fedawe table fedawe-2 numpy --data cifar10 --methods $four --seeds 3
		fedawe table fedawe-2 numpy --data cifar10 --methods $four
		cheap,cafed table cafed-1 $all
		cheap,cafed table cafed-1 fstar-min --preset paper
		cheap,cafed figure cafed-i1 $all
		cheap,cafed figure cafed-i1 fstar-min --preset paper
		cheap,cafed figure cafed-i2 $all
		cheap,cafed figure cafed-i2 fstar-min --preset paper
		cheap,cafed figure cafed-i3 $all
		cheap,cafed figure cafed-i3 fstar-min --preset paper
		cheap,cafed figure cafed-f1a paper,fstar-min,shared-model
		cheap,cafed figure cafed-f1d paper,fstar-min
		cheap,cafed figure cafed-f2a paper,fstar-min,shared-model
		cheap,cafed figure cafed-f2b paper,fstar-min,shared-model
		cheap,cafed figure cafed-f3 paper,fstar-min,shared-model
		cheap,cafed figure cafed-f4a paper
		cheap,cafed figure cafed-f1b paper,fstar-min,one-step,one-step+fstar-min
		cheap,cafed figure cafed-f4b paper,fstar-min,one-step,one-step+fstar-min
		cheap,cafed figure cafed-f5a paper,code,code-no-momentum,fstar-min,bias-1,one-step+bias-1
		cheap,cafed figure cafed-f5b paper,code,code-no-momentum,fstar-min,bias-1,one-step+bias-1
		cheap,cafed figure cafed-f5c paper,code,code-no-momentum,fstar-min,bias-1,one-step+bias-1
		cheap,cafed figure cafed-f5d paper,fstar-min,one-step,one-step+fstar-min
		cheap,cafed figure cafed-s1 .
		cafed figure cafed-f1c paper --methods adafed,ca-fed --seeds 1
		cafed figure cafed-f1c paper --seeds 1
		cafed figure cafed-f1c paper
		cheap,fedar figure fedar-f1 .
		cheap,fedar table fedar-mnist .
		fedar table fedar-2 . --data cifar10 --column p-min=0.1 --seeds 3
		fedar figure fedar-f2 . --data cifar10 --column p-min=0.1 --seeds 3
		fedar table fedar-3 . --seeds 3
		fedar figure fedar-f3 . --seeds 3
		fedar table fedar-2 . --data cifar10 --column p-min=0.1
		fedar figure fedar-f2 . --data cifar10 --column p-min=0.1
		fedar table fedar-3 .,T-200
		fedar figure fedar-f3 .
		fedar table fedar-2 . --data cifar10 --column p-min=0.5 --seeds 3
		fedar table fedar-2 . --data cifar10 --seeds 3,4
		fedar table fedar-2 . --data cifar10
		fedar figure fedar-f2 . --data cifar10
	end
}

# First, runs that other machines make are left to them; then they are waited for.
for WAIT in --no-wait ''; do group; done
pages
if [ -n "$failed" ]; then
	echo "replay.sh: failed:$failed" >&2
	exit 1
fi
