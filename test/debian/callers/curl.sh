#!/bin/sh
# An old integration in shell: JSON after -d, which curl labels as a form.
# Usage: curl.sh <credential> <method> <address> [curl's options…], the body on standard input. It answers with a line
# that has the status, a tab and the body.
set -eu
credential=$1 method=$2 address=$3
shift 3
if [ "$method" = POST ]; then set -- "$@" -d @-; fi
answer=$(curl --silent --show-error --user "$credential" --write-out '\n%{http_code}' "$@" "$address")
printf '%s\t%s\n' "$(printf '%s' "$answer" | tail -n 1)" "$(printf '%s' "$answer" | head -n 1)"
