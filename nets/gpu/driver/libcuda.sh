#!/usr/bin/env bash
# libcuda.sh [-optional]: prints the path of NVIDIA's driver library, which it keeps in the user's cache with its
# compiler of PTX. Both come from Debian, by apt with lists of its own: nothing is installed, and no card is needed.
#
# With -optional it is no failure where they cannot be had: no path is printed, and why on stderr. A wrong checksum is
# always a failure.
set -euo pipefail
optional=${1:-}
version=535.261.03-1
sums='6ed312ee383dc77b0c583813c632d1cc625ee4fb7881ed3e37dcaf3cf7393b25  libcuda.so.1
044d03c1209d58c01c8fbbc8d4137eb41298cb95a63844f29b82cba3fdab19d2  libnvidia-ptxjitcompiler.so.1'
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rollcall/cuda/libcuda-$version

left_out() { echo "libcuda.sh: left out: $*" >&2; [[ $optional == -optional ]] && exit 0 || exit 1; }
right() { (cd "$1" && sha256sum --check --quiet <<<"$sums") >&2; }

# What lies in the cache is looked at each time: it is loaded.
if ! right "$cache" 2>/dev/null; then
  [[ $(uname -sm) == 'Linux x86_64' ]] || left_out "want Linux on x86-64, found $(uname -sm)"
  type apt-get dpkg-deb >/dev/null || left_out 'no apt-get, or no dpkg-deb'
  new=$(mktemp -d)
  trap 'rm -rf "$new"' EXIT
  cd "$new"
  mkdir -p lists/partial archives/partial
  # The sums above say what is trusted, not a key of Debian's, which other distributions lack.
  echo 'deb [trusted=yes] http://deb.debian.org/debian bookworm non-free' >sources
  get() {
    apt-get -qq -o Dir::Etc::SourceList="$new/sources" -o Dir::Etc::SourceParts=/dev/null \
      -o Dir::State::Lists="$new/lists" -o Dir::Cache="$new" -o APT::Sandbox::User=root "$@" >&2
  }
  get update && get download {libcuda1,libnvidia-ptxjitcompiler1}=$version ||
    left_out "libcuda1 $version is not to be had"
  for package in *.deb; do dpkg-deb -x "$package" unpacked; done
  right unpacked/usr/lib/x86_64-linux-gnu/nvidia/current
  mkdir -p "$cache"
  cp -L unpacked/usr/lib/x86_64-linux-gnu/nvidia/current/*.so.1 "$cache"
fi
echo "$cache/libcuda.so.1"
