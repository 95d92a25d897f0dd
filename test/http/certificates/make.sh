#!/usr/bin/env bash
# Makes the certificates of the tests anew: made-up names, good for a hundred years, worth nothing anywhere else.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

days=36500
key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc)

authority() { # name, common name
  openssl req -x509 "${key[@]}" -days $days -subj "/CN=$2" -keyout "$1.key" -out "$1.pem" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
}

signed() { # name, common name, purpose
  openssl req "${key[@]}" -subj "/CN=$2" -keyout "$1.key" -out "$1.csr"
  openssl x509 -req -in "$1.csr" -CA authority.pem -CAkey authority.key -days $days -out "$1.pem" \
    -extfile <(printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=%s\n' "$3")
  rm "$1.csr"
}

authority authority 'Example Authority'
authority stranger 'Another Authority'
signed server 'first.example' serverAuth
signed renewed 'second.example' serverAuth
signed client 'gateway.example' clientAuth
# As they were made when TLS 1.0 was new.
openssl req -x509 -newkey rsa:1024 -noenc -days $days -subj '/CN=old.example' -keyout short.key -out short.pem
rm -f authority.key stranger.key authority.srl
