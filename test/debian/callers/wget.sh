#!/bin/sh
# An old integration in shell with wget, which shows its credential only once it has been asked for one.
# Usage: wget.sh <credential> <method> <address>, the body on standard input. It answers with a line that has the
# status, a tab and the body.
set -eu
credential=$1 method=$2 address=$3
headers=$(mktemp)
body=$(mktemp)
trap 'rm -f "$headers" "$body"' EXIT
cat >"$body"
set -- --user="${credential%%:*}" --password="${credential#*:}"
if [ "$method" = POST ]; then set -- "$@" --post-file="$body"; fi
answer=$(wget --no-verbose --server-response --content-on-error --output-document=- "$@" "$address" 2>"$headers") || true
printf '%s\t%s\n' "$(sed -n 's,^ *HTTP/1\.[01] \([0-9]*\).*,\1,p' "$headers" | tail -n 1)" "$answer"
